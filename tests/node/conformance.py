"""The parts of ``docs/conformance.md`` that are made from tests of forwarding, dialogs, services.

``python -m tests.node.conformance --write`` rewrites them.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.routing.rulings import Ruling
from tests.services.rulings import SERVICES

from .rulings import DIALOGS, FORWARDING

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "conformance.md"
BLOCKS = {"forwarding": FORWARDING, "dialogs": DIALOGS, "services": SERVICES}
LETTERS = {
    "forwarding": "`F` are the rules of a forwarder.",
    "dialogs": "`D` are the rules of a dialog: 1 reception, 2 transmission, 3 the lock, 4 states, "
    "5 closed endpoints, 6 statements, 7 transactions, 8 what is missing.",
    "services": "`P` are the rules of mirrored pairs and listeners, `N` those of the Broker "
    "Configuration Notice, `S` those of data-dependent routing.",
}


@cache
def evidence() -> dict[str, tuple[str, ...]]:
    """Return the tests that show a rule, by the rule's id: ``file::test``."""
    found: dict[str, list[str]] = defaultdict(list)
    folders = ("node", "protocol", "services")
    for path in sorted(path for name in folders for path in TESTS.glob(f"{name}/test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for rule in _shown(node):
                    found[rule].append(f"{path.parent.name}/{path.stem}::{node.name}")
    return {rule: tuple(tests) for rule, tests in found.items()}


def _shown(function: ast.FunctionDef) -> list[str]:
    """Return what a test says of itself with ``shows``."""
    return [
        ast.literal_eval(argument)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id == "shows"
        for argument in decorator.args
    ]


def generated(rulings: tuple[Ruling, ...]) -> str:
    """Return one block of the page."""
    lines = [("rule", "in words", "verdict", "sources", "shown by"), ("---",) * 5]
    lines += [
        (r.id, r.words, r.verdict, r.sources, "<br>".join(evidence().get(r.id, ())))
        for r in rulings
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def rewritten(page: str) -> str:
    """Return the page with its blocks made anew."""
    for name, rulings in BLOCKS.items():
        begin, end = f"<!-- {name}: generated -->\n", f"<!-- {name}: end -->"
        head, rest = page.split(begin)
        _, tail = rest.split(end)
        page = f"{head}{begin}\n{LETTERS[name]}\n\n{generated(rulings)}\n{end}{tail}"
    return page


def main(arguments: list[str]) -> int:
    """Rewrite the page, or say whether it is stale."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = rewritten(page)
    if "--write" in arguments:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE} is stale: python -m tests.node.conformance --write", file=sys.stderr)
    return int(page != wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
