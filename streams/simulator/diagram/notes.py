"""Notes over a lifeline: events of the broker, and the scenario's faults."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from streams.diagram import Shape, Sight, event_words
from streams.errors import EventKind
from streams.prose import counted
from streams.protocol import State
from streams.simulator.clock import SECOND
from streams.simulator.facts import EmittedEvent
from streams.simulator.scenario import Abort, Crash, Cut, Part, Skew, Sql, Step

_LONGEST_SQL = 120


# --- events --------------------------------------------------------------------------------------


def event_sight(emitted: EmittedEvent) -> Sight:
    """Return the note of an event over its instance.

    The first event of an initiator is its BEGIN DIALOG statement.
    """
    event = emitted.event
    instance = event["instance"]
    conversation = event.get("conversation")
    dialog = uuid.UUID(conversation) if conversation else None
    kind = EventKind(event["event"])
    if kind is EventKind.CONVERSATION and event.get("state") == State.SO.name:
        place = (instance, event["database"] or "", event["from_service"] or "")
        text = f"BEGIN DIALOG to {event['to_service']}"
        return Sight(emitted.at, Shape.STATEMENT, (place, (instance,)), text, dialog=dialog)
    words = event_words(event)
    return Sight(emitted.at, words[0], ((instance,),), *words[1:], dialog=dialog)


# --- faults --------------------------------------------------------------------------------------


def fault_sights(step: Step) -> Iterator[Sight]:
    """Yield the effect of a step on the system, unless the step is a statement."""
    match step.action:
        case Crash(part, instance, up):
            of_part = "" if part is Part.INSTANCE else f"{part.value} "
            yield _fault(step, f"{of_part}{'starts again' if up else 'crashes'}", instance)
        case Cut(link, up):
            yield _fault(step, "link is up again" if up else "link goes down", *link)
        case Skew(instance, by):
            yield _fault(step, f"clock is off by {by / SECOND:+g} s", instance)
        case Abort(instance, count):
            text = counted(count, "transaction aborts", "transactions abort")
            yield _fault(step, f"the next {text}", instance)
        case Sql(instance, database, text):
            statement = " ".join(text.split())
            short = (
                statement if len(statement) <= _LONGEST_SQL else statement[: _LONGEST_SQL - 1] + "…"
            )
            yield _fault(step, f"{database}: {short}", instance)


def _fault(step: Step, text: str, *instances: str) -> Sight:
    return Sight(step.at, Shape.FAULT, tuple((name,) for name in instances), text)
