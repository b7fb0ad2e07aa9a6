"""Children of the demo are gone at its end, whatever Ctrl-C has interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams.demo.children import Children


def test_an_interrupted_look_at_a_child_keeps_nobody_from_ending_it(tmp_path: Path) -> None:
    """Popen keeps the lock that it had when KeyboardInterrupt came."""
    with Children(tmp_path) as children:
        endless = [sys.executable, "-c", "import time; time.sleep(1_000)"]
        child = subprocess.Popen(endless, start_new_session=True)
        child._waitpid_lock.acquire()  # type: ignore[attr-defined]
        children._running["endless"] = child
        children.stop("endless", timeout=0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
