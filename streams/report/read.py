"""Collect the ledger's facts from Kafka: state, queues, commands and events, in one process.

State is read first, then the queues, then the commands, then the events. This order makes the facts
consistent, even while the workers run. The queues contain every message that a state has settled.
The command of every message in a queue is read, and so is the event of every rejected command that
a state has processed.

If several workers write to one topic, an open transaction of one worker hides later commits of
another worker. So topics that are compared with the state are read to the high watermark, which
waits for such transactions.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

from streams.kafka import (
    Cluster,
    Message,
    headers_of,
    partitions_of,
    read_all,
    read_begins,
    read_live,
)
from streams.report.begins import Begins
from streams.report.facts import ALWAYS
from streams.report.gather import Facts, Gatherer, refused_shared
from streams.report.parts import Part, is_shared
from streams.report.record_reader import Record, RecordReader
from streams.report.sites import Sites, queues
from streams.topology import Topology, homes_of
from streams.wire import MalformedError
from streams.wire.state import decode_positions
from streams.wire.state_keys import POSITIONS_KEY

_PartsByDialog = defaultdict[bytes, list[Part]]


def read_facts(cluster: Cluster, topology: Topology) -> Facts:
    """Read a topology's topics to their ends; only committed records are read."""
    now = time.time_ns() // 1_000_000
    names, homes = cluster.topics, list(homes_of(topology))
    sites = Sites.of(topology, names.prefix, counts_of(cluster, topology))
    reader, by_dialog = RecordReader(sites), _PartsByDialog(list)
    reader.read = {
        (home, partition): position
        for home in homes
        for partition, position in _add_state(cluster, reader, home, by_dialog)
    }
    topics = [*(names.queue(*q) for q in queues(topology)), *(names.cmd(h) for h in homes)]
    for topic in (*topics, names.event):
        _add_messages(reader, read_all(cluster, topic, to_high=True), by_dialog)
    begins, overruled = begins_of(cluster, topology), frozenset[bytes]()
    facts = _gathered(sites, now, begins, by_dialog, overruled)
    while not facts.overruled <= overruled:
        overruled |= facts.overruled
        facts = _gathered(sites, now, begins, by_dialog, overruled)
    facts.delivered.sort(key=lambda d: (d.place, d.partition, d.offset))
    return facts


def _gathered(
    sites: Sites, now: int, begins: Begins, by_dialog: _PartsByDialog, overruled: Collection[bytes]
) -> Facts:
    """Gather the facts of all dialogs; ``overruled``: refusals that dialogs contradict."""
    shared = (refused_shared(parts) for key, parts in by_dialog.items() if is_shared(key))
    refused = frozenset(each for each in shared if each)
    gatherer, facts = Gatherer(sites, now, ALWAYS, refused, overruled), Facts(begins=begins)
    for dialog, parts in by_dialog.items():
        if not is_shared(dialog):
            gatherer.add(facts, dialog, parts)
    return facts


def begins_of(cluster: Cluster, topology: Topology) -> Begins:
    """Return the logs that were trimmed. Call this last, because workers can trim at any time."""
    names = cluster.topics
    commands = {names.cmd(home): home for home in homes_of(topology)}
    places = {names.queue(*queue): f"{queue[0]}/{queue[1]}" for queue in queues(topology)}
    found = read_begins(cluster, [*commands, *places])
    later = {topic for (topic, _), begin in found.items() if begin > 0}
    return Begins(
        frozenset(commands[topic] for topic in later if topic in commands),
        frozenset(places[topic] for topic in later if topic in places),
    )


def counts_of(cluster: Cluster, topology: Topology) -> dict[str, int]:
    """Return the number of partitions of each home's commands."""
    topics = {cluster.topics.cmd(home): home for home in homes_of(topology)}
    return dict(Counter(topics[topic] for topic, _ in read_begins(cluster, list(topics))))


def digest_of(body: bytes) -> bytes:
    """Return a value that identifies a body."""
    return hashlib.blake2b(body, digest_size=16).digest()


def _state(cluster: Cluster, instance: str) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """Yield the live state records of each partition, because each has its own positions."""
    topic = cluster.topics.dialog(instance)
    for partition in partitions_of(cluster, topic):
        yield partition, read_live(cluster, topic, partition)


def _add_state(
    cluster: Cluster, reader: RecordReader, home: str, by_dialog: _PartsByDialog
) -> Iterator[tuple[int, int]]:
    """Add the parts from a home's dialogs; yield each partition with its position in ``cmd``."""
    topic = cluster.topics.dialog(home)
    for partition, live in _state(cluster, home):
        read = live.get(POSITIONS_KEY)
        yield partition, 0 if read is None else decode_positions(read).cmd
        for key, value in live.items():
            record = Record(topic, partition, 0, 0, key, [], value, b"", len(value))
            for dialog, part in reader.read_record(record):
                by_dialog[dialog].append(part)


def _add_messages(
    reader: RecordReader, messages: Iterable[Message], by_dialog: _PartsByDialog
) -> None:
    """Add the parts from messages; each body is replaced by its digest to save memory."""
    for message in messages:
        try:
            headers = headers_of(message)
        except MalformedError:
            continue  # a foreign record
        key, value = message.key(), message.value()
        record = Record(
            message.topic() or "",
            message.partition() or 0,
            message.offset() or 0,
            message.timestamp()[1],
            key if isinstance(key, bytes) else None,
            headers,
            value,
            digest_of(value or b""),
            len(message),
        )
        for dialog, part in reader.read_record(record):
            by_dialog[dialog].append(part)
