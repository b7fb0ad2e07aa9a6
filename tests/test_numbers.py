"""docs/numbers.md names every number that Hopline prints or sends, with the text of the code."""

from __future__ import annotations

import os
import re
from pathlib import Path

from streams.analysis.diagnose import CAUSES
from streams.analysis.diagnose.meanings import meaning
from streams.errors import EventKind, Number, text_of
from streams.errors.event_kinds import SUBCLASSES
from streams.topology.snapshot import STATUS_NUMBERS
from streams.topology.validate import RULES
from tests.conformance.page import rewritten, stale, table

PAGE = Path(__file__).parent.parent / "docs" / "numbers.md"


def listed() -> dict[int, list[str]]:
    """Return the cells of each row by number; a code that is sent is negative."""
    rows = re.findall(r"^\| -?(\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({number for number, _ in rows}) == len(rows), "a number is listed twice"
    return {int(number): cells.split(" | ") for number, cells in rows}


def only_sql_server() -> str:
    """Return the table of numbers that only ``hopline diagnose`` prints."""
    causes = {number: cause.code for cause in CAUSES for number in cause.numbers}
    ours = {int(number) for number in Number}
    rows = (
        (str(number), meaning(number), f"`{causes[number]}`")
        for number in STATUS_NUMBERS
        if number not in ours
    )
    return table(("number", "text", "cause"), rows)


def test_every_number_has_a_row_with_its_text_and_a_remedy() -> None:
    rows = listed()
    assert {int(n): text_of(n) for n in Number} == {int(n): rows[n][0] for n in Number}
    assert [n for n in Number if not all(rows[n])] == []


def test_remedies_of_routes_are_those_of_the_rules() -> None:
    rows = listed()
    wrong = [r.name for r in RULES if (r.number or 0) >= 9000 and rows[r.number][-1] != r.remedy]
    assert wrong == []


def test_every_event_has_a_row_with_its_name_and_subclasses() -> None:
    rows = listed()
    for kind in EventKind:
        name, _, subclasses = rows[kind]
        assert name == kind.title
        texts = SUBCLASSES.get(kind, {}).items()
        assert subclasses.strip() == ", ".join(f"{int(n)} {text}" for n, text in texts)


def test_numbers_of_diagnose_are_listed() -> None:
    """Rewrite them with ``REWRITE=1 pytest tests/test_numbers.py``."""
    blocks = {"diagnose": only_sql_server}
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("REWRITE"):
        PAGE.write_text(rewritten(page, blocks), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert stale(page, blocks) == []
