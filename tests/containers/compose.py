"""The system of docker-compose.yml as a separate project: start, query, disturb and remove it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORTS = (
    "HOPLINE_KAFKA_PORT",
    "HOPLINE_DASHBOARD_PORT",
    "HOPLINE_PROMETHEUS_PORT",
    "HOPLINE_BUYER_PORT",
    "HOPLINE_SELLER_PORT",
)


class ComposeError(AssertionError):
    """A Docker command has failed."""


@dataclass(frozen=True, slots=True)
class Compose:
    """A separate project; ``knobs`` are variables of .env with other values."""

    project: str
    knobs: Mapping[str, str]

    def address(self, knob: str) -> str:
        """Return HOST:PORT under which a port is published."""
        return f"127.0.0.1:{self.knobs[knob]}"

    def do(self, *words: str, timeout: float = 600) -> str:
        """Run `docker compose WORDS`; return its stdout. Raises ComposeError."""
        profiles = ("--profile", "load", "--profile", "two-clusters")
        return run("docker", "compose", "-p", self.project, *profiles, *words,
                   timeout=timeout, environment=self.knobs)  # fmt: skip

    def up(self, *services: str, options: Sequence[str] = ()) -> None:
        """Start services (by default those without a profile), and wait until they are healthy."""
        words = ("docker", "compose", "-p", self.project, "up", "--wait", *options, *services)
        run(*words, timeout=600, environment=self.knobs)

    def containers(self, service: str) -> list[str]:
        """Return the names of a service's running containers, in the order of their numbers."""
        said = self.do("ps", "--format", "{{.Name}}", service)
        return sorted(said.split())

    def health(self, service: str) -> list[str]:
        """Return the health of each of a service's containers."""
        return [
            run("docker", "inspect", "--format", "{{.State.Health.Status}}", name).strip()
            for name in self.containers(service)
        ]

    def verify(self, *words: str) -> dict[str, object]:
        """Return the account of `hopline verify` for the clusters that ``words`` select."""
        said = self.do("run", "--rm", "--no-deps", *words, "--format", "json")
        found: dict[str, object] = json.loads(said[said.index("{") :])
        return found

    def logs(self) -> str:
        """Return the ends of all logs."""
        return self.do("logs", "--no-color", "--tail", "15")

    def down(self) -> None:
        """Remove the project, including its data."""
        self.do("down", "--volumes", "--remove-orphans", "--timeout", "5")


def run(*words: str, timeout: float = 60, environment: Mapping[str, str] | None = None) -> str:
    """Run a command from the root of the repository; return its stdout. Raises ComposeError."""
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise ComposeError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def composed(project: str, **knobs: str) -> Iterator[Compose]:
    """Yield a project with free ports; none of its parts outlives the block."""
    compose = Compose(project, {**free_ports(), **knobs})
    compose.down()  # left by a killed run
    try:
        yield compose
    finally:
        compose.down()


def free_ports() -> dict[str, str]:
    """Return a free port of this machine for each published port."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    found = {k: str(s.getsockname()[1]) for k, s in zip(PORTS, sockets, strict=True)}
    for each in sockets:
        each.close()
    return found
