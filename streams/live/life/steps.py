"""The steps of a dialog's history, from its records: statements, copies, queues, events.

Sights have no times yet, because times are relative to the first step, which is known only at the
end.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streams.diagram import Place, Shape, Sight, ack_words, event_words, excerpt, message_words
from streams.errors import ConversationEvent, Event, EventKind, Number, text_of
from streams.live.life.copies import Copies, Passage
from streams.live.life.decide import Decided
from streams.live.life.life import Step
from streams.live.life.records import Broken, BrokerEvent, Frame, Issued
from streams.prose import counted
from streams.protocol import Command, CommandKind, Header
from streams.routing import Verdict

Facts = tuple[tuple[str, str], ...]
_SAY = (CommandKind.SEND, CommandKind.END)
_REFUSED = (Verdict.DROP, Verdict.DELAY, Verdict.ASK)


@dataclass(frozen=True, slots=True)
class Scene:
    """The places of a dialog.

    ``sides`` contains (instance, database, service) of the initiator and of the target, ``hosts``
    the principal of a mirrored pair, and ``numbers`` the number of each message.
    """

    sides: Mapping[bool, Place]
    hosts: Mapping[str, str]
    numbers: Mapping[uuid.UUID, int]

    def host(self, home: str) -> str:
        """Return the instance that represents the owner of a topic."""
        return self.hosts.get(home, home)


# --- statements ----------------------------------------------------------------------------------


def statement(issued: Issued, scene: Scene) -> Step:
    """Return the step of a statement that an application issued."""
    command = issued.command
    instance = scene.host(issued.home)
    service = (scene.sides.get(command.from_initiator) or ("", "", "?"))[2]
    place = (instance, command.database, command.from_service or service)
    number = scene.numbers.get(command.command_id)
    verb, rest = _statement_words(command)
    aside = excerpt(command.body or b"") if command.kind is CommandKind.SEND else ""
    sight = Sight(0, Shape.STATEMENT, (place, (instance,)), verb, number, rest, aside=aside)
    about = None if number is None else (command.from_initiator, number)
    return Step(command.stored_at, sight, issued.where, _statement_facts(issued), message=about)


def _statement_words(command: Command) -> tuple[str, str]:
    match command.kind:
        case CommandKind.BEGIN:
            return f"BEGIN DIALOG to {command.to_service}", ""
        case CommandKind.END if command.cleanup:
            return "END", " WITH CLEANUP"
        case CommandKind.END if command.error_code is not None:
            return "END", f" WITH ERROR {command.error_code}"
        case CommandKind.TIMER:
            return "TIMER", f" {command.timeout} s"
        case CommandKind.MOVE:
            return "MOVE", f" to group {str(command.group)[:8]}"
        case kind:
            return kind.value, ""


def _statement_facts(issued: Issued) -> Facts:
    command = issued.command
    rows = {
        "contract": command.contract,
        "broker id wanted": command.to_broker,
        "lifetime": None if command.lifetime is None else f"{command.lifetime} s",
        "group": command.group,
        "type": command.type,
        "error": command.error_text,
        "body": _body(command.body or b"", issued.size) if command.kind in _SAY else None,
        "command": command.command_id,
    }
    return tuple((name, str(value)) for name, value in rows.items() if value is not None)


def statement_of_copy(frame: Frame, scene: Scene) -> Step | None:
    """Return the statement of a message whose command was trimmed or not read."""
    header = frame.header
    if header is None or not header.sequenced:
        return None
    side = frame.parties.from_initiator
    place = scene.sides.get(side)
    if place is None:
        return None
    verb = "END" if message_words(header, frame.body)[0] in (Shape.END, Shape.ERROR) else "SEND"
    ends: tuple[Place, ...] = (place, (place[0],))
    sight = Sight(0, Shape.STATEMENT, ends, verb, header.sequence)
    source = (
        "reported by",
        "its first copy; the statement itself is not in the logs that were read",
    )
    return Step(header.enqueued_at, sight, frame.where, (source,), message=(side, header.sequence))


# --- copies and queues ---------------------------------------------------------------------------


def passage(copy: Passage) -> Step:
    """Return the step of a copy from one instance to the next."""
    frame, attempt = copy.frame, copy.frame.journey.attempt
    shape, verb, number, rest = _frame_words(frame)
    rest += f", attempt {attempt}" if attempt and frame.header is not None else ""
    rest += ", repeated" if copy.again else ""
    rest += "" if copy.arrived is not None else ", not processed"
    ends = ((copy.sender,), (copy.receiver,))
    late = (copy.arrived or copy.at) - copy.at
    sight = Sight(0, shape, ends, verb, number, rest, arrived=late * 1_000)
    facts = [*_frame_facts(frame), *_travel(copy)]
    return Step(copy.at, sight, frame.where, tuple(facts), copy.decisions, _about(frame))


def _travel(copy: Passage) -> Iterator[tuple[str, str]]:
    hops = frame_path(copy.frame)
    yield "path so far", " > ".join(hops)
    yield "hops left", str(copy.frame.journey.hops_remaining)
    if copy.arrived is None:
        yield "not processed", f"no record shows what {copy.receiver} did with it"
    else:
        yield "processed", f"by {copy.receiver} {copy.arrived - copy.at} ms later"
    if copy.again:
        yield (
            "repeated",
            f"{copy.sender} had already forwarded this copy: it was stopped, or lost its "
            "partition, between the write of the copy and the commit of its offset",
        )


def frame_path(frame: Frame) -> list[str]:
    """Return the instances on a copy's path."""
    return [instance for instance, _ in frame.journey.path]


