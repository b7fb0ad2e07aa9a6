"""The conformance table of the routing decision, and the part of the page that is made from it."""

from __future__ import annotations

from streams.routing import Decision
from tests.conformance.page import table

from . import rows_deployments, rows_examples, rows_rules, rows_targets
from .rows import Basis, RoutingExample
from .rulings import RULINGS, Ruling

ROWS = (*rows_examples.ROWS, *rows_targets.ROWS, *rows_deployments.ROWS, *rows_rules.ROWS)


def rows_that_show(ruling: Ruling) -> tuple[RoutingExample, ...]:
    """Return the evidence for a ruling."""
    return tuple(row for row in ROWS if ruling.id in row.shows.split())


def in_words(decision: Decision) -> str:
    """Format a decision as on the page."""
    where = [str(a) for a in decision.addresses] or list(decision.candidates)
    error = [str(int(decision.error))] if decision.error else []
    return " ".join([decision.verdict.value, *error, ", ".join(where)]).strip()


def generated() -> str:
    """Return the routing part of the page."""
    rulings = table(
        ("rule", "in words", "verdict", "sources", "shown by"),
        (
            (r.id, r.words, r.verdict, r.sources, ", ".join(row.id for row in rows_that_show(r)))
            for r in RULINGS
        ),
    )
    rows = table(
        ("row", "in words", "answer", "by", "source", "outcome"),
        ((r.id, r.says, in_words(r.expects), _by(r.expects), r.source, r.kind.value) for r in ROWS),
    )
    stated = sum(row.kind is Basis.DOC for row in ROWS)
    return (
        f"### Routing: the rules\n\n{rulings}\n### Routing: the rows\n\nThe source states the "
        f"outcome of {stated} of these {len(ROWS)} rows; the others are derived.\n\n{rows}"
    )


def _by(decision: Decision) -> str:
    return ", ".join([decision.step, *decision.routes]).strip(", ")
