"""What stands over a lifeline: events of the broker, and what the scenario does to the system."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

from streams.errors import EventKind, Number
from streams.node import Event
from streams.protocol import State
from streams.simulator.clock import SECOND
from streams.simulator.diagram.rows import Shape, Sight
from streams.simulator.facts import Told
from streams.simulator.scenario import Abort, Crash, Cut, Part, Skew, Sql, Step

_LONGEST_SQL = 120
_CODE = re.compile(rb"<Code>(-?\d+)</Code>")
_Words = tuple[Shape, str, int | None, str]


def error_code(body: bytes) -> str:
    """Return the number that the body of an Error message says."""
    found = _CODE.search(body)
    return found[1].decode() if found else "no number"


# --- events --------------------------------------------------------------------------------------


def event_sight(told: Told) -> Sight:
    """Return what an event shows: a note over its instance.

    The first event of an initiator is its statement: BEGIN DIALOG.
    """
    event = told.event
    instance = event["instance"]
    conversation = event.get("conversation")
    dialog = uuid.UUID(conversation) if conversation else None
    kind = EventKind(event["event"])
    if kind is EventKind.CONVERSATION and event.get("state") == State.SO.name:
        place = (instance, event["database"], event["from_service"])
        text = f"BEGIN DIALOG to {event['to_service']}"
        return Sight(told.at, Shape.STATEMENT, (place, (instance,)), text, dialog=dialog)
    words = _WORDS.get(kind, _other)(event)
    return Sight(told.at, words[0], ((instance,),), *words[1:], dialog=dialog)


def _conversation(event: Event) -> _Words:
    where, state = event.get("database", ""), event.get("state")
    text = f"{where}: {State[state].value}" if state else f"{where}:"
    if event["error"]:
        return Shape.TROUBLE, text, None, f" {_reason(event)}"
    return Shape.NOTE, text, None, ""


def _lock(event: Event) -> _Words:
    return Shape.NOTE, f"locked to {event.get('from_broker')}", None, ""


def _undeliverable(event: Event) -> _Words:
    if event["error"] == Number.DUPLICATE:
        attempt = event.get("attempt")
        rest = f", attempt {attempt}" if attempt else ""
        return Shape.NOTE, "duplicate of message", event.get("sequence"), rest
    return _refused("drops", event)


def _refused(verb: str, event: Event) -> _Words:
    number = event.get("sequence")
    what = "an acknowledgement" if number is None else "message"
    return Shape.TROUBLE, f"{verb} {what}", number, f": {_reason(event)}"


def _other(event: Event) -> _Words:
    title = EventKind(event["event"]).title.removeprefix("Broker:")
    return Shape.TROUBLE, f"{title}: {_reason(event)}", None, ""


def _reason(event: Event) -> str:
    number = f"{int(event['error'])} " if event["error"] else ""
    return f"{number}{event['detail']}".strip()


_WORDS: dict[EventKind, Callable[[Event], _Words]] = {
    EventKind.CONVERSATION: _conversation,
    EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT: _lock,
    EventKind.MESSAGE_UNDELIVERABLE: _undeliverable,
    EventKind.MESSAGE_CLASSIFY: lambda event: _refused("delays", event),
    EventKind.FORWARDED_MESSAGE_DROPPED: lambda event: _refused("drops", event),
}


# --- faults --------------------------------------------------------------------------------------


def fault_sights(step: Step) -> Iterator[Sight]:
    """Yield what a step does to the system, if it is none of an application."""
    match step.action:
        case Crash(part, instance, up):
            whose = "" if part is Part.INSTANCE else f"{part.value} "
            yield _fault(step, f"{whose}{'starts again' if up else 'crashes'}", instance)
        case Cut(link, up):
            yield _fault(step, "link is up again" if up else "link goes down", *link)
        case Skew(instance, by):
            yield _fault(step, f"clock is off by {by / SECOND:+g} s", instance)
        case Abort(instance, count):
            yield _fault(step, f"the next {count} transactions abort", instance)
        case Sql(instance, database, text):
            said = " ".join(text.split())
            short = said if len(said) <= _LONGEST_SQL else said[: _LONGEST_SQL - 1] + "…"
            yield _fault(step, f"{database}: {short}", instance)


def _fault(step: Step, text: str, *instances: str) -> Sight:
    return Sight(step.at, Shape.FAULT, tuple((name,) for name in instances), text)
