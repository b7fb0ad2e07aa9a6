"""A test that hangs where no exception reaches it ends its process, with the traces of all threads.

Else the whole run would hang, and nothing would tell where.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFTEST = "from tests import conftest\nfrom tests.conftest import *\nconftest.LEEWAY = 0.2\n"
IN_A_LIBRARY = """
import signal, time

def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(3600)
"""
IN_THE_TEARDOWN_OF_A_FAILED_TEST = """
import pytest, time

@pytest.fixture
def hangs():
    yield
    time.sleep(3600)

def test_fails(hangs):
    assert False
"""


@pytest.mark.parametrize("text", [IN_A_LIBRARY, IN_THE_TEARDOWN_OF_A_FAILED_TEST])
def test_a_test_that_hangs_ends_with_the_traces_of_its_threads(text: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    # Long enough for the report of a failure on a busy machine, which a timeout would interrupt.
    options = ["-q", "-n", "1", "--max-worker-restart=0", "-o", "timeout=2"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "crashed while running 'test_it.py::test_" in ended.stdout
    assert "Timeout (0:00:02.200000)!" in ended.stderr
    assert 'test_it.py", line ' in ended.stderr
