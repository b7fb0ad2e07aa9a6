"""A path as a Mermaid flow chart: ways there drawn through, ways back dotted."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.analysis.answers import decided
from streams.analysis.network import State
from streams.analysis.path import Paths
from streams.analysis.text import failure_text
from streams.analysis.ways import Way


def path_mermaid(paths: Paths) -> str:
    """Return the chart, in Mermaid's own language."""
    chart = _Chart()
    for outcome in paths.outcomes:
        chart.way(outcome.way, "-->")
    backs: dict[int, Way] = {id(o.back): o.back for o in paths.outcomes if o.back is not None}
    for way in backs.values():
        chart.way(way, "-.->")
    return chart.text()


@dataclass(slots=True)
class _Chart:
    nodes: dict[str, str] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], dict[str, None]] = field(default_factory=dict)

    def way(self, way: Way, arrow: str) -> None:
        """Add a way's instances and the arrows between them."""
        for (state, step), (following, _) in zip(way.hops, way.hops[1:], strict=False):
            labels = self.edges.setdefault((self._node(state), arrow, self._node(following)), {})
            labels[decided(step) or step.decision.step] = None
        last, step = way.hops[-1]
        if way.ending.delivered:
            end = self._add(way.ending.at, f'(["{_quoted(way.ending.at)}"])')
        else:
            failure = failure_text(way.ending, step)
            end = self._add(failure, f'{{{{"{_quoted(failure)}"}}}}:::bad')
        self.edges.setdefault((self._node(last), arrow, end), {})

    def text(self) -> str:
        """Return the chart."""
        lines = ["flowchart LR", *(f"  {shape}" for shape in self.nodes.values())]
        for (one, arrow, other), labels in self.edges.items():
            label = f'|"{_quoted(", ".join(labels))}"|' if labels else ""
            lines.append(f"  {one} {arrow}{label} {other}")
        return "\n".join([*lines, "  classDef bad stroke:#c00,stroke-width:2px"]) + "\n"

    def _node(self, state: State) -> str:
        return self._add(state.instance, f'["{_quoted(state.instance)}"]')

    def _add(self, name: str, shape: str) -> str:
        if name not in self.nodes:
            self.nodes[name] = f"n{len(self.nodes)}{shape}"
        return f"n{list(self.nodes).index(name)}"


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
