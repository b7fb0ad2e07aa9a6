"""Delete the beginnings of logs that the caller no longer needs (DeleteRecords)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.kafka.cluster import Cluster
from streams.kafka.committed import Offsets
from streams.times import LATEST

_TIMEOUT = 30.0


def first_since(cluster: Cluster, places: Collection[tuple[str, int]], moment: int) -> Offsets:
    """Return each log's first offset whose record is not older than a time (epoch milliseconds).

    Older records may follow that offset. Logs that contain only older records are left out.
    """
    # A record's timestamp may be invalid, and the client rejects a number that is too large.
    spec = OffsetSpec.for_timestamp(min(max(moment, 0), LATEST))
    found = _asked(cluster.admin(), places, spec)
    return {place: offset for place, offset in found.items() if offset >= 0}


def trim(cluster: Cluster, begins: Mapping[tuple[str, int], int]) -> Offsets:
    """Delete the records before these offsets; return the logs that became shorter.

    Raises KafkaException if the cluster does not respond or a log could not be shortened.
    """
    admin = cluster.admin()
    now = _asked(admin, begins, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    return _delete(admin, [TopicPartition(*p, b) for p, b in begins.items() if b > now[p]])


def _delete(admin: AdminClient, asked: list[TopicPartition]) -> Offsets:
    if not asked:
        return {}
    done: Offsets = {}
    failed: KafkaException | None = None
    for place, future in admin.delete_records(asked, request_timeout=_TIMEOUT).items():
        try:
            done[place.topic, place.partition] = future.result().low_watermark
        except KafkaException as error:  # the other logs are shortened nevertheless
            failed = error
    if failed is not None:
        raise failed
    return done


def _asked(admin: AdminClient, places: Collection[tuple[str, int]], spec: OffsetSpec) -> Offsets:
    """Request offsets; -1 if no record matches the specification."""
    if not places:
        return {}
    asked = {TopicPartition(*place): spec for place in places}
    futures = admin.list_offsets(
        asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_TIMEOUT
    )
    return {(p.topic, p.partition): f.result().offset for p, f in futures.items()}
