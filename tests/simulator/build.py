"""Run scenarios in short form."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from streams.resources import topologies_dir
from streams.simulator import Result, Simulation, parse_scenario, read_scenario

SHIPPED = sorted(topologies_dir().glob("*/scenarios/*.yaml"))


def simulation(topology: str, text: str, seed: int = 0) -> Simulation:
    """Return a run of a scenario's text on a shipped topology."""
    text = f"topology: {topology}\n{dedent(text)}"
    return Simulation(*parse_scenario(text, topologies_dir() / "test.yaml"), seed)


def run(topology: str, text: str, seed: int = 0) -> Result:
    """Run a scenario's text on a shipped topology."""
    return simulation(topology, text, seed).run()


def shipped(name: str, seed: int = 0) -> Result:
    """Run a shipped scenario, ``topology/scenario``."""
    folder, _, file = name.partition("/")
    return Simulation(*read_scenario(path_of(folder, file)), seed).run()


def path_of(folder: str, file: str) -> Path:
    """Return where a shipped scenario is."""
    return topologies_dir() / folder / "scenarios" / f"{file}.yaml"


def bodies(result: Result, queue: str) -> list[str]:
    """Return the bodies in a queue, in order."""
    return [row["body"] for row in result.queues.get(queue, [])]


def errors(result: Result, instance: str | None = None) -> list[int]:
    """Return the error numbers of the events, of one instance or of all."""
    return [
        row["error"]
        for row in result.events
        if row["error"] and instance in (None, row["instance"])
    ]
