"""Build a dialog's history from its records: steps in time order, messages, endpoints."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from streams.diagram import Place, Shape
from streams.live.life import steps
from streams.live.life.copies import Copies
from streams.live.life.decide import Decider
from streams.live.life.life import Endpoint, Life, Step
from streams.live.life.records import Broken, BrokerEvent, Frame, Issued, Kept, Record
from streams.live.life.tally import tally
from streams.protocol import CommandKind
from streams.routing import broker_key
from streams.system_names import DEFAULT
from streams.topology import Topology, hosts_of, pair_names

_RANK = {
    Shape.STATEMENT: 0,
    Shape.MESSAGE: 1,
    Shape.ERROR: 1,
    Shape.END: 1,
    Shape.NOTE: 2,
    Shape.TROUBLE: 2,
    Shape.QUEUED: 3,
    Shape.ACK: 5,
}
_REFUSED = 4
"""The rank of a step with an error number; ranks order the steps of the same millisecond."""


@dataclass(slots=True)
class _Sorted:
    """Records by type."""

    statements: list[Issued] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    broker_events: list[BrokerEvent] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    kept: dict[tuple[str, str, bool], Kept] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        match record:
            case Issued():
                self.statements.append(record)
            case Frame():
                self.frames.append(record)
            case BrokerEvent():
                self.broker_events.append(record)
            case Broken():
                self.broken.append(record)
            case Kept():
                self.kept[record.endpoint] = record


def build_life(
    conversation: uuid.UUID,
    records: Sequence[Record],
    topology: Topology,
    version: int = 0,
    left_out: Sequence[str] = (),
) -> Life:
    """Return the history of a dialog; ``topology`` is the catalog that explains decisions."""
    found = _Sorted()
    for record in records:
        found.take(record)
    copies = Copies(found.frames, Decider(topology, conversation))
    scene = _scene(found, topology)
    happened = sorted(_causal(tuple(_steps(found, scene, copies))), key=_place_in_time)
    parties = next((f.parties for f in found.frames if f.parties.from_initiator), None)
    return Life(
        conversation,
        _timed(happened, conversation),
        tally(found.frames, happened, scene),
        tuple(_endpoints(found, scene)),
        scene.sides.get(True, ("", "", ""))[2],
        scene.sides.get(False, ("", "", ""))[2] or (parties.to_service if parties else ""),
        parties.contract if parties else _contract(found.statements),
        version,
        tuple(left_out),
    )


def _causal(happened: Sequence[Step]) -> Iterator[Step]:
    """Reorder steps so that no SEND comes after its message, and BEGIN comes first.

    A statement's time is from its application's clock, and a message's time is from Kafka's clock
    as its worker knows it; the two clocks differ by milliseconds.
    """
    sent: dict[tuple[bool, int] | None, int] = {}
    for step in happened:
        if step.message is not None and step.sight.shape is not Shape.STATEMENT:
            sent[step.message] = min(step.at, sent.get(step.message, step.at))
    first = min(sent.values(), default=None)
    for step in happened:
        if step.sight.shape is Shape.STATEMENT:
            begins = step.sight.verb.startswith("BEGIN DIALOG")
            caused = first if begins else sent.get(step.message)
            yield step if caused is None else replace(step, at=min(step.at, caused))
        else:
            yield step


def _place_in_time(step: Step) -> tuple[int, int]:
    return step.at, _REFUSED if step.number else _RANK[step.sight.shape]


def _contract(statements: Sequence[Issued]) -> str:
    begins = (s.command for s in statements if s.command.kind is CommandKind.BEGIN)
    return next((c.contract or DEFAULT for c in begins), "")


def _scene(found: _Sorted, topology: Topology) -> steps.Scene:
    hosts = {pair: hosts_of(topology, pair)[0] for pair in pair_names(topology)}
    numbers = {
        f.header.message_id: f.header.sequence
        for f in found.frames
        if f.header is not None and f.header.sequenced
    }
    sides: dict[bool, Place] = {}
    for is_initiator, place in (*_places(found), *_by_brokers(found.frames, topology, hosts)):
        instance = hosts.get(place[0], place[0])
        sides.setdefault(is_initiator, (instance, *place[1:]))
    return steps.Scene(sides, hosts, numbers)


def _places(found: _Sorted) -> Iterator[tuple[bool, Place]]:
    """Yield the places of the sides from all records that contain one, the most reliable first."""
    for statement in found.statements:
        command = statement.command
        if command.kind is CommandKind.BEGIN:
            yield True, (statement.home, command.database, command.from_service or "")
    for (home, database, is_initiator), kept in found.kept.items():
        if kept.dialog is not None and (is_initiator or kept.dialog.locked):
            yield is_initiator, (home, database, kept.dialog.service)
    for frame in found.frames:
        if frame.queue is not None:
            side = not frame.parties.from_initiator
            yield side, (frame.home, frame.queue[0], frame.parties.to_service)
    for record in found.broker_events:
        event = record.event
        if event["database"] and event["event"] == 124 and event["from_initiator"] is not None:
            service = event["from_service"] if event["from_initiator"] else event["to_service"]
            side = bool(event["from_initiator"])
            yield side, (str(event["instance"]), str(event["database"]), str(service or "?"))


def _by_brokers(
    frames: Sequence[Frame], topology: Topology, hosts: Mapping[str, str]
) -> Iterator[tuple[bool, Place]]:
    """Yield the places of senders, found by the broker ids of their messages."""
    for frame in frames:
        instance = topology.instances.get(hosts.get(frame.home, frame.home))
        if frame.kind == "out" and instance is not None:
            key = broker_key(frame.parties.from_broker)
            for database in instance.databases.values():
                if broker_key(database.broker_id) == key:
                    service = frame.parties.from_service
                    yield frame.parties.from_initiator, (instance.name, database.name, service)


def _steps(found: _Sorted, scene: steps.Scene, copies: Copies) -> Iterator[Step]:
    has_begin = any(s.command.kind is CommandKind.BEGIN for s in found.statements)
    yield from (steps.statement(statement, scene) for statement in found.statements)
    yield from _without_command(found, scene)
    yield from (steps.passage(passage) for passage in copies.passages())
    for frame in found.frames:
        if frame.kind == "queue":
            yield steps.queued(frame, scene, copies)
    for record in found.broker_events:
        step = steps.event_step(record, scene, copies, has_begin=has_begin)
        if step is not None:
            yield step
    yield from (steps.broken(record, scene) for record in found.broken)


def _without_command(found: _Sorted, scene: steps.Scene) -> Iterator[Step]:
    """Yield statements that have no command record, from the first copies of their messages."""
    known = {statement.command.command_id for statement in found.statements}
    for frame in found.frames:
        if frame.kind != "out" or frame.header is None or frame.header.message_id in known:
            continue
        known.add(frame.header.message_id)
        step = steps.statement_of_copy(frame, scene)
        if step is not None:
            yield step


def _timed(happened: Sequence[Step], conversation: uuid.UUID) -> tuple[Step, ...]:
    """Set the times of all sights relative to the first sight."""
    if not happened:
        return ()
    first = happened[0].at
    timed = []
    for number, step in enumerate(happened):
        at = (step.at - first) * 1_000
        took = step.sight.arrived
        sight = replace(
            step.sight,
            at=at,
            arrived=None if took is None else at + took,
            dialog=conversation,
            key=number,
        )
        timed.append(replace(step, sight=sight))
    return tuple(timed)


def _endpoints(found: _Sorted, scene: steps.Scene) -> Iterator[Endpoint]:
    """Yield the current sides, the initiator first."""
    for kept in sorted(found.kept.values(), key=lambda k: not k.key.is_initiator):
        about, home = kept.key, scene.host(kept.home)
        yield Endpoint(home, about.database, about.is_initiator, kept.dialog, kept.at)
