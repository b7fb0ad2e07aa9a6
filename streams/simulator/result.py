"""The result of a run, with the keys of the JSON output."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streams.errors import EventKind
from streams.node.views import conversation_endpoint, transmission_queue
from streams.protocol import Dialog
from streams.simulator.clock import SECOND, START
from streams.simulator.facts import EmittedEvent, Facts, Queued
from streams.simulator.invariants import Violation
from streams.simulator.storage import Store, read_command, read_message
from streams.simulator.system import System

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run. Rows consist of plain values, and are derived from ``facts``.

    ``summary`` is the account of messages: ``sent`` = ``delivered`` + ``waiting`` + ``discarded`` +
    ``lost``. ``notes`` reports steps that had no effect.
    """

    seed: int
    events: tuple[Row, ...]
    queues: dict[str, list[Row]]
    endpoints: tuple[Row, ...]
    transmission_queue: tuple[Row, ...]
    summary: Row
    acts: tuple[Row, ...]
    received: tuple[Row, ...]
    notes: tuple[str, ...]
    violation: Violation | None
    ended_at: int
    facts: Facts

    @property
    def good(self) -> bool:
        """Return whether nothing was lost or duplicated, and no invariant was violated."""
        bad = self.summary["lost"] or self.summary["delivered_twice"]
        return self.violation is None and not bad

    def to_json(self) -> Row:
        """Return the result as a dictionary with the keys of the JSON output."""
        broken = self.violation
        return {
            "seed": self.seed,
            "events": list(self.events),
            "queues": self.queues,
            "endpoints": list(self.endpoints),
            "transmission_queue": list(self.transmission_queue),
            "summary": self.summary,
            "acts": list(self.acts),
            "received": list(self.received),
            "notes": list(self.notes),
            "violation": broken
            and {
                "invariant": broken.invariant,
                "at": broken.at / SECOND,
                "instance": broken.instance,
                "conversation": str(broken.conversation) if broken.conversation else None,
                "why": broken.why,
            },
        }


def result_of(run: System) -> Result:
    """Collect the result of a run; the views are computed from the durable state."""
    endpoints: list[Row] = []
    waiting: list[Row] = []
    ids: set[uuid.UUID] = set()
    for instance, store in run.stores():
        for dialog in store.state.restore().values():
            row = conversation_endpoint(instance, dialog, run.instances[instance].now)
            endpoints += [] if row is None else [row]
            for row, message_id in _transmission_queue(instance, store, dialog):
                waiting.append(row)
                ids.add(message_id)
            ids.update(_parked(store, dialog))
    return Result(
        run.seed,
        tuple(_event(emitted) for emitted in run.facts.events),
        _queues(run.facts.queued),
        tuple(endpoints),
        tuple(waiting),
        _summary(run.facts, ids),
        tuple(run.facts.acts),
        tuple(run.facts.received),
        tuple(run.notes),
        run.invariants.violation,
        run.clock.now,
        run.facts,
    )


def account(run: System) -> Row:
    """Return only the account of messages, the ``summary`` of a :class:`Result`."""
    ids: set[uuid.UUID] = set()
    for instance, store in run.stores():
        for dialog in store.state.restore().values():
            ids.update(message_id for _, message_id in _transmission_queue(instance, store, dialog))
            ids.update(_parked(store, dialog))
    return _summary(run.facts, ids)


def _event(emitted: EmittedEvent) -> Row:
    kind = EventKind(emitted.event["event"])
    row: Row = {**emitted.event, "at": emitted.at / SECOND, "name": kind.title}
    row["error"] = int(row["error"])
    for name in ("sent_at", "left_at"):
        if row.get(name) is not None:
            row[name] = (row[name] - START) / 1000
    return row


def _queues(queued: list[Queued]) -> dict[str, list[Row]]:
    queues: dict[str, list[Row]] = {}
    for instance, at, message, _ in queued:
        queues.setdefault(f"{instance}/{message.database}/{message.queue}", []).append(
            {
                "conversation": str(message.conversation),
                "sequence": message.header.sequence,
                "type": message.header.type,
                "body": message.body.decode("utf-8", "backslashreplace"),
                "at": at / SECOND,
                "service": message.parties.to_service,
                "path": [place for place, _ in message.journey.path],
            }
        )
    return dict(sorted(queues.items()))


def _transmission_queue(
    instance: str, store: Store, dialog: Dialog
) -> Iterator[tuple[Row, uuid.UUID]]:
    commands = store.topics.cmd
    rows = transmission_queue(instance, dialog, lambda at: read_command(commands[at]))
    for row in rows:
        position = dialog.stored(row["message_sequence_number"])[0]
        body = row["message_body"]
        row["message_body"] = None if body is None else body.decode("utf-8", "backslashreplace")
        yield row, read_command(commands[position]).message_id(dialog.conversation)


def _parked(store: Store, dialog: Dialog) -> Iterator[uuid.UUID]:
    """Yield messages that are parked at their target for a queue that is off (4.6)."""
    for number, position in dialog.parked:
        if number >= 0:
            yield read_message(store.topics.inbox[position]).header.message_id


def _summary(facts: Facts, waiting: set[uuid.UUID]) -> Row:
    """Account for every accepted message; messages without an explanation are lost."""
    copies = Counter(
        (q.home, q.message.database, q.message.header.message_id) for q in facts.queued
    )
    delivered = {message_id for _, _, message_id in copies}
    account = Counter(
        "delivered" if accepted.message_id in delivered
        else "waiting" if accepted.message_id in waiting
        else "discarded" if number in facts.discarded.get(direction, ())
        else "lost"
        for direction, number, accepted in facts.messages()
    )  # fmt: skip
    return {
        "sent": account.total(),
        "delivered": account["delivered"],
        "waiting": account["waiting"],
        "discarded": account["discarded"],
        "lost": account["lost"],
        "duplicates": facts.duplicates,
        "delivered_twice": sum(n - 1 for n in copies.values()),
        "dropped": {str(number): n for number, n in sorted(facts.dropped.items())},
    }
