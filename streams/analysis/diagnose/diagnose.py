"""Explain why rows of a snapshot are stuck, and which dialogs leak."""

from __future__ import annotations

from dataclasses import replace

from streams.analysis.diagnose.endpoints import diagnose_endpoints
from streams.analysis.diagnose.messages import diagnose_messages
from streams.analysis.diagnose.queues import diagnose_queues
from streams.analysis.diagnose.report import Diagnoses, Diagnosis
from streams.analysis.estate import Estate
from streams.errors import UsageError
from streams.topology import Instance, Topology
from streams.topology.snapshot import Snapshot

_NEEDED = frozenset({"transmission_queue", "conversation_endpoints"})


def diagnose(snapshot: Snapshot, now: float, around: Topology | None = None) -> Diagnoses:
    """Explain why rows are stuck; ``now`` (epoch seconds) is used if the snapshot has no time.

    ``around`` describes instances without a snapshot: gateways, or the other side of dialogs.
    Raises UsageError if the snapshot lacks the views with messages and dialogs.
    """
    if all(set(live.missing) >= _NEEDED for live in snapshot.live.values()):
        raise UsageError(
            f"The snapshot has neither {' nor '.join(f'sys.{view}' for view in sorted(_NEEDED))}.",
            "Take it with the script that --script prints, or save these views as CSV.",
        )
    estate = Estate(_whole(snapshot.topology, around), snapshot.taken_at or now)
    found = [
        d for live in snapshot.live.values() for d in diagnose_messages(estate, snapshot, live)
    ]
    found += [d for live in snapshot.live.values() for d in diagnose_queues(estate, live)]
    found += [
        d for live in snapshot.live.values() for d in diagnose_endpoints(estate, snapshot, live)
    ]
    return Diagnoses(
        snapshot,
        tuple(sorted(found, key=_order)),
        sum(len(live.messages) for live in snapshot.live.values()),
        sum(len(live.endpoints) for live in snapshot.live.values()),
    )


def _order(d: Diagnosis) -> tuple[bool, bool, bool, int, str, str, str]:
    """Return the sort key: stuck and unread messages, leaks, then no problems."""
    return not d.cause.bad, d.leak, d.unread, -d.count, d.cause.code, d.at, d.to


def _whole(seen: Topology, around: Topology | None) -> Topology:
    if around is None:
        return seen
    known = {name.casefold() for name in seen.instances}
    more = {n: i for n, i in around.instances.items() if n.casefold() not in known}
    own = {n: _known_as(i, around.instance(n)) for n, i in seen.instances.items()}
    return Topology({**own, **more})


def _known_as(seen: Instance, stated: Instance | None) -> Instance:
    """Return an instance with the addresses that a topology states; no view contains them."""
    if stated is None:
        return seen
    return replace(
        seen,
        stated_address=stated.stated_address,
        aliases=(*seen.aliases, *stated.aliases),
        listeners=(*seen.listeners, *stated.listeners),
    )
