"""Let an endpoint worker skip a blocking statement."""

from __future__ import annotations

import re
from collections.abc import Callable

from streams.errors import UsageError
from streams.kafka import Cluster, order_skip, partitions_of, read_catalog
from streams.live.admin.unreadable import find_unreadable
from streams.wire.place import place_of

_PLACE = re.compile(
    r"(?P<topic>[A-Za-z0-9.-]{1,249})/(?P<partition>[0-9]{1,9})@(?P<offset>[0-9]{1,18})"
)
_LOG_HINT = "The worker's log names it: 'cmd.ServerA/0@6140: Command: unknown fingerprint ...'."


def skip_statement(
    cluster: Cluster, place: str, approve: Callable[[str], None] = lambda _: None
) -> int:
    """Skip the statement at a place (cmd.INSTANCE/PARTITION@OFFSET).

    ``approve`` receives the place before anything is changed, and may raise an exception. Returns
    the version of the catalog with this instruction. Raises UsageError for an invalid place, or if
    the record can be decoded, because only undecodable records block a partition.
    """
    found = _PLACE.fullmatch(place)
    if found is None:
        raise UsageError(f"{place} is not the place of a statement.", _LOG_HINT)
    prefix = cluster.topics.prefix
    topic = prefix + found["topic"].removeprefix(prefix)
    named = place_of(topic, cluster.topics)
    if named is None or named.kind != "cmd":
        raise UsageError(
            f"{topic} contains no statements; only statements are held back.", _LOG_HINT
        )
    partition, offset = int(found["partition"]), int(found["offset"])
    read_catalog(cluster)  # the catalog contains the schemas
    first = None
    if partition in partitions_of(cluster, topic):
        first = find_unreadable(cluster, topic, partition, offset)
    if first is None or first[0] != offset:
        raise UsageError(f"Nothing is held back at {place}.", _LOG_HINT)
    exact = f"{topic.removeprefix(prefix)}/{partition}@{offset}"
    approve(exact)
    return order_skip(cluster, exact)
