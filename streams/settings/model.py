"""The settings: one frozen dataclass per process, with a sentence for each field."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class LogFormat(Enum):
    """The format in which a worker writes its log to stderr."""

    TEXT = "text"
    JSON = "json"


class PaceName(Enum):
    """Length of an endpoint worker's transactions."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"


def _says(sentence: str, metavar: str = "") -> dict[str, str]:
    return {"says": sentence, "metavar": metavar}


_BOOTSTRAP = _says("Bootstrap servers of the Kafka cluster.", "HOST:PORT")
_PREFIX = _says("Prefix of all topic names.", "TEXT")
_REPLICATION = _says(
    "Replication factor and min.insync.replicas, for commands that create or check topics; auto "
    "means 3/2 on three or more brokers; as-is neither sets nor checks them.",
    "auto|N/M|as-is",
)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The cluster and the topic names, for every command that uses a cluster."""

    bootstrap: str = field(default="127.0.0.1:9092", metadata=_BOOTSTRAP)
    prefix: str = field(default="ssb.", metadata=_PREFIX)
    replication: str = field(default="auto", metadata=_REPLICATION)


_SLOT = _says(
    "Static member id, the same at every start. A restarted worker gets its partitions back "
    "(10 s session timeout).",
    "TEXT",
)
_PACE = _says("Length of an endpoint worker's transactions; longer ones use less CPU per message.")
_STANDBY = _says("Run as standby: follow the state, and take over when the slot's worker fails.")
_TIMEOUT = _says("Seconds to wait for Kafka and a catalog.")
_VERBOSE = _says("Log assignments, restores and catalog changes.")
_LOG_FORMAT = _says("Log format: lines of text, or one JSON object per line.")
_HTTP = _says(
    "Address to serve /metrics, /healthz and /readyz; a port alone listens on loopback.",
    "HOST:PORT",
)
_KEEP = _says("Retention of processed records in seconds; -1 keeps them forever.")
_ANSWER = _says("Seconds within which Kafka must answer; otherwise /healthz returns 503.")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of `hopline worker`."""

    slot: str = field(default="", metadata=_SLOT)
    pace: PaceName = field(default=PaceName.LATENCY, metadata=_PACE)
    timeout: float = field(default=30.0, metadata=_TIMEOUT)
    standby: bool = field(default=False, metadata=_STANDBY)
    keep: float = field(default=7 * 24 * 3600.0, metadata=_KEEP)
    verbose: bool = field(default=False, metadata=_VERBOSE)
    log_format: LogFormat = field(default=LogFormat.TEXT, metadata=_LOG_FORMAT)
    http: str = field(default="", metadata=_HTTP)
    answer_within: float = field(default=5.0, metadata=_ANSWER)


SECTIONS: Mapping[str, type] = {"": ClusterSettings, "worker": WorkerSettings}
"""The tables of the file and their settings; the keys of ``""`` precede all tables."""
PROPERTIES = "kafka"
"""The table of librdkafka's properties, for the cluster of a command."""
CLUSTERS = "clusters"
"""The tables of librdkafka's properties for other clusters, by the name of the credentials."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its names in the file, in the environment and as a flag, and its meaning."""

    section: str
    name: str
    default: Any
    says: str
    metavar: str

    @property
    def key(self) -> str:
        """Return the setting's name in the file, with its table."""
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def variable(self) -> str:
        """Return the environment variable of the setting."""
        return "HOPLINE_" + self.key.replace(".", "_").upper()

    @property
    def flag(self) -> str:
        """Return the command-line flag of the setting."""
        return "--" + self.name.replace("_", "-")


def settings_of(section: str | None = None) -> Iterator[Setting]:
    """Yield the settings of one table of the file, or all settings."""
    for name, owner in SECTIONS.items():
        if section is None or name == section:
            for f in dataclasses.fields(owner):
                yield Setting(name, f.name, f.default, f.metadata["says"], f.metadata["metavar"])


def setting_of(section: str, name: str) -> Setting:
    """Return one setting; raise KeyError for an unknown name."""
    for setting in settings_of(section):
        if setting.name == name:
            return setting
    raise KeyError(f"{section}.{name}")
