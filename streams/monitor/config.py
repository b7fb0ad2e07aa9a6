"""The settings of the monitor."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streams.kafka import Cluster
from streams.store import MONITOR_STORE
from streams.wire import Topics

FOLDER = Path(".hopline/monitor")
"""The default folder of the checkpoint, next to the store."""

QUERIES_VERSION = 4
"""Increase this number when the state of a query changes; old checkpoints are then ignored."""

STORE_FORM = "2"
"""Increase this number when a table of the store changes; an older store is then rejected."""


@dataclass(frozen=True, slots=True)
class MonitorConfig:
    """The settings of one monitor; durations are in milliseconds unless the name has a unit."""

    bootstrap: str
    """``host:port`` of the Kafka cluster."""
    prefix: str = "ssb."
    """The prefix of all topic names."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """librdkafka's properties of the cluster, with passwords."""
    store: str = MONITOR_STORE
    """SQLAlchemy URL of the store."""
    master: str = "local[2]"
    """Spark's master URL."""
    checkpoint: Path = FOLDER / "checkpoint"
    """The checkpoint folder; each combination of settings has its own subfolder."""
    window: int = 10_000
    """Length of the windows of latencies and events."""
    late: int = 60_000
    """Watermark: deliveries that are older than the newest one by more than this are left out."""
    horizon: int = 600_000
    """Two copies of a message are compared if they arrived within this time of each other; a
    message that has not arrived after this time is missing.
    """
    trigger: int = 1_000
    """Trigger interval."""
    job: str | None = None
    """Replay job whose dialogs are monitored; None monitors all dialogs that are not from a replay.
    """
    keep: float | None = None
    """Days after which rows are deleted; None: rows are never deleted."""
    until_idle: float | None = None
    """Seconds without a record after which the monitor stops; None: it never stops by itself."""
    ready_file: Path | None = None
    """File that is created when all queries are running."""
    http: str | None = None
    """``HOST:PORT`` of /metrics, /healthz and /readyz, or only a port on loopback; None: no server.
    """

    @property
    def kafka(self) -> Cluster:
        """Return the monitored cluster."""
        return Cluster(self.bootstrap, Topics(self.prefix), self.properties)

    def checkpoint_for(self, cluster: str) -> Path:
        """Return the checkpoint folder for these settings and a cluster.

        The state depends on window and watermark, and offsets belong to one cluster. With different
        values, the queries start again instead of producing wrong figures.
        """
        parts: tuple[object, ...]
        parts = (cluster, self.prefix, self.window, self.late, self.horizon, QUERIES_VERSION)
        parts += () if self.job is None else (self.job,)
        digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
        return self.checkpoint.absolute() / digest

    def claims(self, cluster: str) -> dict[str, str]:
        """Return the settings that all figures in one store must have in common."""
        return {
            "cluster": cluster,
            "prefix": self.prefix,
            "window": f"{self.window} ms",
            "form": STORE_FORM,
            "job": self.job or "",
        }