def queued(frame: Frame, scene: Scene, copies: Copies) -> Step:
    """Return the step of a message that was enqueued."""
    assert frame.queue is not None
    instance, (database, queue) = scene.host(frame.home), frame.queue
    _, verb, number, rest = _frame_words(frame)
    place = (instance, database, frame.parties.to_service)
    sight = Sight(0, Shape.QUEUED, ((instance,), place), verb, number, f"{rest} into {queue}")
    path = frame.journey.path
    at = path[-1][1] if path else (frame.header.enqueued_at if frame.header else 0)
    decided = copies.at_home(frame)
    facts = [*_frame_facts(frame), ("path", " > ".join(frame_path(frame)))]
    decisions = () if decided is None else (decided,)
    return Step(at, sight, frame.where, tuple(facts), decisions, _about(frame))


def _frame_words(frame: Frame) -> tuple[Shape, str, int | None, str]:
    if frame.header is not None:
        return message_words(frame.header, frame.body)
    assert frame.ack is not None
    return ack_words(frame.ack)


def _about(frame: Frame) -> tuple[bool, int] | None:
    header = frame.header
    if header is None or not header.sequenced:
        return None
    return frame.parties.from_initiator, header.sequence


def _frame_facts(frame: Frame) -> Iterator[tuple[str, str]]:
    parties = frame.parties
    yield "from", f"{parties.from_service} at broker {parties.from_broker}"
    to_broker = f" at broker {parties.to_broker}" if parties.to_broker else ""
    locked = ", locked" if parties.locked else ""
    yield "to", f"{parties.to_service}{to_broker}{locked}"
    yield "attempt", str(frame.journey.attempt)
    if frame.header is not None:
        yield from _header_facts(frame.header)
        yield "body", _body(frame.body, frame.size)
    elif frame.ack is not None and frame.ack.closed:
        yield "closed", "its sender has closed the dialog"


def _header_facts(header: Header) -> Iterator[tuple[str, str]]:
    yield "type", header.type
    yield "message", str(header.message_id)
    if header.fragments > 1:
        yield "fragment", f"{header.fragment + 1} of {header.fragments}"


def _body(body: bytes, size: int) -> str:
    try:
        text = body.decode("utf-8", "strict" if len(body) == size else "ignore")
    except UnicodeDecodeError:
        text = f"0x{body.hex()}"
    return counted(size, "byte") + (f": {text}{'' if len(body) == size else ' …'}" if text else "")


