"""A signal stops a process at any moment, even while it holds the lock that stopping needs."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import streams

PROGRAM = """
    import os, signal, sys, threading
    from streams.signals import call_on_stop

    lock, stopped = threading.Lock(), threading.Event()

    def stop():
        with lock:
            stopped.set()

    call_on_stop(stop, once={once})
    with lock:
        os.kill(os.getpid(), signal.{first})
        {second}
    print(stopped.wait(60), flush=True)
    if {once}:
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(60)
"""
MAY_HANDLE = {
    "signals.py": "the one place",
    "cli/interruptible.py": "sets a variable, and restores",
    "monitor/session.py": "restores what pyspark has replaced",
}


def ran(first: str, second: str = "", *, once: bool = False) -> tuple[str, int]:
    """Return what the program prints, and its exit code."""
    program = textwrap.dedent(PROGRAM.format(first=first, second=second, once=once))
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert not ended.stderr
    return ended.stdout.strip(), ended.returncode


def test_a_signal_inside_the_lock_that_stopping_takes_does_not_hang() -> None:
    assert ran("SIGTERM") == ("True", 0)


def test_two_signals_at_once_do_not_hang() -> None:
    assert ran("SIGTERM", "os.kill(os.getpid(), signal.SIGINT)") == ("True", 0)


def test_the_second_signal_ends_the_process_where_that_is_asked_for() -> None:
    assert ran("SIGINT", once=True) == ("True", -15)


def test_signals_are_handled_in_one_place() -> None:
    root = Path(streams.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func) == "signal.signal"
    }
    assert found == set(MAY_HANDLE)
