"""Follow messages through the topics, and record when each could first be read there.

Two readers read every topic: one sees a record as soon as it is written, the other when its
transaction is committed. The latency between two stages is the difference of their times.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import defaultdict
from statistics import median

from bench.open_loop import SIZE
from streams.kafka import Cluster, Consumer, TopicPartition

_DUE = struct.Struct("<QQ")
Seen = dict[tuple[str, int], int]


class Stages:
    """The topics on the path from one instance over a forwarder to another, in order."""

    def __init__(self, cluster: Cluster, sender: str, forwarder: str, target: str) -> None:
        topics = cluster.topics
        self._names = {
            topics.cmd(sender): "cmd",
            topics.out(sender): "out",
            topics.txq(forwarder): "txq of the forwarder",
            topics.txq(target): "txq of the target",
            topics.inbox(target): "in",
            topics.queue(target, "DatabaseB", "rcvTweetQueue"): "queue",
        }
        self._readers = {
            "written": self._reader(cluster, "read_uncommitted"),
            "committed": self._reader(cluster, "read_committed"),
        }

    def _reader(self, cluster: Cluster, level: str) -> Consumer:
        consumer = cluster.consumer("bench.stages", isolation_level=level)
        places = [TopicPartition(topic, 0) for topic in self._names]
        for place in places:
            place.offset = consumer.get_watermark_offsets(place, timeout=10)[1]
        consumer.assign(places)
        return consumer

    def follow(self, count: int) -> str:
        """Return a line for each stage, in milliseconds since the message was due."""
        seen: dict[str, Seen] = {name: {} for name in self._readers}
        threads = [
            threading.Thread(target=self._watch, args=(self._readers[name], seen[name], count))
            for name in seen
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._text(seen)

    def _watch(self, consumer: Consumer, seen: Seen, count: int) -> None:
        until = time.monotonic() + 60
        last, arrived = list(self._names)[-1], 0
        while time.monotonic() < until and arrived < count:
            for message in (m for m in [consumer.poll(0.2)] if m is not None):
                now, body = time.time_ns(), message.value()
                if message.error() is None and isinstance(body, bytes) and len(body) == SIZE:
                    topic = message.topic() or ""
                    seen[topic, _DUE.unpack_from(body)[0]] = now
                    arrived += topic == last
        consumer.close()

    def _text(self, seen: dict[str, Seen]) -> str:
        took: dict[tuple[str, str], list[float]] = defaultdict(list)
        for level, moments in seen.items():
            for (topic, due), now in moments.items():
                took[topic, level].append((now - due) / 1e6)
        lines = [f"{'ms since the message was due':<32}{'p50':>8}{'p95':>8}"]
        for topic, name in self._names.items():
            for level in seen:
                values = sorted(took[topic, level])
                if values:
                    high = values[int(len(values) * 0.95)]
                    lines.append(f"{f'{name}, {level}':<32}{median(values):>8.1f}{high:>8.1f}")
        return "\n".join(lines)
