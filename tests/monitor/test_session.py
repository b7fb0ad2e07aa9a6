"""What a session does when Spark's process ends before it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import sys
from pathlib import Path
from pyspark import SparkContext
from streams.errors import SurroundingsError
from streams.monitor.session import batch_session
try:
    with batch_session(master="local[1]", log=Path(sys.argv[1]), name="ends") as spark:
        SparkContext._gateway.proc.kill()
        SparkContext._gateway.proc.wait()
        spark.range(5).count()
except SurroundingsError as error:
    print(error.message)
"""


@pytest.mark.long
def test_a_process_that_has_ended_is_told(tmp_path: Path) -> None:
    """It ends without memory; a traceback would not say where its log is."""
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path / "spark.log")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.startswith("Spark failed: "), done.stderr
    assert done.returncode == 0
