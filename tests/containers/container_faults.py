"""Faults of containers, performed by Docker from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.containers.compose import Compose, run

_BACK = 300.0
"""Seconds within which a started container must be healthy again."""

Inject = Callable[[Compose, str], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a service's containers; ``words`` is its name in the report.

    ``figures``: no messages wait for the service, so the effect is the age of the figures.
    """

    service: str
    words: str
    inject: Inject
    figures: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one system, one after the other; ``span``: seconds from one to the next."""

    name: str
    title: str
    faults: Sequence[Fault]
    span: float

    @property
    def seconds(self) -> float:
        """Return the duration of the load in seconds."""
        return self.span * len(self.faults) + 20


def killed(away: float) -> Inject:
    """Kill a container with SIGKILL, and start it again after a number of seconds."""

    def inject(compose: Compose, service: str) -> None:
        names = compose.containers(service)
        run("docker", "kill", "--signal", "KILL", *names)
        time.sleep(away)
        run("docker", "start", *names)

    return inject


def paused(lasts: float) -> Inject:
    """Pause all processes of the container for a number of seconds."""

    def inject(compose: Compose, service: str) -> None:
        names = compose.containers(service)
        run("docker", "pause", *names)
        time.sleep(lasts)
        run("docker", "unpause", *names)

    return inject


def restarted(compose: Compose, services: str) -> None:
    """Drain and restart one container after the other, each when the previous one is healthy."""
    for service in services.split(", "):
        for name in compose.containers(service):
            run("docker", "restart", name, timeout=120)
        until_healthy(compose, service)


def scaled(compose: Compose, services: str) -> None:
    """Scale each service to three containers, and back to one."""
    names = services.split(", ")
    for count in (3, 1):
        wanted = [word for name in names for word in ("--scale", f"{name}={count}")]
        compose.up(*names, options=("--no-deps", "--no-recreate", *wanted))
        time.sleep(15)


def until_healthy(compose: Compose, service: str) -> None:
    """Return when all containers of a service are healthy."""
    deadline = time.monotonic() + _BACK
    while set(compose.health(service)) != {"healthy"}:
        assert time.monotonic() < deadline, f"{service} is not healthy: {compose.logs()}"
        time.sleep(0.5)


KILLED, PAUSED = "killed with SIGKILL, started after 2 s", "paused for 15 s"
_ROLES = ("kafka", "forwarder", "endpoint", "agents")
_STORE = ("monitor", "postgres")


def _each(words: str, inject: Inject) -> tuple[Fault, ...]:
    return (
        *(Fault(service, words, inject) for service in _ROLES),
        *(Fault(service, words, inject, figures=True) for service in _STORE),
    )


GROUPS = (
    Group("killed", "Every container is killed", _each(KILLED, killed(2)), 45),
    Group("paused", "Every container is paused", _each(PAUSED, paused(15)), 45),
    Group(
        "moved",
        "Restarts and replicas",
        (
            Fault("forwarder, endpoint, agents", "rolling restart", restarted),
            Fault("forwarder, endpoint", "scaled from 1 to 3 to 1", scaled),
        ),
        90,
    ),
)
