"""The demo as a user runs it: its verdict, its sabotage, and its end when it is interrupted."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.running import DEADLINE, eventually


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start `hopline demo` with its output on a pipe."""
    return subprocess.Popen(
        [sys.executable, "-m", "streams", "demo", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # Whoever runs the tests in the background of a shell has made us ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def processes() -> str:
    """Return the command lines of everything that runs."""
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.long
def test_the_sabotaged_demo_finds_the_one_record_that_is_hidden(tmp_path: Path) -> None:
    """All three acts run; the verdict names the hidden message and the exit code is 1.

    Asked to, it leaves its system running with a dashboard, until it is told to stop.
    """
    data = ("--data", str(tmp_path / "demo"))
    with start(*data, "--sabotage", "--speed", "4", "--keep-running") as demo:
        output, _ = demo.communicate()
    try:
        assert demo.returncode == 1, output
        address = re.search(r"http://127\.0\.0\.1:\d+/", output)
        assert address is not None, output
        with urllib.request.urlopen(f"{address[0]}topology") as answer:
            assert answer.status == 200
    finally:
        with start(*data, "--stop") as stopped:
            stopped.communicate()
    eventually(lambda: str(tmp_path) not in processes(), "nothing is left")
    accepted, delivered = (
        int(re.search(rf"{name} +([\d,]+)", output)[1].replace(",", ""))  # type: ignore[index]
        for name in ("accepted", "delivered")
    )
    assert (accepted, delivered) == (20_000, 19_999)
    assert re.search(r"verdict +1 lost\n +dialog [0-9a-f-]{36}, sequence \d+\n", output), output
    assert re.search(r"dialogs failed over to GatewayB", output), output
    assert re.search(r"target endpoints +2 for one dialog", output), output
    assert re.search(r"refused +Server[BC]/Database[BC]: 8495", output), output
    assert output.count("verdict") == 2 and re.search(r"verdict +nothing lost", output), output


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_demo_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    """Ctrl-C ends the broker and every child, and the demo with the shell's code for it.

    So does SIGKILL, after which the demo itself can end nothing.
    """
    with start("--data", str(tmp_path / "demo")) as demo:
        line, deadline = "", time.monotonic() + 2 * DEADLINE
        while "Forwarders of" not in line:
            assert demo.stdout is not None
            ready, _, _ = select.select([demo.stdout], [], [], deadline - time.monotonic())
            assert ready, "the demo did not get as far as its workers"
            line = demo.stdout.readline()
            if found := re.search(r"Apache Kafka is running at 127\.0\.0\.1:(\d+)", line):
                port = int(found[1])
        demo.send_signal(number)
        demo.communicate(timeout=DEADLINE)
    assert demo.returncode == (130 if number == signal.SIGINT else -number)
    eventually(lambda: str(tmp_path) not in processes(), "no child is left")
    eventually(lambda: not listens(port), "the broker listens no longer")