# --- events --------------------------------------------------------------------------------------


def event_step(
    record: BrokerEvent, scene: Scene, copies: Copies, *, has_begin: bool
) -> Step | None:
    """Return the step of an event; ``None`` if a statement's step already shows it."""
    event, instance = record.event, scene.host(str(record.event["instance"]))
    try:
        kind = EventKind(event["event"])
    except ValueError:
        return None
    if kind is EventKind.CONVERSATION and event["subclass"] == ConversationEvent.BEGUN:
        return None if has_begin else _begin_statement(record, instance)
    shape, verb, number, rest = event_words(event)
    sight = Sight(0, shape, ((instance,),), verb, number, rest)
    decided = _refusal(event, instance, copies)
    decisions = () if decided is None else (decided,)
    facts = tuple(_event_facts(event, kind, copies))
    about = _event_about(event, kind)
    return Step(event["at"], sight, record.where, facts, decisions, about, event["error"])


def _begin_statement(record: BrokerEvent, instance: str) -> Step:
    event = record.event
    place = (instance, str(event["database"]), str(event["from_service"]))
    text = f"BEGIN DIALOG to {event['to_service']}"
    sight = Sight(0, Shape.STATEMENT, (place, (instance,)), text)
    return Step(event["at"], sight, record.where)


def _event_about(event: Event, kind: EventKind) -> tuple[bool, int] | None:
    side, number = event["from_initiator"], event["sequence"]
    if kind is EventKind.CONVERSATION or side is None or number is None:
        return None
    return side, number


def _refusal(event: Event, instance: str, copies: Copies) -> Decided | None:
    """Return the routing decision that made a forwarder reject a copy, if routing was the cause."""
    number, attempt, at = event["error"], event["attempt"], event["at"]
    if not number or attempt is None:
        return None
    message_id = event["message_id"]
    about = None if message_id is None else uuid.UUID(message_id)
    decided = copies.refused(instance, about, attempt, at)
    if decided is None or decided.answer.decision.verdict not in _REFUSED:
        return None
    return decided if decided.answer.decision.error == number else None


def _event_facts(event: Event, kind: EventKind, copies: Copies) -> Iterator[tuple[str, str]]:
    yield "event", f"{int(kind)} {kind.title}"
    number = event["error"]
    if number:
        yield "number", f"{number}: {text_of(number)}"
    if event["detail"] and event["detail"] != text_of(number):
        yield "detail", str(event["detail"])
    if event["attempt"] is not None:
        yield "attempt", str(event["attempt"])
    if number == Number.DUPLICATE:
        yield "why", _why_again(event, copies)
    if number == Number.ANOTHER_INSTANCE_CONVERSES:
        yield "why", "several targets, and another instance answered first and owns the dialog"
    for name in ("path", "from_broker", "to_broker", "route", "next_hop", "hops_remaining"):
        if event.get(name) is not None:
            yield name.replace("_", " "), str(event[name]).replace(">", " > ")


def _why_again(event: Event, copies: Copies) -> str:
    attempt, message_id = event["attempt"], event["message_id"]
    if attempt is None:
        return "the copy is unknown"
    if attempt:
        return (
            f"the sender retried ({attempt}) because no acknowledgement arrived in time, but an "
            "earlier copy arrived after all"
        )
    about = None if message_id is None else uuid.UUID(message_id)
    paths = copies.paths(about, 0)
    if len(paths) > 1:
        return "its first copies took several paths, because more than one route leads here"
    return (
        "a forwarder on the path forwarded the first copy twice, because it was stopped before it "
        "committed its offset"
    )


def broken(record: Broken, scene: Scene) -> Step:
    """Return the step of a record that cannot be decoded."""
    ends: tuple[Place, ...] = ((scene.host(record.home),),) if record.home else ()
    sight = Sight(0, Shape.TROUBLE, ends, f"MALFORMED: {record.why}")
    return Step(record.at, sight, record.where)
