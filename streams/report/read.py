"""Collecting the ledger's facts from Kafka: commands, refusals, queues, and endpoints' state.

State is read first, then the queues, then the commands, then the events: so everything that a state
says is settled is in the queues that are read, everything in them has its command, and every
command that a state has seen has its refusal, also while the workers run. Where several of them
write to one topic, an open transaction of one hides what another has committed behind it: what is
held against the state is read to the high watermark, which waits for such transactions.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from streams.errors import ConversationEvent, EventKind, Number
from streams.kafka import Cluster, headers_of, partitions_of, read_all, read_begins, read_live
from streams.protocol import ERROR, Command, CommandKind, Dialog, Flag, Message, Source
from streams.report.begins import Begins
from streams.report.facts import Accepted, Delivered, Ending, EndpointKey, Side
from streams.report.ledger import Ledger, balance
from streams.report.reasons import Endings
from streams.routing import broker_key
from streams.topology import Topology, home_of, homes_of, queues_of
from streams.wire import MalformedError, decode_event
from streams.wire.partition import partition_of
from streams.wire.records import is_moved, read_command, read_queued
from streams.wire.state import (
    POSITIONS_KEY,
    StateKey,
    decode_dialog,
    decode_key,
    decode_positions,
)

DialogKey = tuple[str, uuid.UUID, bool]
"""(database, conversation, is initiator)"""

_ERROR_RECEIVED = (ConversationEvent.ERROR_RECEIVED, ConversationEvent.BROKER_ERROR_RECEIVED)
"""Subclasses of event 124: the other side's application, or its broker, has ended with an Error."""
_CODE = re.compile(rb"<Code>(-?\d+)</Code>")


@dataclass(slots=True)
class Facts:
    """Everything that the ledger and the report need, as it was read."""

    accepted: list[Accepted] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)
    dialogs: dict[tuple[str, str, uuid.UUID, bool], Dialog] = field(default_factory=dict)
    said: dict[EndpointKey, Ending] = field(default_factory=dict)
    errors: dict[EndpointKey, int] = field(default_factory=dict)
    end_dialogs: set[EndpointKey] = field(default_factory=set)
    expired: set[uuid.UUID] = field(default_factory=set)
    ended: dict[EndpointKey, int] = field(default_factory=dict)
    duplicates: Counter[str] = field(default_factory=Counter)
    drops: Counter[int] = field(default_factory=Counter)
    delays: Counter[int] = field(default_factory=Counter)
    refused: set[str] = field(default_factory=set)
    events: list[dict[str, object]] = field(default_factory=list)
    begins: Begins = field(default_factory=Begins)

    def balance(self) -> Ledger:
        """Return the account of these facts."""
        endings = Endings(self.said, self.errors, self.end_dialogs, self.expired, self.ended)
        return balance(self.accepted, self.delivered, self.sides, endings, self.begins)

    def hiding(self, message_id: uuid.UUID) -> Facts:
        """Return the facts without one delivered message: to show that the ledger would notice."""
        return replace(self, delivered=[d for d in self.delivered if d.message_id != message_id])


def read_facts(cluster: Cluster, topology: Topology) -> Facts:
    """Read a topology's topics to their ends; only committed records are read."""
    facts = Facts()
    now = time.time_ns() // 1_000_000
    positions: dict[tuple[str, int], int] = {}
    homes = homes_of(topology)
    for home in homes:
        for partition, live in _state(cluster, home):
            read = live.get(POSITIONS_KEY)
            positions[home, partition] = 0 if read is None else decode_positions(read).cmd
            for key, dialog in _dialogs(live):
                facts.dialogs[home, *key] = dialog
    _note_sides(facts, topology)
    for queue in _queues(topology):
        _read_queue(facts, cluster, f"{queue[0]}/{queue[1]}", queue)
    commands = [(home, *c) for home in homes for c in _commands(cluster, home, positions)]
    databases = [(n, d) for n, i in topology.instances.items() for d in i.databases.values()]
    mirrored = {(n, d.name): d.mirror.pair for n, d in databases if d.mirror is not None}
    for event in _events(cluster):
        at = str(event["instance"]), str(event["database"])
        _note(facts, {**event, "instance": mirrored[at]} if at in mirrored else event)
    _note_commands(facts, commands, now)
    facts.begins = _begins(cluster, topology)
    return facts


