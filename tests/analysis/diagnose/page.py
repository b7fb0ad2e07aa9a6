"""The blocks of ``docs/diagnose.md`` that are made from the tables that run.

``python -m tests.analysis.diagnose`` makes them and the example anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streams.analysis.diagnose import CAUSES, LEAKS, QUEUES, Cause, diagnose, diagnoses_text
from streams.topology.snapshot import VIEWS, Scope, load_snapshot
from tests.analysis.diagnose.example import FOLDER, example, written
from tests.conformance.page import rewritten, table
from tests.snapshots import NOW

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "diagnose.md"


def _causes() -> str:
    return table(("", "cause", "errors", "rule", "remedy"), map(_row, CAUSES))


def _queues() -> str:
    return table(("", "cause", "errors", "rule", "remedy"), map(_row, QUEUES))


def _leaks() -> str:
    return table(("", "cause", "errors", "rule", "remedy"), map(_row, LEAKS))


def _row(cause: Cause[Any]) -> tuple[str, ...]:
    numbers = ", ".join(map(str, cause.numbers))
    cause_text = f"{cause.title} (`{cause.code}`)"
    return (
        cause.stage.value,
        cause_text,
        numbers,
        cause.rule.removeprefix("reference "),
        cause.remedy,
    )


def _views() -> str:
    rows = (
        (f"`{view.name}`", _from(view.name), ", ".join(view.columns)) for view in VIEWS.values()
    )
    return table(("view", "rows of", "columns that are read"), rows)


def _from(name: str) -> str:
    return "the instance" if VIEWS[name].scope is Scope.INSTANCE else "each database"


def example_text() -> str:
    """Return what the command prints for the example, as it is called on the page."""
    text = diagnoses_text(diagnose(load_snapshot(FOLDER), NOW))
    return text.replace(str(ROOT) + "/", "")


def _example() -> str:
    return f"    $ hopline diagnose docs/examples/stuck\n{_indented(example_text())}"


def _indented(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


BLOCKS: Mapping[str, Callable[[], str]] = {
    "causes": _causes,
    "queues": _queues,
    "leaks": _leaks,
    "views": _views,
    "example": _example,
}


def write() -> None:
    """Write the example and the page anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, document in example().items():
        (FOLDER / f"{name}.json").write_text(written(document), encoding="utf-8")
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), BLOCKS), encoding="utf-8")
