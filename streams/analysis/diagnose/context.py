"""Facts about a stuck message besides its cause: status, copies, peers."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.diagnose.case import Case, placed
from streams.analysis.diagnose.meanings import meaning
from streams.prose import counted


def context(case: Case) -> Iterator[str]:
    """Yield sentences that help to judge a cause."""
    yield from status_text(case)
    yield from _copies(case)
    yield from _far_sides(case)
    yield from _connections(case)


def status_text(case: Case) -> Iterator[str]:
    """Yield sentences that say what the last attempt reported."""
    if case.status.empty:
        yield "transmission_status is empty: no attempt was made, or the last one did not fail"
    elif case.status.number is None:
        yield f'"{case.status.text}"'
    else:
        number = case.status.number
        yield f"transmission_status reports {number}: {meaning(number)}"
        yield f'"{case.status.text}"'


def _copies(case: Case) -> Iterator[str]:
    if case.endpoint is None:
        return
    for live in case.snapshot.live.values():
        for copy in live.forwarded:
            own = copy.initiator is case.initiator
            if copy.conversation == case.endpoint.conversation and own:
                waits = f"a copy waits at {live.name} for {copy.next_hop or 'its next hop'}"
                spent = f"{copy.time_consumed or 0} of {copy.time_to_live or 0} s have elapsed"
                left = counted(copy.hops_remaining or 0, "hop")
                yield placed(f"{waits}: {spent}, {left} left", copy.source)


def _far_sides(case: Case) -> Iterator[str]:
    for target in case.targets:
        there = case.far_endpoint(target)
        if there is not None:
            expects = there.receive_sequence
            has = f"{target} has the dialog: state {there.state.value}, expects message {expects}"
            yield placed(has, there.source)


def _connections(case: Case) -> Iterator[str]:
    known = "dm_broker_connections" not in case.live.missing
    if case.leaves and known:
        online = sum(connection.online for connection in case.live.connections)
        all_ = counted(len(case.live.connections), "broker connection")
        yield f"{case.live.name} has {all_} ({online} online)"
