"""Which tests there are, and of which rules each says that it is evidence."""

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
"""How real what a test runs is, by its folder: a pure decision; the pure parts that decide for
workers, joined by a test; the simulator; workers on a real broker."""


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
    """Return the tests that say with ``shows`` that they show a rule, by the rule's id."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, rules in functions().items():
        for rule in rules:
            found[rule].append(name)
    return {rule: tuple(tests) for rule, tests in found.items()}


def level_of(test: str) -> str:
    """Return how real a test's surroundings are; every folder whose tests are named has a level."""
    folder = test.partition("/")[0]
    return next(level for level, folders in LEVELS.items() if folder in folders)


def _shown(function: ast.FunctionDef) -> tuple[str, ...]:
    """Return what a test says of itself with ``shows``."""
    return tuple(
        ast.literal_eval(argument)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "shows"
        for argument in decorator.args
    )
