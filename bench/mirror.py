"""MirrorMaker 2, Kafka's own tool, as a tuned baseline that copies the same records.

It is warmed up before the measurement by copying a few hundred thousand records. While other loops
run, it is suspended (SIGSTOP), so that it uses no CPU time and keeps its compiled code. Its jars
are locked in bench/mirror.lock and not shipped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.turns import Turn, cpu_of, turn
from streams.embedded import find_java
from streams.embedded.jars import ensure
from streams.embedded.locked import locked
from streams.kafka import Cluster, KafkaException, TopicPartition

VERSION = "4.3.1"
"""The version in bench/mirror.lock, which works with brokers of other versions too."""
WARM = 400_000
"""Records that it copies before its first turn."""
PATIENCE = 600_000
"""Session timeout in milliseconds, long enough for the time that it is stopped."""

# Settings of a careful operator: no monitoring or synchronisation, large batches in both
# directions, and the same compression as in every other loop.
_PROPERTIES = """\
clusters = here, there
here.bootstrap.servers = {bootstrap}
there.bootstrap.servers = {bootstrap}
here->there.enabled = true
here->there.topics = {topic}
tasks.max = 1
replication.factor = 1
emit.heartbeats.enabled = false
emit.checkpoints.enabled = false
emit.offset-syncs.enabled = false
sync.topic.configs.enabled = false
sync.topic.acls.enabled = false
refresh.groups.enabled = false
refresh.topics.enabled = false
there.config.storage.replication.factor = 1
there.offset.storage.replication.factor = 1
there.status.storage.replication.factor = 1
there.session.timeout.ms = {patience}
there.rebalance.timeout.ms = {patience}
here.consumer.max.poll.records = 5000
here.consumer.fetch.min.bytes = 100000
here.consumer.max.partition.fetch.bytes = 8388608
there.producer.compression.type = lz4
there.producer.batch.size = 524288
there.producer.linger.ms = 20
there.producer.buffer.memory = 134217728
"""
_JVM = ("-Xms512m", "-Xmx512m", "-XX:+UseSerialGC")


class Mirror:
    """A MirrorMaker 2 that copies one topic."""

    def __init__(self, cluster: Cluster, topic: str, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._copies = TopicPartition(f"here.{topic}", 0)
        self._watcher = cluster.consumer("bench.mirror")
        self._count(at_least=WARM)
        self._pause()

    def turn(self, count: int, broker: int) -> Turn:
        """Let it copy this number of further records; return its cost and the broker's cost."""
        os.kill(self._process.pid, signal.SIGCONT)
        first = self._count(at_least=self._count() + 1)
        began, cpu, used = time.monotonic(), cpu_of(self._process.pid), cpu_of(broker)
        last = self._count(at_least=first + count)
        took = time.monotonic() - began
        cpu, used = cpu_of(self._process.pid) - cpu, cpu_of(broker) - used
        self._pause()
        return turn(cpu, used, took, last - first)

    def _pause(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def _count(self, at_least: int = 0, patience: float = 120) -> int:
        """Wait for this number of copies; return the actual number."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                _, end = self._watcher.get_watermark_offsets(self._copies, timeout=5)
            except KafkaException:  # it has not created the topic yet
                end = 0
            if end >= at_least:
                return int(end)
            time.sleep(0.01)
        raise TimeoutError(f"MirrorMaker 2 has not made {at_least} copies in {patience:.0f} s.")


@contextmanager
def mirroring(cluster: Cluster, topic: str, folder: Path) -> Iterator[Mirror]:
    """Run a MirrorMaker 2 on one topic that has enough records, and end it afterwards."""
    config = folder / "mirror.properties"
    config.write_text(
        _PROPERTIES.format(bootstrap=cluster.bootstrap, topic=topic, patience=PATIENCE)
    )
    jars = ensure(f"mirror-{VERSION}", locked("mirror", Path(__file__).parent))
    main = ("org.apache.kafka.connect.mirror.MirrorMaker", str(config))
    command = (find_java().path, *_JVM, "-cp", os.pathsep.join(map(str, jars)), *main)
    with (folder / "mirror.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield Mirror(cluster, topic, process)
        finally:
            process.kill()
            process.wait()
