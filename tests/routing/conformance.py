"""The conformance table of the routing decision, and the part of the page that is made from it.

``python -m tests.routing.conformance --write`` rewrites that part of ``docs/conformance.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from streams.routing import Decision

from . import rows_deployments, rows_examples, rows_rules, rows_targets
from .rows import Kind, Row
from .rulings import RULINGS, Ruling

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
BEGIN, END = "<!-- routing: generated -->\n", "<!-- routing: end -->\n"

ROWS = (*rows_examples.ROWS, *rows_targets.ROWS, *rows_deployments.ROWS, *rows_rules.ROWS)


def rows_that_show(ruling: Ruling) -> tuple[Row, ...]:
    """Return the evidence for a ruling."""
    return tuple(row for row in ROWS if ruling.id in row.shows.split())


def in_words(decision: Decision) -> str:
    """Say a decision as the page says it."""
    where = [str(a) for a in decision.addresses] or list(decision.candidates)
    error = [str(int(decision.error))] if decision.error else []
    return " ".join([decision.verdict.value, *error, ", ".join(where)]).strip()


def generated() -> str:
    """Return the routing part of the page."""
    rulings = _table(
        ("rule", "in words", "verdict", "sources", "shown by"),
        (
            (r.id, r.words, r.verdict, r.sources, ", ".join(row.id for row in rows_that_show(r)))
            for r in RULINGS
        ),
    )
    rows = _table(
        ("row", "in words", "answer", "by", "source", "outcome"),
        ((r.id, r.says, in_words(r.expects), _by(r.expects), r.source, r.kind.value) for r in ROWS),
    )
    stated = sum(row.kind is Kind.DOC for row in ROWS)
    return (
        f"### Routing: the rules\n\n{rulings}\n### Routing: the rows\n\nThe source states the "
        f"outcome of {stated} of these {len(ROWS)} rows; that of the others is derived.\n\n{rows}"
    )


def rewritten(page: str) -> str:
    """Return the page with its routing part made anew."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n{generated()}\n{END}{tail}"


def _by(decision: Decision) -> str:
    return ", ".join([decision.step, *decision.routes]).strip(", ")


def _table(header: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    body = [header, tuple("---" for _ in header), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in body)


def main(arguments: list[str]) -> int:
    """Rewrite the page, or say whether it is stale."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = rewritten(page)
    if "--write" in arguments:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE} is stale: python -m tests.routing.conformance --write", file=sys.stderr)
    return int(page != wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
