"""docs/writing_a_service.md is true: its files, its commands, as printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.kafka import read_live
from streams.topology import load
from tests.agents.rig import ACCEPTED, SHOP, answers, order
from tests.running import DEADLINE, System, running

PAGE = Path(__file__).parents[2] / "docs" / "writing_a_service.md"
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@contextmanager
def shop_of(kafka: str, prefix: str, folder: Path, topology: str) -> Iterator[System]:
    """Run what the page's first two commands run."""
    (folder / "shop").mkdir()
    (folder / "shop" / "topology.yaml").write_text(topology)
    with running(kafka, prefix, load(folder / "shop", time.time())) as system:
        yield system


@contextmanager
def faust(system: System, folder: Path, module: str, *options: str) -> Iterator[dict[str, str]]:
    """Run ``faust -A MODULE worker``; return the environment in which a reader's shell is."""
    around = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOPLINE_BOOTSTRAP": system.cluster.bootstrap,
        "HOPLINE_PREFIX": system.cluster.topics.prefix,
    }
    with (folder / "log").open("wb") as log:
        web = options or ("--without-web",)
        command = ["faust", "-A", module, "worker", "-l", "info", *web]
        child = subprocess.Popen(command, cwd=folder, env=around, stdout=log, stderr=log)
        try:
            yield around
            child.terminate()
            assert child.wait(DEADLINE) == 0
        except BaseException:
            print((folder / "log").read_text()[:10_000])  # pytest shows it with the failure
            raise
        finally:
            child.kill()
            child.wait()


@pytest.mark.long
def test_ten_lines_answer(kafka: str, unique: str, tmp_path: Path) -> None:
    topology, code, [shell] = blocks("yaml")[0], blocks("python")[0], blocks("sh")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    (tmp_path / "orders.py").write_text(code)
    with (
        shop_of(kafka, unique, tmp_path, topology) as system,
        faust(system, tmp_path, "orders") as around,
    ):
        answers_of = shell.replace(
            "--group shop", f"--group shop --limit 2 --timeout {DEADLINE:.0f}"
        )
        done = subprocess.run(
            ["bash", "-e", "-c", answers_of],
            env=around, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f'{ACCEPTED} "<accepted/>"' in done.stdout


@pytest.mark.long
def test_what_is_in_a_table_is_found_again(kafka: str, unique: str, tmp_path: Path) -> None:
    """The second program: a related dialog, and a table that the next process rebuilds."""
    (tmp_path / "counter.py").write_text(blocks("python")[1])
    with shop_of(kafka, unique, tmp_path, SHOP) as system, system.client() as client:
        with faust(system, tmp_path, "counter"):
            dialog = order(client, b"how many?")
            assert answers(system, 1) == ["<seven/>"]
        with faust(system, tmp_path, "counter"):
            client.send(dialog, b"and now?", type="//shop/Order")
            assert answers(system, 2) == ["<seven/>", "<seven/>"]
        kept = read_live(system.cluster, "counter-customers-changelog", 0)
    assert len(kept) == 2
