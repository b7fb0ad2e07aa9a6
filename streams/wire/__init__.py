"""Hopline's format on Kafka: topic names, the three headers, Avro codecs. Uses no Kafka client.

Topics: ``topics`` names them, ``place`` parses names, ``specs`` defines their settings,
``partition`` finds the partition of a key, and ``acl`` defines the rights. ``records`` converts
whole records. Each kind of topic has a module for its values: ``commands`` (``cmd``, ``result``),
``frame_headers`` and ``acknowledgements`` (``out``, ``txq``, ``in``, ``ack``), ``state`` and
``state_keys`` (``dialog``), ``heartbeats`` (``presence``), ``catalog_objects``, ``events``,
``reading`` and ``metric``. ``describe`` shows any record.

Bytes: ``single_object`` implements the encoding, ``evolution`` provides the schemas, and ``bounds``
and ``visits`` reject values that are too large. ``envelope``, ``hop`` and ``shift`` read and edit a
frame's headers without decoding them; ``familiar``, ``glance`` and ``packing`` decode and encode
the same values faster. ``dialog_records`` reads state for all readers except workers, ``job`` names
a replay, ``spans`` writes positions as text, and ``plain`` converts values for JSON.
"""

from streams.wire.acknowledgements import decode_ack_value, encode_ack, encode_status
from streams.wire.catalog_objects import decode_catalog_object, encode_catalog_object
from streams.wire.commands import decode_command, decode_result, encode_command, encode_result
from streams.wire.envelope import Envelope
from streams.wire.events import decode_event, encode_event
from streams.wire.frame_headers import (
    decode_header,
    decode_journey,
    decode_parties,
    encode_header,
    encode_journey,
    encode_parties,
)
from streams.wire.heartbeats import claims_in, decode_presence, encode_presence, period_in
from streams.wire.single_object import MalformedError, UnknownSchemaError
from streams.wire.topics import Topics, escape, unescape

__all__ = [
    "Envelope",
    "MalformedError",
    "Topics",
    "UnknownSchemaError",
    "claims_in",
    "decode_ack_value",
    "decode_catalog_object",
    "decode_command",
    "decode_event",
    "decode_header",
    "decode_journey",
    "decode_parties",
    "decode_presence",
    "decode_result",
    "encode_ack",
    "encode_catalog_object",
    "encode_command",
    "encode_event",
    "encode_header",
    "encode_journey",
    "encode_parties",
    "encode_presence",
    "encode_result",
    "encode_status",
    "escape",
    "period_in",
    "unescape",
]
