"""The secret of an application's agents, created at the first start and shared by all processes.

It is a record in ``reading.<instance>``, which only applications of the instance may read
(docs/decisions/0044). Processes that start at the same time may each write a record, because there
is no lock. Each uses a key of its own, and reads the topic after Kafka has stored its record. The
record with the lowest offset counts. Its offset never changes, because compaction does not move
records and no key is written twice. Later records have higher offsets, so all processes agree.
"""

from __future__ import annotations

import logging
import secrets
import uuid

from streams.errors import SurroundingsError
from streams.kafka import UNCOMPRESSED, Cluster, KafkaError, partitions_of, read_all
from streams.protocol import SECRET_BYTES
from streams.wire import MalformedError
from streams.wire.id_secret import decode_secret, encode_secret, secret_key, secret_owner

log = logging.getLogger("hopline.agents")

_PARTITION = 0
"""The order of offsets is defined only within one partition."""
_MOST = 1_000
"""Maximum number of records of one application that are considered."""
_TIMEOUT = 30.0


def establish_secret(cluster: Cluster, instance: str, application: str) -> bytes:
    """Return the secret of an application at an instance (or pair); create it if there is none.

    Records that cannot be decoded are skipped. Raises SurroundingsError if the topic does not exist
    or Kafka does not accept the record.
    """
    topic = cluster.topics.reading(instance)
    partitions_of(cluster, topic)  # its error contains the remedy if the topic does not exist
    # Without to_high: an open transaction can only hide records with higher offsets.
    known = _first(cluster, topic, application, to_high=False)
    if known is None:
        _write(cluster, topic, application)
        known = _first(cluster, topic, application, to_high=True)
    if known is None:
        raise SurroundingsError(
            f"{topic}: the secret of {application} was stored, but cannot be read.",
            "Check which other clients write to this topic, then start the application again.",
        )
    return known


def _first(cluster: Cluster, topic: str, application: str, *, to_high: bool) -> bytes | None:
    """Return the secret with the lowest offset among the latest records of all keys.

    So the compaction of the topic does not change the result.
    """
    owner = application.encode()
    found: dict[bytes, bytes] = {}
    for message in read_all(cluster, topic, _PARTITION, to_high=to_high):
        key, value = message.key(), message.value()
        if not isinstance(key, bytes) or secret_owner(key) != owner:
            continue
        found.pop(key, None)
        if value is None or len(found) >= _MOST:
            continue
        try:
            found[key] = decode_secret(value)
        except MalformedError as error:
            log.warning("%s@%s: skipped: %s", topic, message.offset(), error)
    return next(iter(found.values()), None)


def _write(cluster: Cluster, topic: str, application: str) -> None:
    """Store a new secret under a new key; return when Kafka has stored it."""
    failed: list[KafkaError] = []
    # idempotent: a retry does not store another record
    producer = cluster.producer(linger_ms=0, **UNCOMPRESSED)
    producer.produce(
        topic,
        partition=_PARTITION,
        key=secret_key(uuid.uuid4(), application),
        value=encode_secret(secrets.token_bytes(SECRET_BYTES)),
        on_delivery=lambda error, _: failed.append(error) if error else None,
    )
    if producer.flush(_TIMEOUT) or failed:
        why = failed[0].str() if failed else f"no answer for {_TIMEOUT:.0f} s"
        raise SurroundingsError(
            f"{topic}: the secret of {application} was not stored: {why}.",
            cluster.remedy("No message was processed; start the application again."),
        )