def _begins(cluster: Cluster, topology: Topology) -> Begins:
    """Look last which logs begin later: some may have been trimmed while they were read."""
    names, queues = cluster.topics, _queues(topology)
    commands = {names.cmd(home): home for home in homes_of(topology)}
    places = {names.queue(*queue): f"{queue[0]}/{queue[1]}" for queue in queues}
    found = read_begins(cluster, [*commands, *places])
    later = {topic for (topic, _), begin in found.items() if begin > 0}
    return Begins(
        frozenset(commands[topic] for topic in later if topic in commands),
        frozenset(places[topic] for topic in later if topic in places),
    )


def _queues(topology: Topology) -> list[tuple[str, str, str]]:
    """Return all queues, one of a mirrored pair once."""
    found = (
        (home_of(name, d), d.name, queue.name)
        for name, instance in topology.instances.items()
        for d in instance.databases.values()
        for queue in queues_of(d)
    )
    return list(dict.fromkeys(found))


def read_dialogs(cluster: Cluster, instance: str) -> Iterator[tuple[DialogKey, Dialog]]:
    """Yield the endpoints of an instance as their state records have them now."""
    for _, live in _state(cluster, instance):
        yield from _dialogs(live)


def digest_of(body: bytes) -> bytes:
    """Return what tells two bodies apart."""
    return hashlib.blake2b(body, digest_size=16).digest()


# --- state ---------------------------------------------------------------------------------------


def _state(cluster: Cluster, instance: str) -> Iterator[tuple[int, dict[bytes, bytes]]]:
    """Yield the live state records of each partition: every one has positions of its own."""
    topic = cluster.topics.dialog(instance)
    for partition in partitions_of(cluster, topic):
        yield partition, read_live(cluster, topic, partition)


def _dialogs(live: dict[bytes, bytes]) -> Iterator[tuple[DialogKey, Dialog]]:
    for raw, value in live.items():
        if raw == POSITIONS_KEY:
            continue
        about = decode_key(raw)
        if isinstance(about, StateKey) and about.chunk is None:
            key = (about.database, about.conversation, about.is_initiator)
            yield key, decode_dialog(value, about.conversation)


def _note_sides(facts: Facts, topology: Topology) -> None:
    places = {
        broker_key(d.broker_id): f"{home_of(name, d)}/{d.name}"
        for name, i in topology.instances.items()
        for d in i.databases.values()
    }
    for (instance, database, conversation, is_initiator), dialog in facts.dialogs.items():
        locked = dialog.locked and dialog.far_broker is not None
        facts.sides.append(
            Side(
                EndpointKey(f"{instance}/{database}", conversation, is_initiator),
                dialog.state.name,
                places.get(broker_key(dialog.far_broker or "")) if locked else None,
                dialog.acknowledged[0],
                dialog.discarded_from,
                dialog.closed_at is not None and dialog.closed_at >= dialog.expires_at,
                dialog.deaf_from,
                frozenset(number for number, _ in dialog.parked if number >= 0),
                dialog.send_sequence,
            )
        )


# --- queues --------------------------------------------------------------------------------------


def _read_queue(facts: Facts, cluster: Cluster, place: str, queue: tuple[str, str, str]) -> None:
    for message in read_all(cluster, cluster.topics.queue(*queue), to_high=True):
        try:
            frame = read_queued(message.value(), headers_of(message))
        except MalformedError:
            continue  # nobody of ours wrote it: no message of any dialog
        header, parties = frame.header, frame.parties
        receiver = EndpointKey(place, frame.conversation, not parties.from_initiator)
        if header.type == ERROR:
            code = _CODE.search(frame.body)
            facts.errors[receiver] = int(code[1]) if code else 0
        elif header.flags & Flag.END:
            facts.end_dialogs.add(receiver)
        else:
            facts.delivered.append(_delivered(frame, place, message.offset() or 0))


def _delivered(frame: Message, place: str, offset: int) -> Delivered:
    header, path = frame.header, frame.journey.path
    return Delivered(
        frame.conversation,
        frame.parties.from_initiator,
        header.message_id,
        header.sequence,
        digest_of(frame.body),
        place,
        offset,
        path[-1][1] - header.enqueued_at if path else 0,
        tuple(name for name, _ in path),
        path[-1][1] if path else 0,
    )


