"""Collecting the ledger's facts from Kafka: commands, refusals, queues, and endpoints' state."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streams.errors import EventKind
from streams.kafka import Cluster, headers_of, read_all, read_live
from streams.protocol import ERROR, Command, CommandKind, Dialog, Flag
from streams.report.ledger import Accepted, Delivered, Direction, Ledger, Side, balance
from streams.routing import broker_key
from streams.topology import Topology, queues_of
from streams.wire import MalformedError, decode_event
from streams.wire.records import read_command, read_queued
from streams.wire.state import POSITIONS_KEY, StateKey, decode_dialog


@dataclass(slots=True)
class Facts:
    """Everything that the ledger and the report need, as it was read."""

    accepted: list[Accepted] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    sides: list[Side] = field(default_factory=list)
    dialogs: dict[tuple[str, str, uuid.UUID, bool], Dialog] = field(default_factory=dict)
    duplicates: Counter[str] = field(default_factory=Counter)
    drops: Counter[int] = field(default_factory=Counter)
    delays: Counter[int] = field(default_factory=Counter)
    corrupted: int = 0
    discarding: set[Direction] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    events: list[dict[str, object]] = field(default_factory=list)

    def balance(self) -> Ledger:
        """Return the account of these facts."""
        return balance(self.accepted, self.delivered, self.sides, self.discarding)


def read_facts(cluster: Cluster, topology: Topology, *, hide: uuid.UUID | None = None) -> Facts:
    """Read a topology's topics to their ends; ``hide`` leaves one delivered message out.

    Only committed records are read. ``hide`` exists to show that the ledger would notice.
    """
    facts = Facts()
    for event in _events(cluster):
        _note(facts, event)
    for instance in topology.instances:
        _read_commands(facts, cluster, instance)
        for key, dialog in read_dialogs(cluster, instance):
            facts.dialogs[instance, *key] = dialog
    places = {
        broker_key(d.broker_id): f"{name}/{d.name}"
        for name, i in topology.instances.items()
        for d in i.databases.values()
    }
    for (instance, database, conversation, is_initiator), dialog in facts.dialogs.items():
        locked = dialog.locked and dialog.far_broker is not None
        facts.sides.append(
            Side(
                conversation,
                is_initiator,
                f"{instance}/{database}",
                dialog.state.name,
                places.get(broker_key(dialog.far_broker or "")) if locked else None,
                dialog.acknowledged[0],
            )
        )
    for name, instance_ in topology.instances.items():
        for d in instance_.databases.values():
            for queue in queues_of(d):
                rows = _delivered(cluster, name, d.name, queue.name)
                facts.delivered += [r for r in rows if r.message_id != hide]
    return facts


def read_dialogs(
    cluster: Cluster, instance: str
) -> Iterator[tuple[tuple[str, uuid.UUID, bool], Dialog]]:
    """Yield the endpoints of an instance as their state records have them now."""
    for raw, value in read_live(cluster, cluster.topics.dialog(instance)).items():
        if raw == POSITIONS_KEY:
            continue
        about = StateKey.decode(raw)
        if about.chunk is None:
            key3 = (about.database, about.conversation, about.is_initiator)
            yield key3, decode_dialog(value, about.conversation)


def digest_of(body: bytes) -> bytes:
    """Return what tells two bodies apart."""
    return hashlib.blake2b(body, digest_size=16).digest()


def _read_commands(facts: Facts, cluster: Cluster, instance: str) -> None:
    next_number: Counter[tuple[str, uuid.UUID, bool]] = Counter()
    for command in _commands(cluster, instance):
        if str(command.command_id) in facts.refused:
            continue
        if command.cleanup or command.error_code is not None:
            facts.discarding.add((command.conversation, command.from_initiator))
        if command.kind is not CommandKind.SEND:
            continue
        key = (command.database, command.conversation, command.from_initiator)
        facts.accepted.append(
            Accepted(
                command.conversation,
                command.from_initiator,
                command.command_id,
                next_number[key],
                digest_of(command.body or b""),
            )
        )
        next_number[key] += 1


def _commands(cluster: Cluster, instance: str) -> Iterator[Command]:
    for message in read_all(cluster, cluster.topics.cmd(instance)):
        try:
            yield read_command(
                message.key(),
                message.value(),
                headers_of(message),
                message.timestamp()[1],
            )
        except MalformedError:
            continue  # told as event 161 by the endpoint worker


def _delivered(cluster: Cluster, instance: str, database: str, queue: str) -> Iterable[Delivered]:
    place = f"{instance}/{database}"
    for message in read_all(cluster, cluster.topics.queue(instance, database, queue)):
        try:
            frame = read_queued(message.value(), headers_of(message))
        except MalformedError:
            continue  # nobody of ours wrote it: no message of any dialog
        header, path = frame.header, frame.journey.path
        if header.type == ERROR or header.flags & (Flag.END | Flag.UNSEQUENCED):
            continue
        yield Delivered(
            frame.conversation,
            frame.parties.from_initiator,
            header.message_id,
            header.sequence,
            digest_of(frame.body),
            place,
            message.offset() or 0,
            path[-1][1] - header.enqueued_at if path else 0,
            tuple(name for name, _ in path),
            path[-1][1] if path else 0,
        )


def _events(cluster: Cluster) -> Iterator[dict[str, object]]:
    for message in read_all(cluster, cluster.topics.event):
        try:
            yield decode_event(message.value())
        except MalformedError:
            continue


def _note(facts: Facts, event: dict[str, object]) -> None:
    kind, error = event["event"], event["error"]
    assert isinstance(error, int)
    if kind == EventKind.CONVERSATION and error and event["message_id"]:
        facts.refused.add(str(event["message_id"]))
    elif kind == EventKind.MESSAGE_UNDELIVERABLE and error == 11218:
        cause = "retries" if event["attempt"] else "sent again after a retry, or by a forwarder"
        facts.duplicates[cause] += 1
    elif kind == EventKind.CORRUPTED_MESSAGE:
        facts.corrupted += 1
    elif kind in (EventKind.FORWARDED_MESSAGE_DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        facts.drops[error] += 1
    elif kind == EventKind.MESSAGE_CLASSIFY and error:
        facts.delays[error] += 1
    if kind != EventKind.CONVERSATION:
        facts.events.append(event)
