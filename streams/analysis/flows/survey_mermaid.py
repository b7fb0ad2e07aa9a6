"""A survey as a Mermaid flow chart: databases, services, and single points of failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.survey import FailurePoint, Survey
from streams.analysis.mermaid import mermaid_label
from streams.prose import percent
from streams.routing import broker_key


def survey_mermaid(survey: Survey) -> str:
    """Return the chart, with an arrow for each service and reached database."""
    chart = _Chart()
    for answer in survey.answers:
        chart.flow(answer)
    for point in survey.points(FailurePoint.INSTANCE):
        chart.single(point.name)
    return chart.text()


@dataclass(slots=True)
class _Chart:
    nodes: dict[str, tuple[str, str]] = field(default_factory=dict)
    lines: dict[str, None] = field(default_factory=dict)

    def flow(self, answer: FlowAnswer) -> None:
        """Add a flow's arrows through its single points of failure; a failing flow is dotted."""
        place, to = answer.flow.sender, answer.flow.to
        start = self._node(f"{place.instance.name}/{place.database.name}")
        for reached in answer.reached:
            over = answer.forth.redundancy[broker_key(reached.broker)].instances
            stops = [start, *(self._node(name) for name in over), self._node(reached.at)]
            share = "" if reached.share == 1 else f" {percent(reached.share)}"
            for one, other in pairwise(stops):
                self._arrow(one, "-->", f"{to}{share}", other)
        for failure in answer.failures:
            end = failure.ending
            number = f" {int(end.error)}" if end.error is not None else ""
            bad = self._node(f"{end.disposition.value} at {end.at}{number}", ":::bad")
            self._arrow(start, "-.->", to, bad)

    def single(self, name: str) -> None:
        """Mark a single point of failure."""
        self.lines[f"  class {self._node(name)} single"] = None

    def text(self) -> str:
        """Return the chart."""
        nodes = (f"  {name}{shape}" for name, shape in self.nodes.values())
        styles = (
            "  classDef bad stroke:#c00,stroke-width:2px",
            "  classDef single stroke:#c60,stroke-width:3px",
        )
        return "\n".join(["flowchart LR", *nodes, *self.lines, *styles]) + "\n"

    def _arrow(self, one: str, arrow: str, label: str, other: str) -> None:
        self.lines[f'  {one} {arrow}|"{mermaid_label(label)}"| {other}'] = None

    def _node(self, label: str, style: str = "") -> str:
        shape = f'["{mermaid_label(label)}"]{style}'
        name, _ = self.nodes.setdefault(label, (f"n{len(self.nodes)}", shape))
        return name
