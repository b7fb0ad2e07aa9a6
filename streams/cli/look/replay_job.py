"""A replay's job name, and the record that it was started."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from streams.kafka import Cluster
from streams.kafka.listing import topic_names
from streams.wire.place import place_of


def new_job() -> str:
    """Return an unused job name."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def home_of_job(
    cluster: Cluster, topic: str, report: Callable[[str], None] | None = None
) -> str | None:
    """Return the instance whose progress topic contains the jobs of ``topic``, or None.

    If there is none, ``report`` is called with a warning. Pass ``report`` only for a job whose name
    the user has chosen, because other jobs are never resumed.
    """
    place = place_of(topic, cluster.topics)
    # a topic whose name was shortened does not show its instance
    if place is None or place.instance is None or "--" in topic:
        return None
    record = cluster.topics.reading(place.instance)
    if record in topic_names(cluster):
        return place.instance
    if report is not None:
        report(
            f"replay: there is no topic {record}. If Kafka loses the progress of this job (after "
            "a week), the job starts over. 'hopline apply' creates the topic."
        )
    return None
