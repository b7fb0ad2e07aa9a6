"""Check the causes of leaks for every conversation endpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from streams.analysis.diagnose.cause import Cause, Evidence
from streams.analysis.diagnose.group import Group
from streams.analysis.diagnose.leaks import LONG, MANY, Side
from streams.analysis.diagnose.report import Diagnosis
from streams.analysis.diagnose.table import LEAKS
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.prose import counted
from streams.routing import broker_key
from streams.topology import Role, Topology, queue_of
from streams.topology.snapshot import ConversationEndpoint, LiveInstance, Snapshot

_Hit = tuple[Side, Cause[Side], Evidence]


def diagnose_endpoints(
    estate: Estate, snapshot: Snapshot, live: LiveInstance
) -> Iterator[Diagnosis]:
    """Yield the suspicious conversation endpoints of one instance."""
    groups: dict[Hashable, Group[_Hit]] = {}
    pending = Counter(message.handle for message in live.messages)
    others = _Others(estate.topology, snapshot)
    for endpoint in live.endpoints:
        side = others.side(live, endpoint, pending[endpoint.handle])
        hit = next(((c, found) for c in LEAKS if (found := c.find(side))), None)
        if endpoint.system or hit is None:
            continue
        cause, _ = hit
        key = (cause.code, side.at, endpoint.service, endpoint.far_service)
        group = groups.setdefault(key, Group((side, *hit)))
        group.add(endpoint.conversation, endpoint.source, side.age)
    for group in groups.values():
        side, cause, evidence = group.first
        if _suspicious(group, cause):
            yield Diagnosis(
                cause, side.at, side.endpoint.service or "", side.endpoint.far_service or "",
                group.count, group.oldest, (*evidence, *_queue(estate, live, side.endpoint)), (),
                tuple(group.conversations), tuple(group.sources),
            )  # fmt: skip


def _queue(estate: Estate, live: LiveInstance, endpoint: ConversationEndpoint) -> Iterator[str]:
    """Yield sentences about the messages in the endpoint's queue, and its queue monitor's state."""
    instance = estate.topology.instances[live.name]
    database = instance.database(endpoint.database)
    queue = queue_of(database, endpoint.service or "") if database is not None else None
    if queue is None or database is None:
        return
    depth = live.depths.get((database.name, queue.name), 0)
    if depth:
        monitors = (
            m for m in live.monitors if (m.database, m.queue) == (database.name, queue.name)
        )
        state = next((f"; its monitor is {m.state}" for m in monitors if m.state), "")
        held = counted(depth, "message")
        yield f"queue {queue.name} holds {held} that no reader has received{state}"


_CERTAIN = frozenset({"endpoints-expired", "closed-not-purged", "other-side-closed"})


def _suspicious(group: Group[_Hit], cause: Cause[Side]) -> bool:
    """Return whether the endpoint is suspicious: old, one of many, or certainly a leak."""
    if cause.code == "never-ended":
        return group.count >= MANY
    long = group.oldest is not None and group.oldest > LONG
    return cause.code in _CERTAIN or long or group.count >= MANY


class _Others:
    """The other sides of dialogs, found by broker id and conversation id."""

    def __init__(self, topology: Topology, snapshot: Snapshot) -> None:
        self._live = snapshot.live
        self._at: dict[str, list[Home]] = {}
        for i in topology.instances.values():
            for d in i.databases.values():
                self._at.setdefault(broker_key(d.broker_id), []).append(Home(i, d))
        self._known = {
            (live.name, e.database.casefold(), e.conversation, e.initiator): e
            for live in snapshot.live.values()
            for e in live.endpoints
        }

    def side(self, live: LiveInstance, endpoint: ConversationEndpoint, pending: int) -> Side:
        """Return an endpoint with the known facts about it."""
        at = f"{live.name}/{endpoint.database}"
        far, peer = None, None
        places = self._places(endpoint.far_broker)
        peers = [(home, self._peer(home, endpoint)) for home in places if self._complete(home)]
        there = [(home, found) for home, found in peers if found is not None]
        if there:
            far, peer = str(there[0][0]), there[0][1]
        elif places and len(peers) == len(places):
            far = str(places[0])
        return Side(endpoint, at, live.taken_at, far, peer, pending)

    def _places(self, broker: str | None) -> list[Home]:
        """Return the databases with a broker id, active ones first.

        There may be several (TA-16, TA-17). A mirror or secondary has what its principal has.
        """
        homes = self._at.get(broker_key(broker), []) if broker else []
        own = [
            h
            for h in homes
            if h.database.mirror is None or h.database.mirror.role is Role.PRINCIPAL
        ]
        return sorted(own or homes, key=lambda home: not home.database.enabled)

    def _peer(self, home: Home, endpoint: ConversationEndpoint) -> ConversationEndpoint | None:
        at = (home.instance.name, home.database.name.casefold())
        return self._known.get((*at, endpoint.conversation, not endpoint.initiator))

    def _complete(self, home: Home) -> bool:
        """Return whether all endpoints of a database are in the snapshot."""
        live, database = self._live.get(home.instance.name), home.database.name
        if live is None or "conversation_endpoints" in live.missing:
            return False
        return database not in live.unread and (database, "conversation_endpoints") not in live.cut
