"""The agents of a topology: select and check them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from streams.errors import UsageError
from streams.live.configuration.directory import directory_of
from streams.services import make_classifier
from streams.topology import Agent, ShippedService, Topology


def refuse_agents(topology: Topology) -> None:
    """Raise InputError if an agent cannot run: unknown service, invalid classifier."""
    databases = [d for i in topology.instances.values() for d in i.databases.values()]
    look_beside(topology.agents.values())
    for agent in topology.agents.values():
        if agent.kind is None:
            continue
        if not any(agent.service in database.services for database in databases):
            raise agent.settings.get("service", agent.runs).error(
                f"no database has a service {agent.service}",
                "Set `service:` to a service of the topology.",
            )
        refuse_settings(agent)


def refuse_settings(agent: Agent) -> None:
    """Raise InputError or UsageError for invalid settings of Hopline's own agents."""
    make_classifier(agent.classifier)
    if agent.kind is ShippedService.CONFIGURATION_NOTICE:
        directory_of(agent)


def agents_named(topology: Topology, names: Sequence[str]) -> tuple[Agent, ...]:
    """Return the agents with these names, or all agents; raise UsageError if there are none."""
    known = ", ".join(topology.agents) or "none"
    for name in names:
        if name not in topology.agents:
            raise UsageError(f"The topology has no agent {name}.", f"It has: {known}.")
    if not topology.agents:
        raise UsageError("The topology has no agents.", "Add a section `agents:` to topology.yaml.")
    return tuple(topology.agents[name] for name in names or topology.agents)


def look_beside(agents: Iterable[Agent]) -> None:
    """Let Python find modules in the topology's folder and in the current folder."""
    folders = {str(Path(a.source.file).parent.absolute()) for a in agents if a.source.file}
    for folder in (*folders, str(Path.cwd())):
        if folder not in sys.path:
            sys.path.insert(0, folder)
