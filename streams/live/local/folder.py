"""The folder of a running system: its processes, and whether they are alive.

``system.json`` describes the system that `up` has started, and exists until `down`.
``workers.json`` belongs to the supervisor, ``logs/`` contains a file for each process, and
``kafka/`` belongs to the embedded broker.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from streams.embedded.process import command_line
from streams.embedded.state import locked
from streams.errors import UsageError
from streams.live.local.jobs import Job, jobs_of
from streams.private import make_folder, write_private
from streams.wire.topics import escape, unescape


@dataclass(frozen=True, slots=True)
class System:
    """The system that `up` has started at ``started`` (Unix seconds).

    ``embedded``: whether its broker is the embedded one. ``instances``: all instances in the
    catalog at that time, including those outside the topology. ``keeper``: process id of the
    supervisor. ``folder`` is the topology's folder; ``agents`` are its agents by name.
    """

    keeper: int
    bootstrap: str
    prefix: str
    topology: str
    instances: tuple[str, ...]
    embedded: bool
    started: float
    folder: str = ""
    agents: Mapping[str, str] = field(default_factory=dict)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Return the supervisor's jobs."""
        return jobs_of(self.bootstrap, self.prefix, self.folder, self.agents)


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """A process of workers of one role, or an agent.

    ``started`` is Unix time in seconds; ``restarts`` counts the restarts. ``port``: where the
    process serves HTTP on loopback; 0 if an older version started the process.
    """

    role: str
    pid: int
    started: float
    restarts: int = 0
    agent: str = ""
    port: int = 0

    @property
    def name(self) -> str:
        """Return the name of the process's log."""
        return Job(self.role, (), self.agent).name

    def wanted(self, instances: Iterable[str]) -> frozenset[str]:
        """Return the names that the process must serve: its agent, or the system's instances."""
        return frozenset({self.agent} if self.agent else instances)


@dataclass(frozen=True, slots=True)
class UpFolder:
    """The folder of one system that `up` runs."""

    path: Path

    @property
    def kafka(self) -> Path:
        """Return the data folder of the embedded broker."""
        return self.path / "kafka"

    def log(self, name: str) -> Path:
        """Return the path of a process's log: that of ``keeper``, or of a job."""
        return self.path / "logs" / f"{name}.log"

    def part(self, cluster: str) -> UpFolder:
        """Return the folder of one of several clusters, each of which is a separate system."""
        return UpFolder(self.path / "clusters" / escape(cluster))

    def parts(self) -> dict[str, UpFolder]:
        """Return the folders of all clusters that were started here, by name."""
        found = sorted((self.path / "clusters").glob("*/"))
        return {unescape(folder.name): UpFolder(folder) for folder in found}

    @property
    def system_file(self) -> Path:
        """Return the path of the system's file."""
        return self.path / "system.json"

    @property
    def workers_file(self) -> Path:
        """Return the path of the supervisor's file."""
        return self.path / "workers.json"

    def system(self) -> System | None:
        """Return the system that was started; None if the file is unreadable."""
        found = _read(self.system_file)
        try:
            return System(**{**found, "instances": tuple(found["instances"])})
        except (KeyError, TypeError):
            return None

    def workers(self) -> tuple[WorkerProcess, ...]:
        """Return the workers that the supervisor runs, or was running when it was killed."""
        try:
            return tuple(map(_worker, _read(self.workers_file)["workers"]))
        except (KeyError, TypeError, AttributeError):
            return ()

    def record_system(self, system: System) -> None:
        """Write the description of the started system, atomically."""
        _write(self.system_file, asdict(system))

    def record_workers(self, workers: tuple[WorkerProcess, ...]) -> None:
        """Write the list of workers that the supervisor runs, atomically."""
        _write(self.workers_file, {"workers": [asdict(w) for w in workers]})

    def forget(self) -> None:
        """Remove both files."""
        self.system_file.unlink(missing_ok=True)
        self.workers_file.unlink(missing_ok=True)

    def keeps(self, system: System) -> bool:
        """Return whether the supervisor is alive."""
        called = command_line(system.keeper)
        return "streams.live" in called and str(self.path) in called

    def works(self, system: System, worker: WorkerProcess) -> bool:
        """Return whether a worker is alive."""
        job = next((job for job in system.jobs if job.name == worker.name), None)
        return job is not None and job.command in command_line(worker.pid)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Prevent other processes from starting or stopping the system within the block."""
        make_folder(self.path)
        with locked(self.path / "up.lock") as mine:
            if not mine:
                raise UsageError(
                    f"The system of {self.path} is being started or stopped by another process.",
                    "Wait for it; `hopline status` shows its state.",
                )
            yield


def default_folder() -> Path:
    """Return ``.hopline/up`` in the current folder, so that each project has one system."""
    return Path.cwd() / ".hopline" / "up"


_FIELDS = tuple(field.name for field in fields(WorkerProcess))


def _worker(row: dict[str, Any]) -> WorkerProcess:
    """Return a recorded process; another version may have written more or fewer fields."""
    known = {name: row[name] for name in _FIELDS if name in row}
    port = row.get("port")
    valid = isinstance(port, int) and 0 < port < 1 << 16
    return WorkerProcess(**{**known, "port": port if valid else 0})


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, value: dict[str, Any]) -> None:
    scratch = path.with_suffix(f".{os.getpid()}")
    write_private(scratch, json.dumps(value) + "\n")
    os.replace(scratch, path)
