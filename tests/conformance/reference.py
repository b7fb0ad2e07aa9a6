"""The rules of the reference: ``reference.yaml`` has one line for each rule, with its verdict.

The evidence for a rule is found automatically: tests that are marked with ``shows`` and its id,
rows of the routing table that show it or are named after it, and the two topologies of a finding. A
line may name other ids (``by``) and tests (``tests``) as further evidence. A test fails if a line
has a verdict without evidence, or has "not yet" although there is evidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.findings.folders import FOLDERS
from tests.routing.conformance import ROWS

from .evidence import LEVELS, evidence, level_of
from .page import table

FILE = Path(__file__).with_name("reference.yaml")
CHECKED = tuple(
    f"findings/test_findings::{test}"
    for test in ("test_one_topology_triggers_it", "test_the_other_does_not")
)
"""The evidence for a rule of 8.4: one topology triggers its finding, and another does not."""
SHOWN = ("same", "stronger", "weaker")
VERDICTS = (*SHOWN, "left out", "not yet")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; ``why`` is the reason of any verdict other than "same" and "not yet"."""

    id: str
    says: str
    verdict: str
    why: str = ""
    by: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Return the rows of the routing table that show the rule."""
        ids = {self.id, *self.by}
        return tuple(r.id for r in ROWS if ids & set(r.shows.split()) or self._is_named_by(r.id))

    @property
    def shown(self) -> tuple[str, ...]:
        """Return every test that shows the rule; rows of the routing table count as one test."""
        found = [test for i in (self.id, *self.by) for test in evidence().get(i, ())]
        rows = ["routing/test_conformance::test_row"] if self.rows else []
        checks = CHECKED if (FOLDERS / self.id).is_dir() else ()
        return tuple(dict.fromkeys([*rows, *checks, *found, *self.tests]))

    @property
    def levels(self) -> tuple[str, ...]:
        """Return the levels of its tests, from the pure decision to Kafka."""
        found = {level_of(test) for test in self.shown}
        return tuple(level for level in LEVELS if level in found)

    def _is_named_by(self, row: str) -> bool:
        return self.id.startswith("EX-") and row.rstrip("abcdefgh") == self.id


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the reference, with its parts and its rules."""

    number: str
    title: str
    parts: tuple[str, ...]
    rules: tuple[Rule, ...]


@cache
def read() -> tuple[Section, ...]:
    """Return the content of the reference's file."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple(
        Section(
            str(s["section"]),
            s["title"],
            tuple(s.get("parts", ())),
            tuple(_rule(r) for r in s.get("rules", ())),
        )
        for s in document
    )


def rules() -> tuple[Rule, ...]:
    """Return every rule."""
    return tuple(rule for section in read() for rule in section.rules)


def _rule(line: dict[str, Any]) -> Rule:
    lists = {name: tuple(line.pop(name, ())) for name in ("by", "tests")}
    return Rule(**{**line, "id": str(line["id"])}, **lists)


def sections() -> str:
    """Return the table of the reference's sections."""
    lines = ((s.number, s.title, "<br>".join(s.parts)) for s in read())
    return table(("section", "title", "parts"), lines)


def generated() -> str:
    """Return the block of the page: the number of rules for each verdict, and every rule."""
    counts = [f"{sum(r.verdict == v for r in rules())} {v}" for v in VERDICTS]
    header = ("rule", "in words", "verdict", "level", "shown by")
    tables = [
        f"### {s.number} {s.title}\n\n{table(header, map(_cells, s.rules))}"
        for s in read()
        if s.rules
    ]
    return f"{len(rules())} rules: {', '.join(counts)}.\n\n" + "\n".join(tables)


def _cells(rule: Rule) -> tuple[str, ...]:
    verdict = f"{rule.verdict}: {rule.why}" if rule.why else rule.verdict
    return rule.id, rule.says, verdict, ", ".join(rule.levels), "<br>".join(_shown_by(rule))


def _shown_by(rule: Rule) -> Iterable[str]:
    if rule.rows:
        yield f"rows {', '.join(rule.rows)}"
    yield from (test for test in rule.shown if not test.endswith("::test_row"))
