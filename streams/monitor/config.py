"""Everything that can be set, in one place."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from streams.errors import UsageError

FOLDER = Path(".hopline/monitor")
"""Where store and checkpoint are unless told otherwise."""

QUERIES_VERSION = 1
"""To be raised when the state of a query changes: old checkpoints are then left alone."""

_DURATION = re.compile(r"(?P<number>\d+)\s*(?P<unit>ms|s|m|h)")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def duration_ms(text: str) -> int:
    """Return the milliseconds of ``10s``, ``500ms``, ``1m`` or ``1h``; raises UsageError."""
    match = _DURATION.fullmatch(text.strip())
    duration = int(match["number"]) * _MILLISECONDS[match["unit"]] if match else 0
    if duration <= 0:
        raise UsageError(f"{text!r} is no duration.", "Write for example 500ms, 10s or 1m.")
    return duration


@dataclass(frozen=True, slots=True)
class MonitorConfig:
    """The settings of one monitor; durations are milliseconds unless a name says otherwise."""

    bootstrap: str
    """``host:port`` of the Kafka cluster."""
    prefix: str = "ssb."
    """What the names of all topics begin with."""
    store: str = f"sqlite:///{FOLDER}/monitor.sqlite"
    """SQLAlchemy URL of the database that is written."""
    master: str = "local[2]"
    """Spark's master URL."""
    checkpoint: Path = FOLDER / "checkpoint"
    """Where the queries keep positions and state; each combination of settings in its own part."""
    window: int = 10_000
    """Length of the windows of latencies and events."""
    late: int = 60_000
    """Watermark: what was delivered longer than this before the newest delivery is left out."""
    repeat: int = 600_000
    """Copies of a message are recognised while nothing newer by more than this was enqueued."""
    trigger: int = 1_000
    """Time between the beginnings of two batches."""
    until_idle: float | None = None
    """Stop after so many seconds without a record; never where None."""
    ready_file: Path | None = None
    """Touched when all queries run."""

    def checkpoint_for(self, cluster: str) -> Path:
        """Return the folder for what these settings make of a cluster.

        Window and watermark are part of the state's meaning, offsets belong to one cluster: with
        others the queries begin anew instead of going on wrongly.
        """
        parts = (cluster, self.prefix, self.window, self.late, self.repeat, QUERIES_VERSION)
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
        return self.checkpoint.absolute() / digest

    def claims(self, cluster: str) -> dict[str, str]:
        """Return what all figures in one store must have in common."""
        return {"cluster": cluster, "prefix": self.prefix, "window": f"{self.window} ms"}
