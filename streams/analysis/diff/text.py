"""Format a difference as text: one block per flow, worst first, with losses and causes."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.diff.compare import Change, lost, spread_otherwise
from streams.analysis.diff.difference import Difference, FlowChange, Touched
from streams.analysis.diff.reach import Arrival, Loss, Reach, Target
from streams.analysis.explain_text import failure_text
from streams.prose import counted, percent, wrapped

_SHOWN = 6

_HEADS = {
    Change.STOPS: "STOPS",
    Change.MOVES: "MOVES",
    Change.REDUNDANCY: "LESS REDUNDANT",
    Change.PATH: "OTHER PATH",
    Change.BEGINS: "BEGINS",
}
_DOES = {
    Change.STOPS: ("stops", "stop"),
    Change.MOVES: ("moves", "move"),
    Change.REDUNDANCY: ("is less redundant", "are less redundant"),
    Change.PATH: ("changes its path", "change their path"),
    Change.BEGINS: ("begins", "begin"),
}


def difference_text(difference: Difference) -> str:
    """Return the text, wrapped to the output width unless names are longer."""
    if difference.same:
        lines = [f"Nothing changes for {_flows(difference.judged)}."]
    else:
        lines = [_summary(difference)]
    if difference.unreached:
        lines.append(_unreached(difference))
    for change in difference.changes:
        lines += ["", *_block(change)]
    return "\n".join(lines) + "\n"


def _flows(count: int) -> str:
    return "the one flow" if count == 1 else f"any of the {count} flows" if count else "no flow"


def _summary(difference: Difference) -> str:
    parts = (f"{n} {_DOES[change][n > 1]}" for change in Change if (n := difference.count(change)))
    changed, judged = len(difference.changes), difference.judged
    return f"{changed:,} of {counted(judged, 'flow')} {_differ(changed)}: {', '.join(parts)}."


def _unreached(difference: Difference) -> str:
    count = difference.unreached
    who = "It reaches" if difference.judged == 1 else f"{count} of them reach{'es' * (count == 1)}"
    return f"{who} no target that acknowledges, before or after; hopline flows explains why."


def _differ(count: int) -> str:
    return "changes" if count == 1 else "change"


def _block(change: FlowChange) -> Iterator[str]:
    yield from wrapped(f"{_HEADS[change.change]}  {change.flow}", "", "  ")
    for line in _change_lines(change):
        yield from wrapped(line, "  ", "    ")
    for why in _why(change):
        yield from wrapped(why, "    ", "      ")
    if change.touched.messages:
        yield from wrapped(_messages(change.touched), "  ", "    ")


def _change_lines(change: FlowChange) -> Iterator[str]:
    """Yield the lost targets, the new targets, and the number of remaining paths."""
    before, after = change.before, change.after
    gone = lost(before, after)
    for target in gone:
        only = target in change.open_only
        what = "reached by open dialogs only" if only else "no longer reached"
        yield f"{what}: {_named(target, before)}"
    if after.unreachable > before.unreachable and after.arrivals:
        yield f"{percent(after.unreachable)} of the dialogs reach no target"
    for target in lost(after, before):
        yield f"now reached: {_named(target, after)}"
    if not gone and spread_otherwise(before, after):
        yield "the dialogs are distributed differently among the reached databases"
    if change.splits:
        yield "one dialog can reach several of these databases now (TA-12)"
    for target, arrival in after.arrivals.items():
        if target in before.arrivals:
            yield _still(target, before.arrivals[target], arrival)


def _named(target: Target, reach: Reach) -> str:
    arrival = reach.arrivals[target]
    share = f", {percent(arrival.share)} of the messages" if arrival.share < 1 else ""
    return f"{target.at} (broker id {arrival.broker}){share}"


def _still(target: Target, old: Arrival, new: Arrival) -> str:
    if (old.path_count, old.returns) == (new.path_count, new.returns):
        return f"still reached: {target.at}"
    there = _path_count(old.path_count, new.path_count)
    back = "" if old.returns == new.returns else f", back {_path_count(old.returns, new.returns)}"
    return f"still reached: {target.at}, {there}{back}"


def _path_count(before: int, after: int) -> str:
    text = counted(after, "path")
    return text if before == after else f"{text} instead of {before:,}"


# --- Why -----------------------------------------------------------------------------------------


def _why(change: FlowChange) -> Iterator[str]:
    """Yield the reasons: a missing object, or else the new losses and the changed steps."""
    if change.after.missing is not None:
        yield change.after.missing
        return
    if change.change is Change.BEGINS:
        return
    reasons = dict.fromkeys((*map(_lost_at, change.losses), *_otherwise(change)))
    yield from list(reasons)[:_SHOWN]
    if len(reasons) > _SHOWN:
        yield f"and {len(reasons) - _SHOWN} more; see --format json"


def _lost_at(loss: Loss) -> str:
    where = f"at {loss.state.instance}" + (" on the return path" if loss.leg == "back" else "")
    return f"{where}, rule {loss.step.decision.step}: {failure_text(loss.ending, loss.step)}"


def _otherwise(change: FlowChange) -> Iterator[str]:
    """Yield steps that are no longer taken, unless a loss includes them, and new steps."""
    here = {(leg, instance) for leg, instance, _ in change.after.edges}
    here -= {(loss.leg, loss.state.instance) for loss in change.losses}
    for leg, instance, to in change.left:
        if (leg, instance) in here:
            yield f"{_leg(leg)} {instance} no longer sends to {to}"
    for leg, instance, to in change.taken:
        yield f"{_leg(leg)} {instance} now sends to {to}"


def _leg(leg: str) -> str:
    return "return path:" if leg == "back" else "outbound path:"


# --- Messages ------------------------------------------------------------------------------------


def _messages(touched: Touched) -> str:
    if not touched.count:
        return f"none of its {touched.messages:,} captured messages is affected"
    parts = ", ".join(f"{n:,} {_DOES[c][n > 1]}" for c, n in touched.changed.items())
    return f"captured messages affected: {touched.count:,} of {touched.messages:,} ({parts})"
