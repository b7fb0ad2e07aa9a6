"""Parse topic names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams.wire.specs import KINDS
from streams.wire.topics import Topics, readable

_HASHED = re.compile(r"--[0-9a-f]{32}$")
_PARTS = {"queue": 3, "ingress": 2, "catalog": 0, "presence": 0, "event": 0, "metric": 0}


@dataclass(frozen=True, slots=True)
class TopicPlace:
    """The parts of a topic name; missing parts are ``None``.

    ``cluster`` is the cluster that writes to an ``ingress``.
    """

    kind: str
    instance: str | None = None
    database: str | None = None
    queue: str | None = None
    cluster: str | None = None


def place_of(topic: str, topics: Topics) -> TopicPlace | None:
    """Parse a topic name; return ``None`` if it is not a Hopline name with this prefix.

    If the full name was too long for Kafka, only the start of the last part is known.
    """
    if not topic.startswith(topics.prefix):
        return None
    name, hashed = _HASHED.subn("", topic[len(topics.prefix) :])
    kind, *parts = name.split(".")
    expected = _PARTS.get(kind, 1)
    if kind not in KINDS or len(parts) > expected or (len(parts) < expected and not hashed):
        return None
    names = [readable(part) for part in parts]
    if kind == "ingress":
        return TopicPlace(kind, names[0], cluster=names[1] if names[1:] else None)
    return TopicPlace(kind, *names)
