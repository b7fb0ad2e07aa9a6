"""Compare two topologies flow by flow: flows that stop, move, change paths or lose redundancy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streams.analysis.answers import decided
from streams.analysis.diff.compare import Change, compare_flows, lost, rank, worst
from streams.analysis.diff.course import Course
from streams.analysis.diff.reach import Direction, Edge, Loss, Reach, Target
from streams.analysis.estate import Estate
from streams.analysis.flows.flows import flows_of
from streams.routing import broker_key

LISTED = 20
"""The number of failing steps listed per flow."""


@dataclass(frozen=True, slots=True)
class Touched:
    """The number of a flow's captured messages, and the number affected by each kind of change."""

    messages: int = 0
    changed: Mapping[Change, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of changed messages."""
        return sum(self.changed.values())


NOTHING = Touched()


@dataclass(frozen=True, slots=True)
class FlowChange:
    """A changed flow.

    ``losses`` are the new losses, ``left`` are the steps of working paths that are no longer taken,
    and ``taken`` are the steps of new working paths. ``splits``: one dialog can now reach several
    databases (TA-12), which was impossible before. ``open_only`` are databases that no new dialog
    reaches, but open dialogs still do, because they name the database's broker id.
    """

    flow: Direction
    change: Change
    before: Reach
    after: Reach
    losses: tuple[Loss, ...]
    left: tuple[Edge, ...]
    taken: tuple[Edge, ...]
    splits: bool
    touched: Touched = NOTHING
    open_only: tuple[Target, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the change as a dictionary with the keys of the JSON output."""
        return {
            "from": self.flow.sender,
            "to": self.flow.to,
            "broker": self.flow.broker,
            "change": self.change.value,
            "before": _reach_json(self.before),
            "after": _reach_json(self.after),
            "failures": [_loss_json(loss) for loss in self.losses[:LISTED]],
            "several_targets": self.splits,
            "open_dialogs_only": [target.at for target in self.open_only],
            "messages": self.touched.count,
            "messages_by_change": {c.value: n for c, n in self.touched.changed.items()},
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """The result of a comparison: the changed flows, worst first, and the number of all flows.

    ``unreached``: the number of unchanged flows that reach no database in either topology, because
    "unchanged" must not be read as good news.
    """

    changes: tuple[FlowChange, ...]
    judged: int
    unreached: int = 0

    @property
    def same(self) -> bool:
        """Return whether nothing changes."""
        return not self.changes

    def count(self, change: Change) -> int:
        """Return the number of flows with this change."""
        return sum(1 for c in self.changes if c.change is change)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a dictionary with the keys of the JSON output."""
        return {
            "flows": [change.to_json() for change in self.changes],
            "summary": {
                **{change.value: self.count(change) for change in Change},
                "judged": self.judged,
                "unreached": self.unreached,
            },
        }


def directions(estate: Estate) -> Iterator[Direction]:
    """Yield a topology's flows."""
    for flow in flows_of(estate):
        place = flow.sender
        broker = None if flow.broker is None else broker_key(flow.broker)
        yield Direction(place.instance.name, place.database.name, place.service, flow.to, broker)


def compare_topologies(
    old: Estate, new: Estate, touched: Mapping[Direction, Touched] | None = None
) -> Difference:
    """Compare every flow of either topology.

    ``touched`` contains captured messages by flow; flows that only the capture has are also
    compared. For a flow that only the new topology has, the only possible change is that it starts
    to work.
    """
    seen = touched or {}
    meant = {*directions(old), *seen}
    found = [_judge(old, new, flow, seen.get(flow, NOTHING)) for flow in meant]
    added = [_judge(old, new, flow, NOTHING) for flow in {*directions(new)} - meant]
    found += [c for c in added if isinstance(c, FlowChange) and c.change is Change.BEGINS]
    changes = sorted((c for c in found if isinstance(c, FlowChange)), key=_order)
    unreached = sum(1 for c in found if isinstance(c, Reach) and not c.arrivals)
    return Difference(tuple(changes), len(found), unreached)


def _judge(old: Estate, new: Estate, flow: Direction, touched: Touched) -> FlowChange | Reach:
    """Return the change to a flow or, if nothing changes, the flow's reach in the old topology."""
    one, other = Course(old, flow), Course(new, flow)
    before, after = one.reach(), other.reach()
    open_only = tuple(t for t in lost(before, after) if _keeps_dialogs(new, flow, t))
    change = worst((compare_flows(before, after, open_only), *touched.changed))
    if change is None:
        return before
    known = {loss.like for loss in one.losses()}
    losses = sorted((x for x in other.losses() if x.like not in known), key=_place)
    return FlowChange(
        flow, change, before, after, tuple(losses), _steps(before.edges - other.taken()),
        _steps(after.edges - one.taken()), other.splits() and not one.splits(), touched, open_only,
    )  # fmt: skip


def _keeps_dialogs(new: Estate, flow: Direction, target: Target) -> bool:
    """Return whether open dialogs with a target still reach it by its broker id.

    A flow that names a broker id has no dialogs with other broker ids.
    """
    if flow.broker is not None:
        return False
    return target in Course(new, replace(flow, broker=target.broker)).reach().arrivals


def _place(loss: Loss) -> tuple[str, ...]:
    # "there" before "back", in the order in which they happen.
    return "" if loss.leg == "there" else loss.leg, loss.state.instance, str(loss.step.address)


def _steps(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (edge[0] != "there", edge)))


def _order(change: FlowChange) -> tuple[Any, ...]:
    return rank(change.change), -change.touched.count, change.flow.key


def summed(touched: Iterable[Touched]) -> Touched:
    """Add up several counts of one flow."""
    messages, changed = 0, Counter[Change]()
    for one in touched:
        messages += one.messages
        changed.update(one.changed)
    return Touched(messages, dict(sorted(changed.items(), key=lambda item: rank(item[0]))))


def _reach_json(reach: Reach) -> dict[str, Any]:
    return {
        "reached": [
            {
                "at": target.at,
                "broker": arrival.broker,
                "share": float(arrival.share),
                "ways": arrival.path_count,
                "returns": arrival.returns,
            }
            for target, arrival in reach.arrivals.items()
        ],
        "ways": sum(arrival.path_count for arrival in reach.arrivals.values()),
        "stranded": float(reach.unreachable),
        "missing": reach.missing,
    }


def _loss_json(loss: Loss) -> dict[str, Any]:
    step, ending = loss.step, loss.ending
    return {
        "leg": loss.leg,
        "instance": loss.state.instance,
        "rule": step.decision.step,
        "route": decided(step),
        "broker": step.decision.broker,
        "next_hop": None if step.address is None else str(step.address),
        "disposition": ending.disposition.value,
        "error": None if ending.error is None else int(ending.error),
    }
