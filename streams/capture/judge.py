"""Judge captured dialogs under two topologies; used by this process and by Spark."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from streams.analysis.diff import (
    NOTHING,
    Change,
    Dialogs,
    Direction,
    Touched,
    summed,
)
from streams.analysis.estate import Estate
from streams.capture.container import CaptureReader
from streams.capture.dialogs import UNREADABLE, Arrival, Begin, DialogTalk, Party, TalkReader, merge
from streams.capture.group import group
from streams.routing import broker_key
from streams.system_names import is_current_database
from streams.topology import Database, Topology, homes_of


class Standing(Enum):
    """Whether captured messages could be judged, and if not, why."""

    JUDGED = "judged"
    UNKNOWN_SENDER = "unknown sender"
    NO_BEGIN = "no begin"
    UNREADABLE = "unreadable"


class DialogRow(NamedTuple):
    """The messages of one side of a captured dialog, and their destinations.

    ``flow`` is the flow of the dialog, as begun by its initiator; ``before`` and ``after`` are the
    destination databases (``instance/database``). ``arrived`` counts messages in queues of the
    capture, ``elsewhere`` the arrived messages in databases that are not in ``before``.
    """

    conversation: str
    from_initiator: bool
    flow: Direction | None
    messages: int
    standing: Standing
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    change: Change | None = None
    arrived: int = 0
    elsewhere: int = 0


@dataclass(frozen=True, slots=True)
class Judge:
    """The two topologies to compare, at the time ``now`` (epoch seconds); sent to executors."""

    old: Topology
    new: Topology
    now: float

    def talk_reader(self, prefix: str) -> TalkReader:
        """Return a reader for a capture with this topic prefix."""
        return TalkReader.of(prefix, {**homes_of(self.new), **homes_of(self.old)})

    def rows(self, talks: Iterable[DialogTalk]) -> Iterator[DialogRow]:
        """Judge complete dialogs; each id occurs once, with its whole talk."""
        dialogs = Dialogs(Estate(self.old, self.now), Estate(self.new, self.now))
        for conversation, talk in talks:
            for party, messages in talk.sent:
                row = self._row(dialogs, conversation, talk.begin, party, messages)
                yield row if row.standing is not Standing.JUDGED else _compared(row, talk.arrived)

    def _row(
        self, dialogs: Dialogs, conversation: str, begin: Begin | None, party: Party, messages: int
    ) -> DialogRow:
        if begin is None:
            unread = conversation == UNREADABLE
            standing = Standing.UNREADABLE if unread else Standing.NO_BEGIN
            return DialogRow(conversation, party.from_initiator, None, messages, standing)
        flow, home = self._flow(begin)
        direction = flow
        if not party.from_initiator:
            direction = Direction(
                party.instance, party.database, begin.to, begin.service, home, from_initiator=False
            )
        fate = dialogs.fate(direction, uuid.UUID(conversation))
        standing = Standing.JUDGED if fate.known else Standing.UNKNOWN_SENDER
        return DialogRow(
            conversation, party.from_initiator, flow, messages, standing, fate.before, fate.after,
            fate.change,
        )  # fmt: skip

    def _flow(self, begin: Begin) -> tuple[Direction, str | None]:
        """Return a dialog's flow, and the broker id of its initiator's database."""
        homes = (_database(t, begin.instance, begin.database) for t in (self.old, self.new))
        home = next((d.broker_id for d in homes if d is not None), None)
        broker = begin.broker
        if broker is not None:
            own = is_current_database(broker) and home is not None
            broker = broker_key(home if own and home is not None else broker)
        flow = Direction(begin.instance, begin.database, begin.service, begin.to, broker)
        return flow, home


def _compared(row: DialogRow, arrived: Iterable[tuple[Arrival, int]]) -> DialogRow:
    """Compare the old topology's prediction with the actual arrivals."""
    ours = [(a.at, count) for a, count in arrived if a.from_initiator is row.from_initiator]
    elsewhere = sum(count for at, count in ours if at not in row.before)
    return row._replace(arrived=sum(count for _, count in ours), elsewhere=elsewhere)


def _database(topology: Topology, instance: str, name: str) -> Database | None:
    found = topology.instance(instance)
    return None if found is None else found.database(name)


def judge_captures(files: Iterable[Path], judge: Judge) -> Iterator[DialogRow]:
    """Judge every dialog of some captures, in the order of their ids, in constant memory.

    Raises InputError for an incomplete capture.
    """
    readers = [CaptureReader(file) for file in files]
    talks = chain.from_iterable(talks_in(reader, judge) for reader in readers)
    yield from judge.rows(group(talks, merge))


def talks_in(reader: CaptureReader, judge: Judge) -> Iterator[DialogTalk]:
    """Yield the talks of dialogs in a capture, in the order of its records."""
    talk_reader = judge.talk_reader(reader.metadata.prefix)
    for record in reader:
        yield from talk_reader.read(record.topic, record.key, record.headers)


# --- Counted -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of rows: messages by whether they could be judged, and changes by flow.

    ``arrived`` counts judged messages in queues of the capture, ``elsewhere`` the arrived messages
    in places to which the old topology does not send them.
    """

    messages: Mapping[Standing, int] = field(default_factory=dict)
    flows: Mapping[Direction, Touched] = field(default_factory=dict)
    arrived: int = 0
    elsewhere: int = 0

    def plus(self, other: Tally) -> Tally:
        """Return the sum of two results."""
        messages = Counter(self.messages)
        messages.update(other.messages)
        flows = {
            flow: summed((self.flows.get(flow, NOTHING), other.flows.get(flow, NOTHING)))
            for flow in (*self.flows, *other.flows)
        }
        arrived, elsewhere = self.arrived + other.arrived, self.elsewhere + other.elsewhere
        return Tally(dict(messages), flows, arrived, elsewhere)

    def to_json(self) -> dict[str, int]:
        """Return the numbers of messages as a dictionary for JSON output."""
        every = {s.name.lower(): self.messages.get(s, 0) for s in Standing}
        found = {"arrived": self.arrived, "elsewhere": self.elsewhere}
        return {"messages": sum(every.values()), **every, **found}


def tally(rows: Iterable[DialogRow]) -> Tally:
    """Count rows; memory is bounded by the number of flows."""
    messages: Counter[Standing] = Counter()
    totals: Counter[Direction] = Counter()
    changed: dict[Direction, Counter[Change]] = {}
    arrived = elsewhere = 0
    for row in rows:
        arrived, elsewhere = arrived + row.arrived, elsewhere + row.elsewhere
        messages[row.standing] += row.messages
        if row.flow is not None:
            totals[row.flow] += row.messages
            if row.change is not None:
                changed.setdefault(row.flow, Counter())[row.change] += row.messages
    flows = {f: Touched(n, dict(changed.get(f, {}))) for f, n in totals.items()}
    return Tally(dict(messages), flows, arrived, elsewhere)
