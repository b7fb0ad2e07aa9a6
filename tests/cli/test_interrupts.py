"""Ctrl-C ends a command that reads a large file: at once, with exit code 130."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path

import pytest

from streams.capture import CaptureOrigin, CaptureWriter, Metadata
from streams.capture.codec import Codec
from tests.capture.commands import begin, records, send
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]
HALF = 25 << 20
"""Bytes that a command has read when it is interrupted; starting takes less."""
PROGRAM = "from streams.cli import main; main()"
ROUTE = "CREATE ROUTE R{0} WITH SERVICE_NAME = '//shop/{0}', ADDRESS = 'tcp://Host{0}:4022'\nGO\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture of 50 MB: a dialog with many messages."""
    path = tmp_path_factory.mktemp("interrupts") / "large.avro"
    origin = Metadata(CaptureOrigin.CAPTURED, "ssb.", "test", 0)
    [first, second] = records([begin(1), send(1, body=bytes(2_000))])
    with CaptureWriter(path, origin, codec=Codec.NULL) as writer:
        writer.write(first)
        size = len(second.key or b"") + 2_000 + sum(len(raw or b"") for _, raw in second.headers)
        for offset in range(1, 2 * HALF // size):
            writer.write(replace(second, offset=offset))
    return path


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a script of 50 MB."""
    folder = tmp_path_factory.mktemp("script")
    with (folder / "ServerA.sql").open("w") as file:
        file.write("USE DB\nGO\n")
        for number in takewhile(lambda _: file.tell() < 2 * HALF, count()):
            file.write(ROUTE.format(number))
    return folder


def interrupted(*words: object) -> tuple[int, str]:
    """Run a command, interrupt it when it has begun to read; return exit code and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background ignores Ctrl-C for them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    with closing(process.stderr):
        try:
            eventually(lambda: has_read(process) > HALF or pause(), f"{words} reads")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=DEADLINE)
        finally:
            process.kill()
            process.wait()
    return process.returncode, err


def has_read(process: subprocess.Popen[str]) -> int:
    """Return how many bytes a process has read so far."""
    assert process.poll() is None, "it has ended before it was interrupted"
    return int(Path(f"/proc/{process.pid}/io").read_text().split()[1])


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--records",),
        ("--where", "size > 10000"),
        ("--conversation", "00000000-0000-0000-0000-000000000002"),
        ("--parquet", "{}.parquet"),
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_inspect_ends_while_it_reads_a_capture(large: Path, options: tuple[str, ...]) -> None:
    words = (word.format(large) for word in options)
    assert interrupted("inspect", large, *words) == (130, "")
    assert [path.name for path in large.parent.iterdir()] == [large.name], "no half of an export"


def test_check_ends_while_it_reads_a_script(script: Path) -> None:
    assert interrupted("check", script) == (130, "")