# --- commands ------------------------------------------------------------------------------------


def _commands(
    cluster: Cluster, instance: str, positions: dict[tuple[str, int], int]
) -> Iterator[tuple[Command, bool]]:
    """Yield an instance's commands, and whether its endpoint worker has read them.

    A body's digest stands for it: nobody wants all bodies in memory.
    """
    topic = cluster.topics.cmd(instance)
    count = len(partitions_of(cluster, topic))
    last: dict[tuple[int, Source], tuple[int, int]] = {}
    for message in read_all(cluster, topic, to_high=True):
        partition, offset = message.partition() or 0, message.offset() or 0
        try:
            headers = headers_of(message)
            if is_moved(headers):
                continue
            key, value, at = message.key(), message.value(), message.timestamp()[1]
            command = read_command(key, value, headers, at)
        except MalformedError:
            continue  # told as event 161 by the endpoint worker
        if partition_of(command.conversation, count) == partition:  # else 161 as well
            if (cause := command.cause) is not None:
                if cause.at <= last.get((partition, cause.source), (-1, -1)):
                    continue  # said again, and passed over
                last[partition, cause.source] = cause.at
            short = command._replace(body=digest_of(command.body or b""))
            yield short, offset < positions.get((instance, partition), 0)


def _note_commands(facts: Facts, commands: list[tuple[str, Command, bool]], now: int) -> None:
    numbers: defaultdict[EndpointKey, int] = defaultdict(int)
    for instance, command, read in commands:
        if str(command.command_id) in facts.refused:
            continue
        place = f"{instance}/{command.database}"
        said_by = EndpointKey(place, command.conversation, command.from_initiator)
        if command.kind is CommandKind.SEND:
            for conversation in (command.conversation, *command.also):
                sender = EndpointKey(place, conversation, command.from_initiator)
                message_id, number = command.message_id(conversation), numbers[sender]
                body = command.body or b""
                facts.accepted.append(Accepted(sender, message_id, number, body, read))
                numbers[sender] += 1
        elif command.kind is CommandKind.BEGIN:
            if command.lifetime and command.stored_at + command.lifetime * 1000 <= now:
                facts.expired.add(command.conversation)
        elif read:
            _note_ending(facts.said, said_by, command)


def _note_ending(said: dict[EndpointKey, Ending], by: EndpointKey, command: Command) -> None:
    """Note how a side ended; what WITH ERROR has discarded is not discarded once more."""
    if said.get(by) is Ending.WITH_ERROR:
        return
    if command.cleanup:
        said[by] = Ending.WITH_CLEANUP
    else:
        said[by] = Ending.PLAIN if command.error_code is None else Ending.WITH_ERROR


# --- events --------------------------------------------------------------------------------------


def _events(cluster: Cluster) -> Iterator[dict[str, object]]:
    for message in read_all(cluster, cluster.topics.event, to_high=True):
        try:
            yield decode_event(message.value())
        except MalformedError:
            continue


def _note(facts: Facts, event: dict[str, object]) -> None:
    kind, error = event["event"], event["error"]
    assert isinstance(error, int)
    if kind == EventKind.CONVERSATION:
        _note_conversation(facts, event, error)
    elif kind == EventKind.MESSAGE_UNDELIVERABLE and error == Number.DUPLICATE:
        cause = "retries" if event["attempt"] else "sent again after a retry, or by a forwarder"
        facts.duplicates[cause] += 1
    elif kind in (EventKind.FORWARDED_MESSAGE_DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        facts.drops[error] += 1
    elif kind == EventKind.MESSAGE_CLASSIFY and error:
        facts.delays[error] += 1
    if kind != EventKind.CONVERSATION:
        facts.events.append(event)


def _note_conversation(facts: Facts, event: dict[str, object], error: int) -> None:
    """Note a statement that was refused, or an end in error."""
    if error and event["message_id"]:
        facts.refused.add(str(event["message_id"]))
    elif error or event["subclass"] in _ERROR_RECEIVED:
        place = f"{event['instance']}/{event['database']}"
        with suppress(ValueError):  # nobody of ours wrote it: no id of any dialog
            conversation = uuid.UUID(str(event["conversation"]))
            ended = EndpointKey(place, conversation, bool(event["from_initiator"]))
            facts.ended.setdefault(ended, error)
