"""The tree contains no paths of a machine, no hosts of package registries, and no long modules."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distribution import FOLDERS, LONGEST

ROOT = Path(__file__).parent.parent

# Written in pieces, so that this file does not contain them.
FORBIDDEN = {
    "a path of a machine": r"/ho" r"me/\w|/ro" r"ot/|/Us" r"ers/\w|/wo" r"rk/|/op" r"t/wheels",
    "a package registry": r"py" r"pi\.org|python" r"hosted\.org|repo1?\.ma" r"ven\.",
    "an index of packages": r"--(extra-)?index" r"-url|--trusted" r"-host|--find" r"-links",
}


def tracked() -> list[Path]:
    """Return the files of the repository, those not yet committed included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_of_a_machine_or_a_registry_is_in_the_tree(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if (match := pattern.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not found


def test_every_locked_version_is_exact() -> None:
    lines = (ROOT / "requirements" / "lock.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and line[0] not in "# "]  # hashes are indented
    assert len(pinned) > 30
    assert all(re.match(r"[a-z0-9-]+==[\w.]+( |$)", line) for line in pinned)


def test_files_that_start_first_exist() -> None:
    assert [name for name in (*FOLDERS, *LONGEST) if not (ROOT / name).exists()] == []


def test_no_module_outgrows_one_idea() -> None:
    longest = {
        str(path.relative_to(ROOT)): count
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("streams", "bench")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert longest == {}


MOST_ARGUMENTS, MOST_OF_A_COMMAND = 7, 10
MANY = {
    "event": "an event has these fields",
    "Exchange.__init__": "published; a Receiver's, and the name",
    "hopline_app": "published; a Faust application's, and where it is",
}
"""What may take more, and why."""


@pytest.mark.long
def test_nothing_takes_many_arguments() -> None:
    """What belongs together is one value; of a command with many options they all are."""
    found = {
        f"{path.relative_to(ROOT)}: {name}": count
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] == "streams"
        for name, count, is_command in functions(ast.parse(path.read_text(encoding="utf-8")))
        if name not in MANY and count > (MOST_OF_A_COMMAND if is_command else MOST_ARGUMENTS)
    }
    assert found == {}


def functions(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Yield functions and methods: name, how many arguments, whether it is a command."""
    for owner in ast.walk(tree):
        within = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
        for node in ast.iter_child_nodes(owner):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(argument.arg not in ("self", "cls") for argument in given)
                is_command = any("command" in ast.dump(each) for each in node.decorator_list)
                yield f"{within}{node.name}", count, is_command
