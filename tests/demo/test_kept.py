"""What a demo leaves running is found and ended by whoever asks later, and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from streams.demo.children import Children
from streams.demo.kept import note, stop


def test_what_was_left_is_stopped_once(tmp_path: Path) -> None:
    with Children(tmp_path / "logs") as children:
        children.start("tail", "kafka", "status", "--data", str(tmp_path))
        left = children.leave()
    assert list(left) == ["tail"]
    note(tmp_path, left)
    assert stop(tmp_path)
    assert not stop(tmp_path)


def test_a_process_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        (tmp_path / "running.json").write_text(json.dumps({"workers": other.pid}))
        assert stop(tmp_path)
        assert other.poll() is None
    finally:
        other.communicate(b"\n")
