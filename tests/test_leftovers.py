"""A test session that is interrupted or killed leaves no broker and no other process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.leftovers import marked
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

ROOT = Path(__file__).parent.parent
CONFTEST = "from tests.conftest import *  # noqa: F403\n"
WITH_BROKER = """
import pathlib, threading

def test_broker(kafka):
    pathlib.Path("broker").touch()
    threading.Event().wait()
"""
WITH_WORKER = """
import pathlib, subprocess, sys, threading

def test_worker_that_outlives_its_parent():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    pathlib.Path("worker").touch()
    threading.Event().wait()
"""


@contextmanager
def session(folder: Path, mark: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run two tests that do not end, in two processes; yield when both are running."""
    for name, text in (
        ("conftest.py", CONFTEST),
        ("test_a.py", WITH_BROKER),
        ("test_b.py", WITH_WORKER),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-q", str(folder)]
    with (folder / "log").open("wb") as log:
        started = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), mark: "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            # A shell that runs the tests in the background ignores Ctrl-C for them.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        eventually(
            lambda: all((folder / name).exists() for name in ("broker", "worker")) or pause(),
            f"both tests run: {folder / 'log'}",
        )
        yield started
    finally:
        started.kill()
        started.wait()


def interrupt(started: subprocess.Popen[bytes]) -> None:
    os.killpg(started.pid, signal.SIGINT)


def interrupt_twice(started: subprocess.Popen[bytes]) -> None:
    interrupt(started)
    interrupt(started)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    "stop",
    [
        pytest.param(interrupt, id="sigint"),
        pytest.param(interrupt_twice, id="two_sigints", marks=pytest.mark.long),
        pytest.param(subprocess.Popen.terminate, id="sigterm", marks=pytest.mark.long),
        pytest.param(subprocess.Popen.kill, id="sigkill", marks=pytest.mark.long),
    ],
)
def test_stopped_session_leaves_no_process(
    stop: Callable[[subprocess.Popen[bytes]], None], tmp_path: Path
) -> None:
    mark = f"OUTER_{uuid.uuid4().hex}"
    with session(tmp_path, mark) as started:
        assert len(marked(mark)) >= 5  # pytest, two processes, broker, worker
        stop(started)
        started.wait(DEADLINE)
        eventually(lambda: not marked(mark) or pause(), "every process has ended")
