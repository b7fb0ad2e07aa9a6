"""Topic names; every part is escaped injectively, so two objects never share a topic.

Kafka allows ``[A-Za-z0-9._-]`` and 249 characters, and rejects a topic whose name differs from that
of another topic only in ``.`` and ``_``. A part keeps letters and digits; every other UTF-8 byte
becomes ``-`` and two hex digits. Parts are joined by ``.``, which never occurs inside a part; ``_``
does not occur in any name.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache

MAX_LENGTH = 249
_SHORT = 1_024
"""Maximum length in characters of the parts of a cached name; a frame may contain longer names."""
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_ESCAPED = re.compile(r"-([0-9a-f]{2})")


def escape(part: str) -> str:
    """Escape a part of a topic name so that Kafka allows it; different parts stay different."""
    raw = part.encode("utf-8", "surrogatepass")
    return "".join(chr(b) if b in _PLAIN else f"-{b:02x}" for b in raw)


def unescape(text: str) -> str:
    """Undo :func:`escape`."""
    raw = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text).encode("latin-1")
    return raw.decode("utf-8", "surrogatepass")


def readable(part: str) -> str:
    """Undo :func:`escape`; return foreign parts, and parts cut within a character, unchanged."""
    try:
        name = unescape(part)
        name.encode("utf-8")  # a topic name may contain a lone surrogate, which cannot be printed
    except UnicodeError:
        return part
    return name


@dataclass(frozen=True, slots=True)
class Topics:
    """The names of all topics of one cluster, under one prefix."""

    prefix: str = "ssb."

    def name(self, kind: str, *parts: str) -> str:
        """Return ``<prefix><kind>.<part>...``; a name that is too long ends in a hash instead."""
        is_short = len("".join(parts)) <= _SHORT
        return (_short_name if is_short else _name)(self.prefix, kind, *parts)

    def home(self, kind: str, topic: str) -> str:
        """Return the instance or pair in a topic name of a kind.

        If the full name was too long, the result is the shortened part. If the part was not escaped
        by :func:`escape`, it is returned unchanged.
        """
        part = topic.removeprefix(f"{self.prefix}{kind}.")
        return part if "--" in part else readable(part)

    def cmd(self, instance: str) -> str:
        """Return the topic of statements."""
        return self.name("cmd", instance)

    def out(self, instance: str) -> str:
        """Return the transmission queue of messages sent from the instance."""
        return self.name("out", instance)

    def txq(self, instance: str) -> str:
        """Return the transmission queue of messages from other instances."""
        return self.name("txq", instance)

    def ingress(self, instance: str, cluster: str) -> str:
        """Return the transmission queue to which another cluster writes at an instance."""
        return self.name("ingress", instance, cluster)

    def inbox(self, instance: str) -> str:
        """Return the topic of frames with a LOCAL route."""
        return self.name("in", instance)

    def ack(self, instance: str) -> str:
        """Return the topic of statuses, and of acknowledgements, which lock broker ids."""
        return self.name("ack", instance)

    def dialog(self, instance: str) -> str:
        """Return the topic of the endpoint worker's state (compacted)."""
        return self.name("dialog", instance)

    def result(self, instance: str) -> str:
        """Return the topic of results."""
        return self.name("result", instance)

    def queue(self, instance: str, database: str, queue: str) -> str:
        """Return the topic of a service queue."""
        return self.name("queue", instance, database, queue)

    def reading(self, instance: str) -> str:
        """Return the topic of consumer groups' positions in the instance's queues (compacted)."""
        return self.name("reading", instance)

    @property
    def catalog(self) -> str:
        """Return the cluster's catalog (compacted, one partition)."""
        return self.name("catalog")

    @property
    def presence(self) -> str:
        """Return the topic of heartbeats (compacted)."""
        return self.name("presence")

    @property
    def event(self) -> str:
        """Return the topic of trace events."""
        return self.name("event")

    @property
    def metric(self) -> str:
        """Return the topic of the monitor's metrics (compacted, kept for a week)."""
        return self.name("metric")


def _name(prefix: str, kind: str, *parts: str) -> str:
    name = prefix + ".".join([kind, *(escape(part) for part in parts)])
    if len(name) <= MAX_LENGTH:
        return name
    # An escaped part never has two hyphens in a row, so no other name has such an end; the start of
    # the name stays readable.
    digest = hashlib.blake2b(name.encode("ascii"), digest_size=16).hexdigest()
    return f"{name[: MAX_LENGTH - len(digest) - 2]}--{digest}"


_short_name = lru_cache(4096)(_name)
