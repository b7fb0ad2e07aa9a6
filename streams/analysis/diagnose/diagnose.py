"""Walk the table of causes for every stuck message and every suspicious endpoint of a snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from uuid import UUID

from streams.analysis.diagnose.case import Case
from streams.analysis.diagnose.cause import Cause, Evidence
from streams.analysis.diagnose.context import context
from streams.analysis.diagnose.leaks import LONG, MANY, Side
from streams.analysis.diagnose.status import Status, read_status
from streams.analysis.diagnose.table import CAUSES, LEAKS
from streams.analysis.estate import Estate
from streams.routing import broker_key
from streams.topology import Instance, Source, Topology
from streams.topology.snapshot import (
    ConversationEndpoint,
    LiveInstance,
    QueuedMessage,
    Snapshot,
)

FLIGHT = 300.0
"""Seconds for which an unacknowledged message is nothing strange: retries are a minute apart."""
_EXAMPLES = 3
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Rows with one cause: how many, how old the oldest is (seconds), and what shows it.

    ``also``: causes further down that apply as well. ``conversations`` are a few of the dialogs,
    ``sources`` the places of their rows.
    """

    cause: Cause[Any]
    at: str
    of: str
    to: str
    count: int
    oldest: float | None
    evidence: Evidence
    also: tuple[Cause[Any], ...] = ()
    conversations: tuple[UUID, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def leak(self) -> bool:
        """Tell whether the rows are endpoints, and not messages."""
        return any(self.cause is cause for cause in LEAKS)

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis for scripts."""
        return {
            "cause": self.cause.code,
            "stage": self.cause.stage.value,
            "title": self.cause.title,
            "severity": "error" if self.cause.bad else "info",
            "rows": "endpoints" if self.leak else "messages",
            "count": self.count,
            "oldest_seconds": self.oldest,
            "at": self.at,
            "from": self.of,
            "to": self.to,
            "rule": self.cause.rule,
            "errors": list(self.cause.numbers),
            "remedy": self.cause.remedy,
            "evidence": list(self.evidence),
            "also": [cause.code for cause in self.also],
            "conversations": [str(conversation) for conversation in self.conversations],
            "rows_at": [str(source) for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class Diagnoses:
    """The answer: the heaviest first, and what could not be looked at.

    ``messages`` and ``endpoints``: how many rows were looked at.
    """

    snapshot: Snapshot
    found: tuple[Diagnosis, ...]
    messages: int
    endpoints: int

    @property
    def good(self) -> bool:
        """Tell whether nothing is stuck and nothing leaks."""
        return not any(diagnosis.cause.bad for diagnosis in self.found)

    def to_json(self) -> dict[str, Any]:
        """Return the answer for scripts."""
        live = self.snapshot.live.values()
        return {
            "instances": [i.name for i in live],
            "taken_at": {i.name: i.taken_at for i in live},
            "diagnoses": [diagnosis.to_json() for diagnosis in self.found],
            "missing": {i.name: list(i.missing) for i in live},
            "unread": {i.name: dict(i.unread) for i in live},
            "findings": [finding.to_json() for finding in self.snapshot.topology.findings],
            "summary": {
                "messages": self.messages,
                "stuck": self._sum(leak=False),
                "endpoints": self.endpoints,
                "leaked": self._sum(leak=True),
            },
        }

    def _sum(self, *, leak: bool) -> int:
        return sum(d.count for d in self.found if d.cause.bad and d.leak is leak)


def diagnose(snapshot: Snapshot, now: float, around: Topology | None = None) -> Diagnoses:
    """Say why rows are stuck; ``now`` (epoch seconds) counts where the snapshot has no time.

    ``around`` describes instances of which there is no snapshot: gateways, or the far side.
    """
    estate = Estate(_whole(snapshot.topology, around), snapshot.taken_at or now)
    found = [d for live in snapshot.live.values() for d in _messages(estate, snapshot, live)]
    found += [d for live in snapshot.live.values() for d in _leaks(estate, snapshot, live)]
    return Diagnoses(
        snapshot,
        tuple(sorted(found, key=lambda d: (not d.cause.bad, -d.count, d.cause.code, d.at, d.to))),
        sum(len(live.messages) for live in snapshot.live.values()),
        sum(len(live.endpoints) for live in snapshot.live.values()),
    )


def _whole(seen: Topology, around: Topology | None) -> Topology:
    if around is None:
        return seen
    known = {name.casefold() for name in seen.instances}
    more = {n: i for n, i in around.instances.items() if n.casefold() not in known}
    own = {n: _known_as(i, around.instance(n)) for n, i in seen.instances.items()}
    return Topology({**own, **more})


def _known_as(seen: Instance, said: Instance | None) -> Instance:
    """Return an instance with the addresses that a topology states for it: no view holds them."""
    if said is None:
        return seen
    return replace(
        seen,
        stated_address=said.stated_address,
        aliases=(*seen.aliases, *said.aliases),
        listeners=(*seen.listeners, *said.listeners),
    )


# --- Messages ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Group:
    """Rows that share everything that a cause looks at."""

    first: Any
    count: int = 0
    oldest: float | None = None
    conversations: list[UUID] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    def add(self, conversation: UUID | None, source: Source, age: float | None) -> None:
        self.count += 1
        if age is not None:
            self.oldest = age if self.oldest is None else max(self.oldest, age)
        new = conversation is not None and conversation not in self.conversations
        if conversation is not None and new and len(self.conversations) < _EXAMPLES:
            self.conversations.append(conversation)
        if len(self.sources) < _EXAMPLES:
            self.sources.append(source)


def _messages(estate: Estate, snapshot: Snapshot, live: LiveInstance) -> Iterator[Diagnosis]:
    instance = estate.topology.instances[live.name]
    sides = {endpoint.handle: endpoint for endpoint in live.endpoints}
    groups: dict[Hashable, _Group] = {}
    statuses: dict[str | None, Status] = {}
    for message in live.messages:
        if message.status not in statuses:
            statuses[message.status] = read_status(message.status, live.texts)
        status, side = statuses[message.status], sides.get(message.handle)
        age = _age(live, message.enqueued)
        old = age is None or age > FLIGHT
        key = (message.database, *_same(message, status), *_same_side(side, live), old)
        if key not in groups:
            database = instance.database(message.database) or instance.msdb
            case = Case(estate, snapshot, live, instance, database, message, status, side, old)
            groups[key] = _Group(case)
        groups[key].add(None if side is None else side.conversation, message.source, age)
    yield from _merged(_of_message(group) for group in groups.values())


def _same(message: QueuedMessage, status: Status) -> tuple[Hashable, ...]:
    wire = (message.to_service, message.to_broker, message.from_service, message.contract)
    return (*wire, status.number or status.text)


def _same_side(side: ConversationEndpoint | None, live: LiveInstance) -> tuple[Hashable, ...]:
    if side is None:
        return (None,)
    over = side.expires is not None and live.taken_at is not None and side.expires < live.taken_at
    return (side.initiator, side.state, side.far_broker, over)


def _age(live: LiveInstance, since: float | None) -> float | None:
    """Return an age in seconds, by the clock of the snapshot's own instance."""
    return None if since is None or live.taken_at is None else max(live.taken_at - since, 0.0)


def _of_message(group: _Group) -> Diagnosis:
    case: Case = group.first
    cause, found, also = _walk(CAUSES, case)
    evidence = tuple(dict.fromkeys((*found, *context(case))))
    return Diagnosis(
        cause, case.at, case.message.from_service or "", case.message.to_service, group.count,
        group.oldest, evidence, also, tuple(group.conversations), tuple(group.sources),
    )  # fmt: skip


def _walk(causes: Iterable[Cause[C]], case: C) -> tuple[Cause[C], Evidence, tuple[Cause[C], ...]]:
    """Return the first cause that applies, its evidence, and the bad ones after it."""
    hits = [(cause, found) for cause in causes if (found := cause.find(case))]
    (first, evidence), *rest = hits
    waiting = ("unexplained", "in-flight", "beyond-the-snapshot", "obstacle-gone")
    return first, evidence, tuple(cause for cause, _ in rest if cause.code not in waiting)


def _merged(found: Iterable[Diagnosis]) -> Iterator[Diagnosis]:
    """Put together what says the same of the same services."""
    groups: dict[Hashable, list[Diagnosis]] = {}
    for one in found:
        groups.setdefault((one.cause.code, one.at, one.of, one.to, one.evidence), []).append(one)
    for same in groups.values():
        ages = [d.oldest for d in same if d.oldest is not None]
        first = same[0]
        yield Diagnosis(
            first.cause, first.at, first.of, first.to, sum(d.count for d in same),
            max(ages, default=None), first.evidence, first.also,
            tuple(c for d in same for c in d.conversations)[:_EXAMPLES],
            tuple(s for d in same for s in d.sources)[:_EXAMPLES],
        )  # fmt: skip


# --- Endpoints -----------------------------------------------------------------------------------


def _leaks(estate: Estate, snapshot: Snapshot, live: LiveInstance) -> Iterator[Diagnosis]:
    groups: dict[Hashable, _Group] = {}
    pending = Counter(message.handle for message in live.messages)
    others = _Others(estate.topology, snapshot)
    for endpoint in live.endpoints:
        side = others.side(live, endpoint, pending[endpoint.handle])
        hit = next(((c, found) for c in LEAKS if (found := c.find(side))), None)
        if endpoint.system or hit is None:
            continue
        cause, _ = hit
        key = (cause.code, side.at, endpoint.service, endpoint.far_service)
        group = groups.setdefault(key, _Group((side, *hit)))
        group.add(endpoint.conversation, endpoint.source, side.age)
    for group in groups.values():
        side, cause, evidence = group.first
        if _suspicious(group, cause):
            yield Diagnosis(
                cause, side.at, side.endpoint.service or "", side.endpoint.far_service or "",
                group.count, group.oldest, evidence, (), tuple(group.conversations),
                tuple(group.sources),
            )  # fmt: skip


_CERTAIN = frozenset({"endpoints-expired", "closed-not-purged", "other-side-closed"})


def _suspicious(group: _Group, cause: Cause[Side]) -> bool:
    """Tell whether it is more than a dialog at work: old, many, or certain at any age."""
    if cause.code == "never-ended":
        return group.count >= MANY
    long = group.oldest is not None and group.oldest > LONG
    return cause.code in _CERTAIN or long or group.count >= MANY


class _Others:
    """The other sides of dialogs, found by broker id and conversation id."""

    def __init__(self, topology: Topology, snapshot: Snapshot) -> None:
        self._live = snapshot.live
        self._at: Mapping[str, tuple[str, str]] = {
            broker_key(d.broker_id): (i.name, d.name)
            for i in topology.instances.values()
            for d in i.databases.values()
        }
        self._known = {
            (live.name, e.database.casefold(), e.conversation, e.initiator): e
            for live in snapshot.live.values()
            for e in live.endpoints
        }

    def side(self, live: LiveInstance, endpoint: ConversationEndpoint, pending: int) -> Side:
        """Return an endpoint with what is known of it."""
        at = f"{live.name}/{endpoint.database}"
        far, peer = None, None
        place = self._at.get(broker_key(endpoint.far_broker)) if endpoint.far_broker else None
        if place is not None and self._complete(*place):
            far = "/".join(place)
            key = (place[0], place[1].casefold(), endpoint.conversation, not endpoint.initiator)
            peer = self._known.get(key)
        return Side(endpoint, at, live.taken_at, far, peer, pending)

    def _complete(self, instance: str, database: str) -> bool:
        """Tell whether all endpoints of a database are in the snapshot."""
        live = self._live.get(instance)
        if live is None or "conversation_endpoints" in live.missing:
            return False
        return database not in live.unread and (database, "conversation_endpoints") not in live.cut


__all__ = ["FLIGHT", "Diagnoses", "Diagnosis", "diagnose"]
