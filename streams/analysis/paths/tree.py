"""Paths as a tree: a line for each hop, with its rule and route."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from streams.analysis.answers import decided
from streams.analysis.explain_text import failure_text
from streams.analysis.paths.network import Ending, Step
from streams.analysis.paths.outline import Branch, End, Outline
from streams.analysis.paths.outside import outside_text
from streams.analysis.paths.path import Outcome, Paths
from streams.analysis.paths.path_graph import MessagePath
from streams.prose import counted, listed, percent, wrapped
from streams.topology import Finding

ENDS, FINDINGS = 10, 3
"""Maximum number of ends, and of findings, that an outline lists."""
_NAMES = 3

_RULES = {
    "M1": "a route names the service and the broker id",
    "M2": "a route names the service without a broker id",
    "M3": "routes name the service and broker ids; the dialog's hash selects one",
    "M4": "no route names the service; the configuration service is asked for a route",
    "M5": "a last-resort route, without a service name and a broker id",
    "M6": "no route, but a broker id is given and the service is in this instance",
    "M7": "no route matches",
    "REPLY": "a message from the target finds the initiator by its broker id",
}


@dataclass(slots=True)
class _Node:
    """A line of the tree; ``steps`` are the steps that lead to it."""

    label: str
    step: str = ""
    share: Fraction = Fraction(0)
    below: dict[object, _Node] = field(default_factory=dict)


def path_text(paths: Paths) -> str:
    """Return paths as a tree with one instance per line; common prefixes are drawn once.

    If there are more paths than the limit, similar paths share a line, and a table shows all ends.
    """
    tree = _outlined(paths, paths.outline) if paths.outline else _listed(paths)
    lines = [_head(paths), "", tree.label, *_drawn(tree, "")]
    if paths.outline:
        lines += ["", *_ends(paths.outline)]
    lines += _legend(_rules(tree))
    outside = outside_text(_ended(paths))
    lines += ["", *outside] if outside else []
    hazards = paths.hazards[:FINDINGS] if paths.outline else paths.hazards
    for finding in hazards:
        lines += ["", *_finding(finding)]
    if len(hazards) < len(paths.hazards):
        lines += ["", f"and {counted(len(paths.hazards) - len(hazards), 'more finding')}"]
    return "\n".join(lines) + "\n"


def _head(paths: Paths) -> str:
    count = counted(paths.ways, "path")
    return f"{paths.sender} -> {paths.to}: {paths.verdict.value}, {count}"


def _ended(paths: Paths) -> Iterator[tuple[Ending, Step]]:
    """Yield the ends of the listed paths, in both directions."""
    for outcome in paths.outcomes:
        for path in filter(None, (outcome.way, outcome.back)):
            yield path.ending, path.hops[-1][1]


def _root(paths: Paths) -> _Node:
    return _Node(f"{paths.sender.instance.name} ({paths.sender.database.name})")


# --- Each path separately -------------------------------------------------------------------------


def _listed(paths: Paths) -> _Node:
    root = _root(paths)
    for outcome in paths.outcomes:
        node, path, broker = root, outcome.way, paths.broker
        node.share += path.share
        for number, (_, step) in enumerate(path.hops):
            if number == len(path.hops) - 1:
                label = _end(path.ending, outcome, step)
            else:
                label = f"{path.hops[number + 1][0].instance} ({_by([step], broker)})"
            key = (label, str(step.address), step.decision.broker)
            node = node.below.setdefault(key, _Node(label, step.decision.step))
            node.share += path.share
            broker = step.decision.broker
    return root


def _end(ending: Ending, outcome: Outcome | Branch, step: Step) -> str:
    if not ending.delivered:
        return failure_text(ending, step)
    return f"delivered to {ending.at} ({_by([step], ending.broker)}); {_back(outcome.back)}"


# --- Similar steps on one line -------------------------------------------------------------------


def _outlined(paths: Paths, outline: Outline) -> _Node:
    root = _root(paths)
    for branch in outline.branches:
        root.below[id(branch)] = _node(branch, paths.broker)
    return root


def _node(branch: Branch, broker: str | None) -> _Node:
    first = branch.steps[0]
    if branch.ending is not None and not branch.ending.delivered:
        label = failure_text(branch.ending, first)
    elif branch.ending is not None:
        places = [step.ending.at for step in branch.steps if step.ending is not None]
        by = _by(branch.steps, branch.ending.broker)
        label = f"delivered to {_any_of(places)} ({by}); {_back(branch.back)}"
    else:  # of several steps that continue or loop, only the first is drawn
        names = [step.following.instance for step in branch.steps if step.following is not None]
        label = f"{_any_of(names)} ({_by(branch.steps, broker)})"
        label += ", and so on" if branch.more else ""
    node = _Node(label, first.decision.step, branch.share)
    for child in branch.below:
        node.below[id(child)] = _node(child, first.decision.broker)
    return node


def _ends(outline: Outline) -> Iterator[str]:
    yield "Where they end:"
    for end in outline.ends[:ENDS]:
        text = f"{percent(end.share):>7}  {_path_count(end)}: {_ending_text(end)}"
        yield from wrapped(text, "  ", " " * 11)
    left = outline.ends[ENDS:]
    if left:
        share = sum((end.share for end in left), Fraction(0))
        yield f"  {percent(share):>7}  in {counted(len(left), 'other place')}"


def _path_count(end: End) -> str:
    least, most = end.hops
    hops = f"{least} to {most}" if least < most else f"{most}"
    count = counted(end.path_count, "path")
    return f"{count} over {hops} instances" if most > 1 else count


def _ending_text(end: End) -> str:
    if end.ending.delivered:
        return f"delivered to {end.ending.at}; {_back(end.back)}"
    error = f", error {int(end.ending.error)}" if end.ending.error is not None else ""
    return f"{end.ending.disposition.value} at {end.ending.at}{error}"


# --- Words ---------------------------------------------------------------------------------------


def _drawn(node: _Node, indent: str) -> Iterator[str]:
    below = list(node.below.values())
    for number, child in enumerate(below):
        last = number == len(below) - 1
        share = f"{percent(child.share)}  " if len(below) > 1 else ""
        further = indent + ("   " if last else "│  ")
        first = f"{indent}{'└─' if last else '├─'} "
        rest = f"{further}{'│' if child.below else ' '} "
        yield from wrapped(share + child.label, first, rest)
        yield from _drawn(child, further)


def _rules(node: _Node) -> set[str]:
    found = {node.step} & set(_RULES)
    return found.union(*(_rules(child) for child in node.below.values()))


def _legend(rules: set[str]) -> list[str]:
    width = max(map(len, rules), default=0)
    return ["" for _ in rules][:1] + [f"{rule:<{width}}  {_RULES[rule]}" for rule in sorted(rules)]


def _by(steps: Sequence[Step], known: str | None) -> str:
    """Return the rule and route of steps, and the broker id where it is selected."""
    broker = steps[0].decision.broker
    routes = listed(dict.fromkeys(filter(None, map(decided, steps))), _NAMES)
    rule = " ".join(filter(None, (steps[0].decision.step, routes)))
    return rule if broker is None or broker == known else f"{rule}, broker id {broker}"


def _any_of(names: Iterable[str]) -> str:
    return listed(dict.fromkeys(names), _NAMES, "or")


def _back(back: MessagePath | None) -> str:
    if back is None or not back.ending.delivered:
        where = "" if back is None else f": {failure_text(back.ending, back.hops[-1][1])}"
        return f"NOT ACKNOWLEDGED{where}"
    between = [state.instance for state, _ in back.hops[1:-1]]
    if len(back.hops) == 1:
        return "acknowledged within the instance"
    if len(between) > _NAMES:
        return f"acknowledged over {len(between)} instances"
    return f"acknowledged over {', '.join(between)}" if between else "acknowledged directly"


def _finding(finding: Finding) -> list[str]:
    return [
        *wrapped(f"{finding.code}: {finding.message}.", "", "  "),
        *wrapped(finding.remedy, "  "),
    ]
