"""``python requirements/wanted.py EXTRA ...``: the lines of lock.txt that some extras need.

For an image whose packages are a layer of their own, below the code. Prints what the base install
and these extras need, directly or through other packages, with hashes, for pip's
``--require-hashes``. ``build-system`` prints instead what builds the wheel. Needs only Python.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

BUILD = "build-system"
_HERE = Path(__file__).parent
_PIN = re.compile(r"([\w.-]+)==([^\s;]+)")
_NEEDED_BY = re.compile(r"# via (.*)")


@dataclass(frozen=True, slots=True)
class Locked:
    """One package of lock.txt: its lines, and the names of the packages that need it."""

    name: str
    version: str
    needed_by: frozenset[str]
    text: str


@cache
def locked() -> tuple[Locked, ...]:
    """Return the packages of lock.txt in its order, each with all its hashes."""
    text = (_HERE / "lock.txt").read_text("utf-8")
    # Hashes and comments of a package are indented below it.
    blocks = re.findall(r"^[^\s#].*\n(?:[ \t]+.*\n)*", text, re.MULTILINE)
    return tuple(_read(block) for block in blocks)


def wanted(*extras: str) -> tuple[Locked, ...]:
    """Return what the base install and these extras need, in the order of lock.txt."""
    project = _pyproject()
    if extras == (BUILD,):
        lines: list[str] = project[BUILD]["requires"]
    else:
        lines = list(project["project"]["dependencies"])
        for extra in extras:
            lines += project["project"]["optional-dependencies"][extra]
    names = {normal(re.split(r"[^\w.-]", line)[0]) for line in lines}
    unknown = names - {package.name for package in locked()}
    if unknown:
        raise SystemExit(f"requirements/lock.txt lacks {', '.join(sorted(unknown))}: make lock")
    while more := {p.name for p in locked() if p.needed_by & names} - names:
        names |= more
    return tuple(package for package in locked() if package.name in names)


def normal(name: str) -> str:
    """Return a package's name in the form that lock.txt uses."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(block: str) -> Locked:
    pin = _PIN.match(block)
    if pin is None or "--hash=sha256:" not in block:
        raise SystemExit(f"requirements/lock.txt: no version or no hash: {block.splitlines()[0]}")
    needed_by: Iterable[str] = ()
    if found := _NEEDED_BY.search(block):
        needed_by = (normal(name.split()[0]) for name in found[1].split(","))
    return Locked(normal(pin[1]), pin[2], frozenset(needed_by), block)


def _pyproject() -> dict[str, Any]:
    # In an image's build it is beside this file, so that a change of code changes no layer above.
    files = [folder / "pyproject.toml" for folder in (_HERE, _HERE.parent)]
    return tomllib.loads(next(file for file in files if file.exists()).read_text("utf-8"))


if __name__ == "__main__":
    print("".join(package.text for package in wanted(*sys.argv[1:])), end="")
