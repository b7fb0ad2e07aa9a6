"""Let a query continue after a batch of records that Kafka's Java client cannot read.

If a batch of records is in the topic's codec, the broker stores it unchanged, and checks it less
strictly than readers do. So a batch that was not created by a Kafka client could end the query, and
end it again after each restart. The query's checkpoint determines what the next run reads. This
module changes the checkpoint: the query's next batch ends before the unreadable records, and the
following batch begins after them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streams.kafka import Cluster
from streams.monitor.access import java_properties

_POLL_MS = 200
_PATIENCE = 15.0
"""Seconds without progress after which a partition counts as readable."""
_ONE_BY_ONE = 64
"""Offsets that are tried one by one; after that, each step is one offset longer than the last."""
_AT_ONCE = 500
"""Records per poll while all are readable; after an error, up to this many are read one by one."""
_ERRORS = "org.apache.kafka.common.errors."
"""The package of errors that a broker reports. If the client cannot read a record, it raises a
generic KafkaException or a standard Java exception. It may also raise an OutOfMemoryError, because
it reserves memory for the length that the record states."""
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

Sources = list[dict[str, dict[str, int]]]
"""The next offset for each topic and partition, for each source of a query."""


class Unreadable(NamedTuple):
    """Records that the Java client cannot read: from ``offset``, before ``after``."""

    topic: str
    partition: int
    offset: int
    after: int

    def __str__(self) -> str:
        place = {"topic": self.topic, "partition": self.partition, "offset": self.after}
        file = json.dumps({"partitions": [place], "version": 1})
        return (
            f"{self.topic}/{self.partition}: Kafka's Java client cannot read the records from "
            f"offset {self.offset} to {self.after - 1}, so the monitor leaves them out. No client "
            "library writes such records: check who may write to the topic. To delete them, "
            f"together with all records before them: echo '{file}' > delete.json; "
            "kafka-delete-records.sh --bootstrap-server HOST:PORT --offset-json-file delete.json"
        )


def pass_unreadable(
    spark: SparkSession, cluster: Cluster, checkpoint: Path, failure: str
) -> Unreadable | None:
    """Change the checkpoint of a query that ended with ``failure``, so that it can continue.

    ``checkpoint`` is the query's own folder. Returns None, and changes nothing, if the query can
    read all records of its last batch, and so has failed for another reason.
    """
    log = _Offsets(checkpoint)
    places = sorted(log.planned(), key=lambda place: f"{place[0]}-{place[1]}" not in failure)
    if not places:
        return None
    with closing(_Reader(spark, cluster)) as reader:
        for topic, partition, begin, end in places:
            found = reader.unreadable(topic, partition, begin, end)
            if found is not None:
                log.leave_out(found)
                return found
    return None


class _Offsets:
    """A query's offset log: one file per batch, written before it begins, with its end offsets."""

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint / "offsets"
        done, begun = (_newest(checkpoint / name) for name in ("commits", "offsets"))
        self._batch = begun if begun > done else None
        self._begins: Sources = []
        self._ends: Sources = []
        if self._batch is not None:
            self._ends = self._read(self._batch)
            self._begins = self._read(done) if done >= 0 else [{} for _ in self._ends]

    def planned(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield what the unfinished batch reads: topic, partition, first offset, end."""
        for begins, ends in zip(self._begins, self._ends, strict=True):
            for topic, partitions in ends.items():
                for number, end in partitions.items():
                    begin = begins.get(topic, {}).get(number, 0)
                    if begin < end:
                        yield topic, int(number), begin, end

    def leave_out(self, found: Unreadable) -> None:
        """Let the unfinished batch end before the records, or begin after them.

        The first batch cannot begin after them, because no file states where it begins. So it ends
        before the records, and the second batch begins after them.
        """
        topic, number, batch = found.topic, str(found.partition), self._batch
        assert batch is not None
        for begins, ends in zip(self._begins, self._ends, strict=True):
            if number not in ends.get(topic, {}):
                continue
            if batch == 0 or begins.get(topic, {}).get(number, 0) < found.offset:
                ends[topic][number] = found.offset
            else:
                begins[topic][number] = found.after
                ends[topic][number] = max(found.after, ends[topic][number])
                self._write(batch - 1, self._begins)
        self._write(batch, self._ends)

    def _read(self, batch: int) -> Sources:
        lines = (self._folder / str(batch)).read_text().splitlines()[2:]
        return [json.loads(line) if line.startswith("{") else {} for line in lines]

    def _write(self, batch: int, sources: Sources) -> None:
        """Replace a batch's file; Spark's checksum of the former content is deleted."""
        file = self._folder / str(batch)
        lines = file.read_text().splitlines()
        lines[2:] = [
            json.dumps(source, separators=(",", ":")) if line.startswith("{") else line
            for line, source in zip(lines[2:], sources, strict=True)
        ]
        new = self._folder / f".{batch}.new"
        new.write_text("\n".join(lines))
        (self._folder / f".{batch}.crc").unlink(missing_ok=True)
        os.replace(new, file)


def _newest(folder: Path) -> int:
    """Return the number of the newest batch that has a file in a folder, or -1."""
    return max((int(file.name) for file in folder.glob("*") if file.name.isdigit()), default=-1)


class _Reader:
    """The Java client, outside a query: find records that it cannot read."""

    def __init__(self, spark: SparkSession, cluster: Cluster) -> None:
        self._jvm = cast(Any, spark._jvm)
        self._properties = java_properties(cluster) | _READS
        self._many, self._single = self._client(_AT_ONCE), self._client(1)

    def _client(self, at_once: int) -> Any:
        """Return a client whose poll returns at most ``at_once`` records."""
        properties = self._jvm.java.util.Properties()
        for name, value in self._properties.items():
            properties.setProperty(name, value)
        properties.setProperty("max.poll.records", str(at_once))
        return self._jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)

    def close(self) -> None:
        """Close the clients."""
        self._many.close()
        self._single.close()

    def unreadable(self, topic: str, partition: int, begin: int, end: int) -> Unreadable | None:
        """Return the first unreadable records between two offsets of a partition.

        After an error, records are read one by one. An error of Java's library, or a lack of
        memory, also drops the earlier records that the same poll would have returned.
        """
        place = self._jvm.org.apache.kafka.common.TopicPartition(topic, partition)
        for client in (self._many, self._single):
            client.assign(self._jvm.java.util.List.of(place))
        if self._reads(self._many, place, begin, end):
            return None
        if self._reads(self._single, place, int(self._many.position(place)), end):
            return None
        first = int(self._single.position(place))
        after, tried = first + 1, 1
        while after < end and not self._reads(self._single, place, after, after + 1):
            after, tried = after + max(1, tried - _ONE_BY_ONE), tried + 1
        return Unreadable(topic, partition, first, min(after, end))

    def _reads(self, client: Any, place: Any, begin: int, end: int) -> bool:
        """Return whether a client can read from one offset up to another."""
        position, until = begin, time.monotonic() + _PATIENCE
        client.seek(place, begin)
        while position < end and time.monotonic() < until:
            try:
                client.poll(self._jvm.java.time.Duration.ofMillis(_POLL_MS))
                now = int(client.position(place))
            except Py4JJavaError as error:
                if error.java_exception.getClass().getName().startswith(_ERRORS):
                    raise  # for example, a missing permission
                return False
            if now > position:
                position, until = now, time.monotonic() + _PATIENCE
        return True


_READS: dict[str, str] = {
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": "false",
    "enable.auto.commit": "false",
}
