"""``hopline worker agents``: run agents of Hopline or of a topology."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeVar

import click

from streams.cli.options.begin import begin_option
from streams.cli.options.topology import TopologyArgument
from streams.cli.run.agents import agents_named, look_beside, refuse_agents, refuse_settings
from streams.client import Begin
from streams.errors import UsageError
from streams.kafka import Cluster, read_catalog
from streams.live.admin.statements import live_topology
from streams.topology import (
    DEFAULT_SERVICES,
    Agent,
    Classification,
    Language,
    ShippedService,
    Stated,
    Topology,
)

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of `hopline worker agents` besides those of every worker."""

    topology: Topology | None = None
    names: tuple[str, ...] = ()
    service: str | None = None
    name: str | None = None
    classifier: str | None = None
    redirect: str | None = None
    directory: str | None = None
    begin: Begin | None = None

    def demand(self, *, wanted: bool) -> None:
        """Raise UsageError if the options for agents and the role do not match."""
        routing = self.name or self.classifier or self.redirect
        shipped = self.service or routing or self.directory
        if not wanted and (shipped or self.topology or self.names or self.begin is not None):
            raise UsageError(
                "--topology, --service, --from and their options are for agents only.",
                "ROLE agents",
            )
        if wanted and (self.service is None) == (self.topology is None):
            known = " or ".join(kind.value for kind in ShippedService)
            raise UsageError("Which agents?", f"Give --topology TOPOLOGY, or --service {known}.")
        if (wanted and self.topology and shipped) or (self.service and self.names):
            raise UsageError(
                "--agent needs --topology; the other options need --service.",
                "Give one or the other.",
            )
        notice = self.service == ShippedService.CONFIGURATION_NOTICE.value
        if (notice and routing) or (self.service and not notice and self.directory):
            raise UsageError(
                "--name, --classifier and --redirect are for data-dependent-routing, --directory "
                "for configuration-notice.",
                "Leave out the options of the other service.",
            )

    def agents(self) -> tuple[Agent, ...]:
        """Return the selected agents."""
        if self.topology is not None:
            refuse_agents(self.topology)
            return agents_named(self.topology, self.names)
        kind = ShippedService(self.service)
        texts = {
            "service": self.name or DEFAULT_SERVICES[kind],
            "redirect": self.redirect,
            "directory": self.directory,
        }
        settings = {key: Stated(text) for key, text in texts.items() if text is not None}
        classifier = None if self.classifier is None else _classification(self.classifier)
        agent = Agent(kind.value, Stated(kind.value), settings, classifier)
        refuse_settings(agent)
        return (agent,)


AGENT_HEADINGS = {
    "Agents": ("topology", "agents", "service", "begin"),
    f"Agents of {ShippedService.DATA_DEPENDENT_ROUTING.value}": ("name", "classifier", "redirect"),
    f"Agents of {ShippedService.CONFIGURATION_NOTICE.value}": ("directory",),
}
"""The options of ROLE agents, by purpose."""


def agent_options(command: F) -> F:
    """Add the options for ROLE agents only."""
    for option in (
        begin_option,
        click.option(
            "--directory",
            metavar="FILE|URL",
            help="Directory of services: a YAML file, or a database with the directory's table "
            "(postgresql+psycopg://..., sqlite:///FILE). Also HOPLINE_DIRECTORY.",
        ),
        click.option(
            "--redirect",
            metavar="TYPE",
            help="Answer with the service's name, as a message of this type, and END.",
        ),
        click.option(
            "--classifier",
            metavar="HOW",
            help="How to find a service's name in a body: xpath:EXPRESSION, "
            "jmespath:EXPRESSION, or MODULE:FUNCTION.  [default: xpath:/message/toServiceName]",
        ),
        click.option(
            "--name",
            help="Name of the service in the catalog.  "
            f"[default: {DEFAULT_SERVICES[ShippedService.DATA_DEPENDENT_ROUTING]}]",
        ),
        click.option(
            "--service",
            type=click.Choice([kind.value for kind in ShippedService]),
            help="Run one of Hopline's own services.",
        ),
        click.option(
            "--agent",
            "agents",
            multiple=True,
            metavar="NAME",
            help="Run only this agent of the topology.",
        ),
        click.option(
            "--topology",
            type=TopologyArgument(),
            metavar="TOPOLOGY",
            help="Run the agents of a topology.",
        ),
    ):
        command = option(command)
    return command


def run_agents(
    cluster: Cluster, instances: Sequence[str], options: AgentOptions, http: str | None
) -> None:
    """Run agents, in these instances or in all, until SIGTERM.

    ``http`` is the address of /readyz, which reports whether they have started.
    """
    agents = options.agents()
    from streams.agents.from_topology import applications_of
    from streams.agents.run_applications import serve  # import Faust only on demand
    from streams.live.configuration.notice_agent import notice_maker

    topology = live_topology(read_catalog(cluster))
    for name in instances:
        if name not in topology.instances:
            raise UsageError(f"The catalog has no instance {name}.", "Apply a topology first.")
    look_beside(agents)
    where = tuple(instances) or tuple(topology.instances)
    makers = {ShippedService.CONFIGURATION_NOTICE: notice_maker(cluster)}
    apps = [app for a in agents for app in applications_of(a, cluster, topology, where, makers)]
    if options.begin is not None:
        for app in apps:
            app.begin = options.begin
    with _answering(http) as ready:
        serve(apps, [agent.name for agent in agents], ready)


@contextmanager
def _answering(http: str | None) -> Iterator[Callable[[], None]]:
    """Serve HTTP, if requested; yield a function to call when all are ready."""
    started = Event()
    if not http:
        yield started.set
        return
    # Import the Prometheus library only on demand.
    from streams.telemetry import CONTENT_TYPE, answering, exposition_of, health_answer

    figures = exposition_of(list)
    missing = "The agents have not started yet."
    answers = {
        "/metrics": lambda: (200, CONTENT_TYPE, figures()),
        "/healthz": lambda: health_answer(()),  # a failed agent stops the process
        "/readyz": lambda: health_answer(() if started.is_set() else (missing,)),
    }
    with answering(http, answers) as port:
        logging.getLogger("hopline.ready").info("metrics and health on port %d", port)
        yield started.set


def _classification(text: str) -> Classification:
    word, _, rest = text.partition(":")
    languages = {each.value: each for each in (Language.XPATH, Language.JMESPATH)}
    if word in languages:
        return Classification(languages[word], Stated(rest))
    return Classification(Language.PYTHON, Stated(text))
