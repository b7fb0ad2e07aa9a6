"""``hopline worker agents``: the services that come with Hopline, as Faust agents."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from streams.errors import UsageError
from streams.kafka import Cluster, read_catalog
from streams.routing import CONFIGURATION_SERVICE
from streams.services import Classifier, to_service_name

if TYPE_CHECKING:
    from streams.agents import HoplineApp

F = TypeVar("F", bound=Callable[..., Any])


class Kind(Enum):
    """Which service agents serve."""

    DATA_DEPENDENT_ROUTING = "data-dependent-routing"
    CONFIGURATION_NOTICE = "configuration-notice"


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What `hopline worker agents` is told beside what every worker is."""

    service: str | None
    name: str
    classifier: str | None
    redirect: str | None
    directory: str | None

    def demand(self, *, wanted: bool) -> None:
        """Raise UsageError where agents are wanted and not said which, or the other way round."""
        if wanted and self.service is None:
            known = " or ".join(kind.value for kind in Kind)
            raise UsageError("No service is named for the agents.", f"Give --service {known}.")
        if not wanted and (self.service or self.classifier or self.redirect):
            raise UsageError(
                "--service, --classifier and --redirect are for agents.", "ROLE agents"
            )
        if wanted:
            self._demand_directory()

    def _demand_directory(self) -> None:
        notice = self.kind is Kind.CONFIGURATION_NOTICE
        if notice and self.directory is None:
            raise UsageError(
                "No directory is named.",
                "Give --directory FILE, or the URL of a database; docs/writing_a_service.md.",
            )
        if notice and (self.classifier or self.redirect):
            raise UsageError(
                f"--classifier and --redirect are not for {self.service}.", "Leave them out."
            )

    @property
    def kind(self) -> Kind:
        """Return which service is meant."""
        return Kind(self.service)


def agent_options(command: F) -> F:
    """Add the options that only ROLE agents has."""
    for option in (
        click.option(
            "--directory",
            metavar="FILE|URL",
            envvar="HOPLINE_DIRECTORY",
            help="agents, configuration-notice: where services are; a YAML file, or the database "
            "that has the table: postgresql+psycopg://..., sqlite:///FILE. Also HOPLINE_DIRECTORY.",
        ),
        click.option(
            "--redirect",
            metavar="TYPE",
            help="agents: answer with the service's name, as a message of this type, and END.",
        ),
        click.option(
            "--classifier",
            metavar="MODULE:FUNCTION",
            help="agents: takes a body and returns a service's name, or None. "
            "[default: the text at /message/toServiceName]",
        ),
        click.option(
            "--name",
            default="DataDependentRouting",
            show_default=True,
            help="agents: what the service is called in the catalog.",
        ),
        click.option(
            "--service",
            type=click.Choice([kind.value for kind in Kind]),
            help="agents: which one to run.",
        ),
    ):
        command = option(command)
    return command


def run_agents(cluster: Cluster, instances: Sequence[str], options: AgentOptions) -> None:
    """Serve every service of the name in these instances until SIGTERM."""
    from streams.agents.serve import serve  # Faust only where it is asked for

    notice = options.kind is Kind.CONFIGURATION_NOTICE
    make = _notice(cluster, options) if notice else _routing(options)
    name = CONFIGURATION_SERVICE if notice else options.name
    apps = [
        make(
            instance,
            database,
            bootstrap=cluster.bootstrap,
            prefix=cluster.topics.prefix,
            properties=cluster.properties,
            member=f"{instance}.{database}",
            web_enabled=False,
        )
        for instance, database in _places(cluster, instances, name)
    ]
    if not apps:
        remedy = "Create it in one of them." if notice else "Name it with --name."
        raise UsageError(f"No database of {', '.join(instances)} has a service {name}.", remedy)
    serve(apps)


def _routing(options: AgentOptions) -> Callable[..., HoplineApp]:
    from streams.agents.routing import routing_app

    classify = _classifier(options.classifier)

    def make(instance: str, database: str, **common: Any) -> HoplineApp:
        said = {"classify": classify, "reply_type": options.redirect, **common}
        return routing_app(instance, database, options.name, **said)

    return make


def _notice(cluster: Cluster, options: AgentOptions) -> Callable[..., HoplineApp]:
    from streams.agents.notice import notice_app
    from streams.live.directory import open_directory
    from streams.live.notice import Notices

    logging.getLogger("hopline.notice").setLevel(logging.INFO)
    notices = Notices(cluster, open_directory(options.directory or ""))
    return functools.partial(notice_app, answers=notices)


def _places(cluster: Cluster, instances: Sequence[str], name: str) -> Iterator[tuple[str, str]]:
    topology = read_catalog(cluster).topology
    for instance in instances:
        here = topology.instances.get(instance) if topology is not None else None
        if here is None:
            raise UsageError(f"The catalog has no instance {instance}.", "Apply a topology first.")
        for database in here.databases.values():
            if name in database.services:
                yield instance, database.name


def _classifier(named: str | None) -> Classifier:
    if named is None:
        return to_service_name
    module, _, function = named.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # where a user's own module is
    try:
        found: Classifier = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"There is no classifier {named}: {error}.", "MODULE:FUNCTION") from None
    return found
