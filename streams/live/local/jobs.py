"""The jobs of a supervisor: the workers of each role, and the agents of a topology."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SLOT = "up"
"""The slot of the workers that `up` starts; it also distinguishes these from other workers."""
ROLES = ("forwarder", "endpoint")
AGENTS = "agents"


@dataclass(frozen=True, slots=True)
class Job:
    """A process that must run; ``agent`` is the name of its agent in the topology, if any."""

    role: str
    words: tuple[str, ...]
    agent: str = ""

    @property
    def name(self) -> str:
        """Return the name of the job's log."""
        return f"{self.role}-{self.agent}" if self.agent else self.role

    @property
    def command(self) -> str:
        """Return the job's command line after ``python -m``, separated by spaces."""
        return " ".join(self.words)


def jobs_of(
    bootstrap: str, prefix: str, topology: str, agents: Iterable[str] = ()
) -> tuple[Job, ...]:
    """Return the jobs of a system; ``topology`` is the folder with the agents."""
    where = ("--bootstrap", bootstrap, "--prefix", prefix)
    ours = ("--log-format", "text")  # logs are for people, and `up` quotes the last line
    workers = (
        Job(role, ("streams", "worker", role, "--all", *where, "--slot", SLOT, *ours))
        for role in ROLES
    )
    stated = (
        Job(AGENTS, ("streams", "worker", AGENTS, *("--topology", topology, "--agent", name),
                     *where, *ours), name)
        for name in agents
    )  # fmt: skip
    return (*workers, *stated)
