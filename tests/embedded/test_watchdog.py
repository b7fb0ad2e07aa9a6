"""A tied process ends with its parent, also if the parent is killed; any other outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from streams.embedded.process import command_line, release, spawn
from tests.running import eventually
from tests.workers.rig import pause

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no watchdog")

SLEEP = [sys.executable, "-c", "import time; time.sleep(3600)"]
PARENT = """
import pathlib, sys
from streams.embedded.process import release, spawn

folder, how = pathlib.Path(sys.argv[1]), sys.argv[2]
child = spawn([sys.executable, "-c", "import time; time.sleep(3600)", str(folder)],
              folder / "log", tied=how != "untied")
if how == "released":
    release(child.pid)
print(child.pid, flush=True)
sys.stdin.read()
"""


def orphan(folder: Path, how: str, number: int) -> int:
    """Return the child of a process that has ended by a signal."""
    command = [sys.executable, "-c", PARENT, str(folder), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        # For a moment a new process has no command line.
        eventually(lambda: str(folder) in command_line(pid) or pause(), "it runs")
        parent.send_signal(number)
        parent.wait(60)
    return pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_tied_process_ends_with_its_parent(tmp_path: Path, number: int) -> None:
    pid = orphan(tmp_path, "tied", number)
    eventually(lambda: str(tmp_path) not in command_line(pid) or pause(), "it has ended")


@pytest.mark.parametrize("how", ["untied", "released"])
def test_any_other_process_outlives_its_parent(tmp_path: Path, how: str) -> None:
    pid = orphan(tmp_path, how, signal.SIGKILL)
    eventually(lambda: not watchdogs(pid) or pause(), "no watchdog is left")
    assert str(tmp_path) in command_line(pid)
    os.kill(pid, signal.SIGKILL)


def test_watchdog_ends_with_its_child(tmp_path: Path) -> None:
    before = set(watchdogs(os.getpid()))  # those of brokers of other tests, which may end soon
    child = spawn(SLEEP, tmp_path / "log", tied=True)
    [watchdog] = eventually(lambda: new_watchdogs(before), "it runs")
    child.kill()
    child.wait()
    eventually(lambda: watchdog not in watchdogs(os.getpid()) or pause(), "it has ended")
    release(child.pid)  # does nothing


def test_command_that_does_not_exist_leaves_no_watchdog(tmp_path: Path) -> None:
    before = set(watchdogs(os.getpid()))
    with pytest.raises(FileNotFoundError):
        spawn([str(tmp_path / "nothing")], tmp_path / "log", tied=True)
    eventually(lambda: not new_watchdogs(before) or pause(), "the watchdog has ended")


def new_watchdogs(before: set[int]) -> list[int]:
    """Return the ids of this process's watchdogs that run now and did not run before."""
    return [pid for pid in watchdogs(os.getpid()) if pid not in before]


def watchdogs(parent: int) -> list[int]:
    """Return the ids of a process's watchdogs that run."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split(None, 3) for line in listed.splitlines())
    return [
        int(pid)
        for pid, ppid, state, args in rows
        if int(ppid) == parent and state[0] != "Z" and "watchdog.py" in args
    ]
