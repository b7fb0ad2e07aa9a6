"""Each rule for the correct use of Kafka names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "kafka_mapping.md"
NAMED = re.compile(r"`(\w+/test_\w+\.py)::(test_\w+)`")
RULES = re.compile(r"^\| (\d+)\. ", re.MULTILINE)


def test_every_test_that_a_rule_names_exists() -> None:
    named = NAMED.findall(PAGE.read_text("utf-8"))
    assert len(named) > 60
    missing = [f"{file}::{name}" for file, name in named if name not in functions(TESTS / file)]
    assert not missing


def test_no_rule_is_left_out() -> None:
    assert sorted({int(n) for n in RULES.findall(PAGE.read_text("utf-8"))}) == list(range(1, 13))


def functions(file: Path) -> set[str]:
    """Return the names of a file's functions; none if the file does not exist."""
    if not file.exists():
        return set()
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
