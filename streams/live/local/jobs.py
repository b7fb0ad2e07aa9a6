"""What a supervisor keeps running: the workers of each role, and the agents of a topology."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SLOT = "up"
"""The slot of the workers that `up` starts; it also tells them from others."""
ROLES = ("forwarder", "endpoint")
AGENTS = "agents"


@dataclass(frozen=True, slots=True)
class Job:
    """A process that must run; ``agent`` is its name in the topology, where it is one."""

    role: str
    words: tuple[str, ...]
    agent: str = ""

    @property
    def name(self) -> str:
        """Return what its log is called."""
        return f"{self.role}-{self.agent}" if self.agent else self.role

    @property
    def command(self) -> str:
        """Return its command line behind ``python -m``, with spaces between the words."""
        return " ".join(self.words)


def jobs_of(
    bootstrap: str, prefix: str, topology: str, agents: Iterable[str] = ()
) -> tuple[Job, ...]:
    """Return the jobs of a system; ``topology`` is the folder that says what the agents are."""
    where = ("--bootstrap", bootstrap, "--prefix", prefix)
    # Logs are read here, and two processes cannot share an address: no settings file decides that.
    ours = ("--log-format", "text", "--http=")
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
