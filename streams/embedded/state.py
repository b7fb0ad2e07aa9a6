"""A broker's data folder, and whether its broker is alive.

``server.properties`` and ``broker.log`` are rewritten at every start; ``log/`` belongs to Kafka.
``broker.json`` exists while a broker runs, and remains if the broker is killed. ``start.lock``
prevents simultaneous starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import IO

from streams.embedded.probe import HOST, ask
from streams.embedded.process import command_line
from streams.errors import UsageError
from streams.private import open_private, write_private


class Condition(Enum):
    """The state of a data folder's broker."""

    RUNNING = "running"
    STARTING = "starting"
    """A process that has not responded yet is being started."""
    SILENT = "not answering"
    """The process is alive but does not respond: it hangs, is frozen, or is stopping."""
    STOPPED = "stopped"
    STALE = "stale"
    """The state file names a process that has exited, or an id that another program uses now."""

    @property
    def is_alive(self) -> bool:
        """Return whether there is a process, responding or not."""
        return self in (Condition.RUNNING, Condition.STARTING, Condition.SILENT)


@dataclass(frozen=True, slots=True)
class Running:
    """The broker that was started on a data folder; ``started`` is Unix time in seconds."""

    pid: int
    port: int
    cluster: str
    started: float

    @property
    def bootstrap(self) -> str:
        """Return the address for ``bootstrap.servers``."""
        return f"{HOST}:{self.port}"

    def answers(self) -> bool:
        """Return whether this broker responds at its port."""
        answer = ask(self.port)
        return answer is not None and answer.cluster == self.cluster and self.port in answer.ports


@dataclass(frozen=True, slots=True)
class DataDir:
    """The folder of one embedded broker."""

    path: Path

    @property
    def log_dir(self) -> Path:
        """Return Kafka's ``log.dir``."""
        return self.path / "log"

    @property
    def properties(self) -> Path:
        """Return the path of ``server.properties``; it also identifies the process."""
        return self.path / "server.properties"

    @property
    def log_file(self) -> Path:
        """Return the path of the broker's own log."""
        return self.path / "broker.log"

    @property
    def state_file(self) -> Path:
        """Return the path of the file that describes the running process."""
        return self.path / "broker.json"

    @property
    def start_lock(self) -> Path:
        """Return the path of the file that is locked while a broker is being started."""
        return self.path / "start.lock"

    def cluster(self) -> str | None:
        """Return the cluster id with which the folder was formatted."""
        with contextlib.suppress(FileNotFoundError):
            for line in (self.log_dir / "meta.properties").read_text("utf-8").splitlines():
                if line.startswith("cluster.id="):
                    return line.partition("=")[2].strip()
        return None

    def recorded(self) -> Running | None:
        """Return the content of the state file; None if it is unreadable."""
        try:
            return Running(**json.loads(self.state_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def record(self, running: Running) -> None:
        """Write the state file atomically."""
        scratch = self.state_file.with_suffix(f".{running.pid}")
        write_private(scratch, json.dumps(asdict(running)) + "\n")
        os.replace(scratch, self.state_file)

    def forget(self) -> None:
        """Remove the state file."""
        self.state_file.unlink(missing_ok=True)

    def condition(self) -> Condition:
        """Check the state file, the process and the broker itself; return the condition.

        Do not call it in a process that is starting a broker: to look at a lock releases it.
        """
        running = self.recorded()
        if running is None:
            return Condition.STALE if self.state_file.exists() else Condition.STOPPED
        if not self.is_ours(running.pid):
            return Condition.STALE
        if running.answers():
            return Condition.RUNNING
        return Condition.STARTING if is_locked(self.start_lock) else Condition.SILENT

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Prevent other processes from starting a broker on the folder while the block runs."""
        with locked(self.start_lock) as mine:
            if not mine:
                raise UsageError(
                    f"A broker is being started on {self.path} by another process.",
                    "Wait for it: `hopline kafka status`.",
                )
            yield

    def is_ours(self, pid: int) -> bool:
        """Return whether a process is this folder's broker, not one with a reused id."""
        return str(self.properties) in command_line(pid)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Acquire a file's lock without waiting; yield whether the lock was free."""
    with open_private(path, "ab") as file:
        yield _lock(file)


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock of a file, such as Kafka's on ``log/.lock``."""
    try:
        with path.open("r+b") as file:
            return not _lock(file)
    except FileNotFoundError:
        return False


def default_data_dir() -> Path:
    """Return ``.hopline/kafka`` under the current folder: one broker per project."""
    return Path.cwd() / ".hopline" / "kafka"


def _lock(file: IO[bytes]) -> bool:
    if sys.platform == "win32":
        return True  # on Windows, a second Kafka cannot open the files
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the file is closed
    except OSError:
        return False
    return True
