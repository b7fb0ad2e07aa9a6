"""List the tests, and the rules that each test shows."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]

LEVELS = {
    "decision": ("routing", "analysis", "topology", "findings"),
    "in memory": ("protocol", "node", "wire", "services", "foreign"),
    "simulator": ("simulator",),
    "Kafka": (
        "workers",
        "client",
        "cli",
        "report",
        "faults",
        "demo",
        "kafka",
        "capture",
        "parity",
        "live",
        "agents",
    ),
}
"""The environment of a test, by its folder: a pure decision; the pure logic of workers, connected
by a test; the simulator; workers on a real broker."""


@cache
def functions() -> dict[str, tuple[str, ...]]:
    """Return every test as ``folder/file::test``, with the rules that it shows."""
    return {
        f"{path.parent.name}/{path.stem}::{node.name}": _shown(node)
        for path in sorted(TESTS.glob("**/test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@cache
def evidence() -> dict[str, tuple[str, ...]]:
    """Return the tests that are marked with ``shows``, by the rule's id."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, rules in functions().items():
        for rule in rules:
            found[rule].append(name)
    return {rule: tuple(tests) for rule, tests in found.items()}


def level_of(test: str) -> str:
    """Return a test's level; every folder whose tests are named must have a level."""
    folder = test.partition("/")[0]
    return next(level for level, folders in LEVELS.items() if folder in folders)


def _shown(function: ast.FunctionDef) -> tuple[str, ...]:
    """Return the rules in the ``shows`` decorators of a test."""
    return tuple(
        ast.literal_eval(argument)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "shows"
        for argument in decorator.args
    )
