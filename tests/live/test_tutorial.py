"""The tutorial and the README's quick start are true: their commands are run as printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(scripts/\w+\.sql)`:\n\n```sql\n(.*?)^```", TEXT, re.M | re.S))
STEPS = [
    (command, output)
    for block in re.findall(r"^```console\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]
HOPLINE = f'hopline() {{ {shlex.quote(sys.executable)} -m streams "$@"; }}\n'
ADDRESS = r"hopline status --format json | grep -o '127\.0\.0\.1:[0-9]*' | head -1"
VARYING = (
    (r"[0-9a-f]{8}\\-(?:[0-9a-f]{4}\\-){3}[0-9a-f]{12}", r"[0-9a-f-]{36}"),
    (r"\d\d:\d\d:\d\d\\\.\d{3}", r"[\\d:.]{12}"),
    (r"127\\\.0\\\.0\\\.1:\d+", r"127\\.0\\.0\\.1:\\d+"),
    (r"after\\ \d+\\\.\d", r"after [\\d.]+"),
)
"""What differs from run to run, in an escaped text, and what it may be."""


def pattern(output: str) -> str:
    """Return the pattern of a step's output: ``...`` stands for anything."""
    text = re.escape(output.rstrip("\n"))
    for found, allowed in VARYING:
        text = re.sub(found, allowed, text)
    return r"\s*" + text.replace(r"\.\.\.", r"[\s\S]*") + r"\s*"


@pytest.fixture
def printed(tmp_path: Path) -> Iterator[list[str]]:
    """Run all steps in one shell; yield the output of each."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    try:
        yield outputs([command for command, _ in STEPS], tmp_path)
    finally:
        shell(f"{HOPLINE}hopline down", tmp_path)


def outputs(commands: list[str], folder: Path) -> list[str]:
    """Return the output of each command, all run in one shell."""
    script = HOPLINE
    for command in commands:
        script += command
        if command.startswith("hopline up "):  # any port instead of 9092
            script += f" --port 0\nexport HOPLINE_BOOTSTRAP=$({ADDRESS})"
        script += "\nprintf '\\f'\n"
    return shell(script, folder).split("\f")


def shell(script: str, folder: Path) -> str:
    """Return what a script writes to stdout; pytest shows its stderr with a failure."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HOPLINE_BOOT")}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stderr)
    return done.stdout


@pytest.mark.long
def test_every_step_prints_what_the_page_shows(printed: list[str]) -> None:
    assert len(FILES) == 3 and len(STEPS) > 15
    wrong = [
        f"$ {command}\n{output}"
        for (command, expected), output in zip(STEPS, printed, strict=False)
        if not re.fullmatch(pattern(expected), output)
    ]
    assert wrong == []
    assert len(printed) == len(STEPS) + 1


@pytest.mark.long
def test_quick_start_of_the_readme_delivers_its_message(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^    export PATH=.*\n((?:    .*\n)+)", text, re.MULTILINE)
    up, *others = block.split(" &&\n")
    commands = [re.findall(r"hopline (\w+)", each) for each in (up, *others)]
    assert commands == [["up"], ["begin"], ["send"], ["receive"], ["verify"]]
    (tmp_path / "topologies").symlink_to(ROOT / "topologies")
    try:
        [_, chained, down, _] = outputs([up, " &&\n".join(others), "hopline down"], tmp_path)
    finally:
        shell(f"{HOPLINE}hopline down", tmp_path)
    assert "<hello/>" in chained
    assert chained.rstrip().endswith("nothing lost")
    assert down.startswith("Stopped: workers and broker.")


def test_the_page_is_short() -> None:
    assert len(TEXT.splitlines()) < 200
