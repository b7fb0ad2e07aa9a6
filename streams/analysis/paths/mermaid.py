"""Paths as a Mermaid flow chart: outbound paths solid, return paths dotted."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.analysis.answers import decided
from streams.analysis.explain_text import failure_text
from streams.analysis.mermaid import mermaid_label
from streams.analysis.paths.network import State
from streams.analysis.paths.path import Paths
from streams.analysis.paths.path_graph import MessagePath
from streams.prose import counted

EDGES = 500
"""Mermaid's default maximum number of arrows."""
FINDINGS = 3
"""Maximum number of findings next to the chart."""


def path_mermaid(paths: Paths) -> str:
    """Return the chart in Mermaid's language, with a limited number of paths."""
    chart, backs, drawn = _Chart(), dict[int, MessagePath](), 0
    for outcome in paths.outcomes:
        back = outcome.back
        more = len(outcome.way.hops) + (len(back.hops) if back and id(back) not in backs else 0)
        if len(chart.edges) + sum(len(path.hops) for path in backs.values()) + more > EDGES:
            break
        chart.path(outcome.way, "-->")
        drawn += 1
        if back is not None:
            backs[id(back)] = back
    for path in backs.values():
        chart.path(path, "-.->")
    for finding in paths.hazards[:FINDINGS]:
        chart.note(f"{finding.code}: {finding.message}", "bad")
    if len(paths.hazards) > FINDINGS:
        chart.note(f"and {counted(len(paths.hazards) - FINDINGS, 'more finding')}", "bad")
    if drawn < paths.ways:
        chart.note(f"{drawn} of {paths.ways:,} paths are drawn")
    return chart.text()


@dataclass(slots=True)
class _Chart:
    nodes: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], dict[str, None]] = field(default_factory=dict)

    def path(self, path: MessagePath, arrow: str) -> None:
        """Add a path's instances and the arrows between them."""
        for (state, step), (following, _) in zip(path.hops, path.hops[1:], strict=False):
            labels = self.edges.setdefault((self._node(state), arrow, self._node(following)), {})
            labels[f"{step.decision.step} {decided(step)}".strip()] = None
        last, step = path.hops[-1]
        if path.ending.delivered:
            end = self._add(("in", path.ending.at), '(["{}"])', path.ending.at)
        else:
            failure = failure_text(path.ending, step)
            end = self._add(("failure", failure), '{{{{"{}"}}}}:::bad', failure)
        self.edges.setdefault((self._node(last), arrow, end), {})

    def note(self, text: str, style: str = "") -> None:
        """Add a remark next to the chart."""
        self._add(("note", text), '>"{}"]' + (f":::{style}" if style else ""), text)

    def text(self) -> str:
        """Return the chart."""
        lines = ["flowchart LR", *(f"  {name}{shape}" for name, shape in self.nodes.values())]
        for (one, arrow, other), labels in self.edges.items():
            label = f'|"{mermaid_label(", ".join(labels))}"|' if labels else ""
            lines.append(f"  {one} {arrow}{label} {other}")
        return "\n".join([*lines, "  classDef bad stroke:#c00,stroke-width:2px"]) + "\n"

    def _node(self, state: State) -> str:
        return self._add(("instance", state.instance), '["{}"]', state.instance)

    def _add(self, key: tuple[str, str], shape: str, text: str) -> str:
        made = (f"n{len(self.nodes)}", shape.format(mermaid_label(text)))
        return self.nodes.setdefault(key, made)[0]
