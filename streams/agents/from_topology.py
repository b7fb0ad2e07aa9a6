"""The applications of an agent that a topology or a command line describes."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from streams.agents.application import HoplineApp
from streams.agents.data_dependent import routing_app
from streams.kafka import Cluster
from streams.services import make_classifier
from streams.settings import property_variable, setting_of
from streams.topology import Agent, ShippedService, Topology

Place = tuple[str, str]
"""An instance and one of its databases."""
Maker = Callable[[Agent, Place, dict[str, Any]], HoplineApp]
"""Creates an agent's application for a database, with the options of ``hopline_app``."""


def applications_of(
    agent: Agent,
    cluster: Cluster,
    topology: Topology,
    instances: Sequence[str],
    makers: Mapping[ShippedService, Maker] = MappingProxyType({}),
) -> list[HoplineApp]:
    """Return an agent's applications: its own, or one for each database that has its service.

    ``topology`` comes from the catalog; ``makers`` create the kinds that change the running system.
    Raises UsageError or InputError if no application can be created.
    """
    if agent.kind is None:
        return _own(agent, cluster)
    places = list(_places(topology, instances, str(agent.service)))
    if not places:
        raise agent.runs.error(
            f"No database of {', '.join(instances)} has a service {agent.service}.",
            "Choose another service, with `service:` in a topology or with --name.",
        )
    make = {**_MAKERS, **makers}[agent.kind]
    return [make(agent, place, _options(cluster, place)) for place in places]


def _places(topology: Topology, instances: Sequence[str], service: str) -> Iterator[Place]:
    for name in instances:
        here = topology.instances.get(name)
        for database in here.databases.values() if here is not None else ():
            if service in database.services:
                yield name, database.name


def _options(cluster: Cluster, place: Place) -> dict[str, Any]:
    return {
        "bootstrap": cluster.bootstrap,
        "prefix": cluster.topics.prefix,
        "properties": cluster.properties,
        "member": ".".join(place),
        "web_enabled": False,
    }


def _router(agent: Agent, place: Place, options: dict[str, Any]) -> HoplineApp:
    return routing_app(
        *place,
        str(agent.service),
        classify=make_classifier(agent.classifier),
        reply_type=agent.setting("redirect"),
        **options,
    )


_MAKERS: Mapping[ShippedService, Maker] = {ShippedService.DATA_DEPENDENT_ROUTING: _router}


def _own(agent: Agent, cluster: Cluster) -> list[HoplineApp]:
    """Import a custom application, which finds the cluster as if it ran in its own process."""
    os.environ[setting_of("", "bootstrap").variable] = cluster.bootstrap
    os.environ[setting_of("", "prefix").variable] = cluster.topics.prefix
    for name, value in cluster.properties.items():
        os.environ[property_variable(name)] = value
    try:
        found = importlib.metadata.EntryPoint(agent.name, agent.runs.text, "hopline").load()
    except Exception as error:  # a module can raise anything when it is imported
        raise agent.runs.error(
            f"{agent.runs.text} cannot be imported: {type(error).__name__}: {error}.",
            "Python searches for modules in the topology's folder and in the current folder.",
        ) from error
    apps = [found] if isinstance(found, HoplineApp) else found
    if isinstance(apps, Sequence) and apps and all(isinstance(a, HoplineApp) for a in apps):
        return list(apps)
    raise agent.runs.error(
        f"{agent.runs.text} is neither the result of hopline_app(...) nor a list of such results.",
        "Define app = hopline_app(...) in the module.",
    )
