"""The cost of recording from a real Kafka: `python -m bench.capture`.

The baseline reads the same topics with the same client library and settings, and does nothing with
the records: it reads no headers and writes nothing. The loops run alternately, each in its own
process. The measurement begins with the first record and ends with the complete folder.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

from bench.kafka_forwarder import fill
from bench.part import hand_over, options, progress
from bench.rows import Measurement, at_least
from bench.turns import MEASURED, Turn, by_turns, in_a_process, lasting_broker, resident, rows_of
from streams.capture import CaptureOrigin, Metadata
from streams.capture.codec import Codec
from streams.capture.folder import CaptureFolder
from streams.capture.recorder import Recorder
from streams.capture.recording import begin
from streams.kafka import Cluster, TopicPartition, create, read_ends
from streams.wire import Topics
from streams.wire.specs import spec
from streams.workers.collector import collecting_rarely

BARE, CAPTURE = "a bare consumer", "capture"
LOOPS = (BARE, CAPTURE)
GROUP = "capture, bodies of 400 bytes"
SPLIT = 256_000_000


def topics_of(cluster: Cluster) -> list[str]:
    """Return the topics that are read: two, like those of two instances."""
    return [cluster.topics.txq(name) for name in ("GatewayA", "ServerB")]


def bare(cluster: Cluster, count: int) -> tuple[float, float]:
    """Read the records; return the CPU seconds and the duration from the first record on."""
    consumer = cluster.consumer(
        "bench", enable_partition_eof=True, fetch_queue_backoff_ms=20,
        queued_max_messages_kbytes=32 << 10,
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, 0) for topic in topics_of(cluster)])
    began, done = (0.0, 0.0), 0
    while done < count:
        first = consumer.poll(0.2)
        if first is None:
            continue
        began = began if done else (time.process_time(), time.monotonic())
        done += 1 + len(consumer.consume(1_000, 0))
    took = time.process_time() - began[0], time.monotonic() - began[1]
    consumer.close()
    return took


def capture(cluster: Cluster, count: int) -> tuple[float, float]:
    """Record the same records; return the CPU seconds and the duration."""
    folder = Path(tempfile.mkdtemp(prefix="hopline-"))
    began: list[float] = []

    def stopped() -> bool:
        if not began and writer.counts.records:
            began.extend((time.process_time(), time.monotonic()))
        return False

    try:
        metadata = Metadata(CaptureOrigin.CAPTURED, cluster.topics.prefix, "", 0)
        recording = begin(cluster, topics_of(cluster), {})
        writer = CaptureFolder(folder, metadata, SPLIT, recording=recording, codec=Codec.ZSTANDARD)
        with collecting_rarely():
            recorder = Recorder(monotonic=time.monotonic, stopped=stopped)
            outcome = recorder.record(cluster, writer, recording)
        took = time.process_time() - began[0], time.monotonic() - began[1]
        assert outcome.records == count, outcome
        size = sum(part.size for part in writer.manifest.parts) / count
        progress(f"{size:.0f} bytes a record, {resident() / 1e6:.0f} MB resident at the end")
    finally:
        shutil.rmtree(folder)
    return took


def rows(turns: dict[str, list[Turn]]) -> list[Measurement]:
    """Return the recorder's figures compared with those of the bare consumer."""
    return rows_of(turns, GROUP, CAPTURE, BARE, {"rate": at_least(0.5)}, MEASURED)


def main() -> None:
    """Print the table, or run one loop."""
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("--only", choices=LOOPS)
    parser.add_argument("--bootstrap", help="with --only: a broker with the records")
    given = parser.parse_args()
    if given.only:
        cluster = Cluster(given.bootstrap, Topics("bench."))
        loop = bare if given.only == BARE else capture
        print(json.dumps((*loop(cluster, given.count), given.count)))
        return
    with lasting_broker() as broker:
        cluster = Cluster(broker.bootstrap, Topics("bench."))
        create(cluster, [spec(topic, "txq") for topic in topics_of(cluster)])
        progress(f"{GROUP}: {given.count:,} records")
        for topic in topics_of(cluster):
            fill(cluster, topic, given.count // 2)
        assert sum(read_ends(cluster, topics_of(cluster)).values()) == given.count
        pid = broker.data.recorded().pid  # type: ignore[union-attr]

        def run(loop: str, _: int) -> Turn:
            arguments = ["--only", loop, "--bootstrap", broker.bootstrap, "--count",
                         str(given.count)]  # fmt: skip
            return in_a_process("bench.capture", arguments, pid)

        turns = by_turns(LOOPS, given.rounds, run)
    hand_over(rows(turns), given)


if __name__ == "__main__":
    main()
