"""The forwarder's view of the envelope: the codec for :mod:`streams.node.forwarder.decide`."""

from __future__ import annotations

from streams.wire.frame_headers import decode_header, decode_parties, encode_parties
from streams.wire.hop import Hop, visit
from streams.wire.records import conversation_of


class Envelope:
    """Convert between the envelope's bytes and values; raise MalformedError for invalid bytes."""

    conversation = staticmethod(conversation_of)
    parties = staticmethod(decode_parties)
    encode_parties = staticmethod(encode_parties)
    header = staticmethod(decode_header)
    hop = staticmethod(Hop)
    visit = staticmethod(visit)
