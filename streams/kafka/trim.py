"""Letting the beginnings of logs go (DeleteRecords); whoever asks knows that nobody needs them."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.kafka.cluster import Cluster
from streams.kafka.lag import Positions

_TIMEOUT = 30.0


def trim(cluster: Cluster, spare: Mapping[tuple[str, int], int], before: int) -> Positions:
    """Delete records below ``spare`` that are older than ``before``; returns where logs begin now.

    ``before`` is epoch milliseconds. A log begins with its first record of that age or younger,
    also where older ones follow. Only the logs that were shortened are returned. Raises
    KafkaException where the cluster does not answer, or some log could not be shortened.
    """
    admin = cluster.admin()
    begins = _asked(admin, list(spare), OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    wanted = [place for place, begin in begins.items() if spare[place] > begin]
    young = _asked(admin, wanted, OffsetSpec.for_timestamp(max(before, 0)))
    ends = {p: spare[p] if young[p] < 0 else min(spare[p], young[p]) for p in wanted}
    asked = [TopicPartition(*p, end) for p, end in ends.items() if end > begins[p]]
    return _delete(admin, asked)


def _delete(admin: AdminClient, asked: list[TopicPartition]) -> Positions:
    if not asked:
        return {}
    done: Positions = {}
    failed: KafkaException | None = None
    for place, future in admin.delete_records(asked, request_timeout=_TIMEOUT).items():
        try:
            done[place.topic, place.partition] = future.result().low_watermark
        except KafkaException as error:  # the others are shortened all the same
            failed = error
    if failed is not None:
        raise failed
    return done


def _asked(admin: AdminClient, places: list[tuple[str, int]], spec: OffsetSpec) -> Positions:
    """Ask for offsets; -1 where no record is as the specification says."""
    if not places:
        return {}
    asked = {TopicPartition(*place): spec for place in places}
    futures = admin.list_offsets(
        asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=_TIMEOUT
    )
    return {(p.topic, p.partition): f.result().offset for p, f in futures.items()}
