"""The parts of a run that are shown: statements, copies, queues, events and faults."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from operator import attrgetter

from streams.diagram import Shape, Sight, ack_words, excerpt, message_words
from streams.protocol import CommandKind
from streams.simulator.codec import ACK, Hop, decode_header
from streams.simulator.diagram.notes import event_sight, fault_sights
from streams.simulator.network import Passage
from streams.simulator.run import Simulation
from streams.simulator.storage import read_command


def sights_of(run: Simulation) -> list[Sight]:
    """Return all items that a diagram can show, in time order."""
    events = [event_sight(emitted) for emitted in run.facts.events]
    seen = [
        *(sight for step in run.scenario.steps for sight in fault_sights(step)),
        *(sight for sight in events if sight.shape is Shape.STATEMENT),
        *_statements(run),
        *(sight for sight in events if sight.shape is not Shape.STATEMENT),
        *_queued(run),
        *_acts(run),
        *(_copy(passage) for passage in run.network.passages),
    ]
    ended = run.clock.now
    shown = [sight for sight in seen if sight.at <= ended]
    broken = run.invariants.violation
    if broken is not None:
        ends = ((broken.instance,),) if broken.instance else tuple((n,) for n in run.instances)
        text = f"BROKEN: invariant {broken.invariant}: {broken.why}"
        shown.append(Sight(broken.at, Shape.TROUBLE, ends, text, dialog=broken.conversation))
    # The sort is stable, so events with the same time keep that order.
    return sorted(shown, key=attrgetter("at"))


def _statements(run: Simulation) -> Iterator[Sight]:
    services = _services(run)
    for direction, numbers in run.facts.accepted.items():
        instance, (database, conversation, is_initiator) = run.facts.senders[direction]
        service = services[conversation][0 if is_initiator else 1]
        for number, accepted in numbers.items():
            yield Sight(
                accepted.at,
                Shape.STATEMENT,
                ((instance, database, service), (instance,)),
                "END" if accepted.kind is CommandKind.END else "SEND",
                number,
                dialog=conversation,
                aside=excerpt(accepted.body),
            )


def _services(run: Simulation) -> dict[uuid.UUID, tuple[str, str]]:
    """Return the initiator of each dialog, with its service."""
    commands = (read_command(e) for i in run.instances.values() for e in i.topics.cmd)
    return {
        command.conversation: (command.from_service or "", command.to_service or "")
        for command in commands
        if command.kind is CommandKind.BEGIN
    }


def _queued(run: Simulation) -> Iterator[Sight]:
    for queued in run.facts.queued:
        message = queued.message
        _, verb, number, rest = message_words(message.header, message.body)
        place = (queued.instance, message.database, message.parties.to_service)
        yield Sight(
            queued.at,
            Shape.QUEUED,
            ((queued.instance,), place),
            verb,
            number,
            f"{rest} into {message.queue}",
            message.conversation,
        )


def _acts(run: Simulation) -> Iterator[Sight]:
    for act in run.facts.acts:
        place = (act["instance"], act["database"], act["service"])
        at, dialog = round(act["at"] * 1_000_000), uuid.UUID(act["conversation"])
        yield Sight(at, Shape.NOTE, (place,), "acts on message", act["sequence"], dialog=dialog)


def _copy(passage: Passage) -> Sight:
    entry, hop = passage.entry, Hop(passage.entry.hop)
    dialog = uuid.UUID(bytes=entry.key)
    if entry.message is None:
        shape, verb, number, rest = ack_words(ACK.loads(entry.value))
    else:
        shape, verb, number, rest = message_words(decode_header(entry.message), entry.value)
        rest += f", attempt {hop.attempt}" if hop.attempt else ""
    return Sight(
        passage.sent,
        shape,
        ((passage.sender,), (passage.receiver,)),
        verb,
        number,
        rest,
        dialog,
        passage.arrived,
    )


__all__ = ["sights_of"]
