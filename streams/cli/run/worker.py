"""``hopline worker``: the processes that move messages."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from streams.cli.headed import HeadedCommand
from streams.cli.options.begin import begin_of
from streams.cli.options.settings import credentials, section_options
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.together import together
from streams.cli.run.log import log_to_stderr
from streams.cli.run.worker_agents import AGENT_HEADINGS, AgentOptions, agent_options, run_agents
from streams.errors import SurroundingsError, UsageError
from streams.kafka import read_catalog
from streams.settings import LogFormat, PaceName, WorkerSettings
from streams.signals import call_on_stop
from streams.topology import Topology
from streams.workers import ROLES, Pace, Plan, Process, randomize_guid_hashes

AGENTS = "agents"
_HEADINGS = {
    "Forwarder and endpoint": ("slot", "pace", "standby", "keep", "answer_within"),
    **AGENT_HEADINGS,
    "Kafka": ("bootstrap", "prefix", "replication", "properties", "config"),
}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of ``hopline worker`` except those in the settings."""

    instances: tuple[str, ...]
    every: bool
    topology: Topology | None
    agents: tuple[str, ...]
    service: str | None
    name: str | None
    classifier: str | None
    redirect: str | None
    directory: str | None
    begin: tuple[str, ...]
    bootstrap: str
    prefix: str
    log_format: str
    pace: str


@click.command(cls=HeadedCommand, headings=_HEADINGS)
@click.argument("role", type=click.Choice([*ROLES, "both", AGENTS]))
@click.option("--instance", "instances", multiple=True, metavar="NAME", help="Serve this instance.")
@click.option("--all", "every", is_flag=True, help="Serve every instance in the catalog.")
@agent_options
@section_options("worker")
@cluster_options
@together(WorkerOptions)
def worker(
    role: str,
    given: WorkerOptions,
    **section: Any,
) -> None:
    """Run workers until SIGTERM; then drain, commit and stop.

    ROLE is forwarder (routes messages of transmission queues), endpoint (runs the dialogs),
    both, or agents: those of a topology (--topology), or a service that comes with Hopline
    (--service data-dependent-routing, or configuration-notice).

    Any number of processes may serve an instance, each with its own --slot. Killing a process loses
    nothing: a restarted process with the same slot continues immediately. If two endpoint workers
    have --standby and the same --slot, one is active. The other one follows its state and takes
    over within seconds if the active worker fails.
    """
    settings = WorkerSettings(
        log_format=LogFormat(given.log_format), pace=PaceName(given.pace), **section
    )
    log_to_stderr(settings.log_format, verbose=settings.verbose)
    logging.getLogger("hopline.ready").setLevel(logging.INFO)
    options_of_agents = AgentOptions(
        given.topology,
        given.agents,
        given.service,
        given.name,
        given.classifier,
        given.redirect,
        given.directory,
        begin_of(given.begin),
    )
    options_of_agents.demand(wanted=role == AGENTS)
    instances = given.instances
    every = given.every or (given.topology is not None and not instances)
    if bool(instances) == every:
        raise UsageError("Give the instances to serve.", "Give --instance NAME ... or --all.")
    cluster = cluster_of(given.bootstrap, given.prefix)
    if every:
        cluster.wait(settings.timeout, lambda text: click.echo(text, err=True))
        live = read_catalog(cluster).topology
        instances = tuple(live.instances) if live else ()
        if not instances:
            raise UsageError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    if role == AGENTS:
        run_agents(cluster, instances, options_of_agents, settings.http)
        return
    randomize_guid_hashes()  # not in a process that runs code of applications
    roles = ROLES if role == "both" else (role,)
    process = Process(
        cluster,
        Plan(
            roles,
            instances,
            settings.slot,
            pace=Pace[settings.pace.name],
            watched=bool(settings.http),
            standby=settings.standby,
            keep=settings.keep if settings.keep >= 0 else None,
        ),
        timeout=settings.timeout,
        credentials=credentials(click.get_current_context()),
    )
    call_on_stop(process.stop)
    with _serving(process, settings):
        try:
            process.run()
        finally:
            if process.left_behind:  # destroying their clients could block forever
                atexit.register(os._exit, SurroundingsError.exit_code)


@contextmanager
def _serving(process: Process, settings: WorkerSettings) -> Iterator[None]:
    if not settings.http:
        yield
        return
    from streams.workers.http import serving  # import the Prometheus library only on demand

    with serving(process, settings.http, settings.answer_within) as port:
        logging.getLogger("hopline.ready").info("metrics and health on port %d", port)
        yield
