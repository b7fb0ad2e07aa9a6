"""``hopline up``, ``down`` and ``status``: run a whole topology on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.settings import (
    config_option,
    properties_option,
    replication,
    setting_option,
)
from streams.cli.options.shared import DEFAULT_PREFIX, cluster_of, prefix_option
from streams.cli.options.topology import find_folder
from streams.cli.run.agents import refuse_agents
from streams.cli.run.apply import refuse_broken
from streams.cli.run.remote_text import remote_json, remote_lines
from streams.cli.run.up_text import STATES, status_lines, statuses_json
from streams.cli.text.terminal import show
from streams.errors import UsageError
from streams.live import (
    Health,
    Started,
    UpFolder,
    Wish,
    default_folder,
    find_statuses,
    start_parts,
    stop,
    worst,
)
from streams.live.remote import find_remote_status
from streams.prose import counted, one_line
from streams.topology import Topology, load

F = TypeVar("F", bound=Callable[..., Any])


def _common(command: F) -> F:
    data = click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder for Kafka's data, logs and process state. [default: .hopline/up]",
    )
    format_ = format_option()
    return data(format_(command))


@click.command()
@click.argument("topology", metavar="TOPOLOGY")
@click.option(
    "--bootstrap",
    "-b",
    metavar="HOST:PORT",
    help="Use this Kafka cluster instead of starting one.",
)
@prefix_option
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=9092,
    show_default=True,
    help="Port of the embedded broker; 0 selects a free port.",
)
@timeout_option(120.0, "Seconds to wait for Kafka and workers.")
@_common
def up(
    topology: str,
    bootstrap: str | None,
    prefix: str,
    port: int,
    timeout: float,
    data: Path | None,
    format_: str,
) -> None:
    """Run TOPOLOGY on this machine: Kafka, its topics and catalog, its workers.

    One process runs the forwarders of all instances, another their endpoint workers, and each agent
    of the topology (`agents:`) has its own process. A supervisor restarts processes that exit. The
    command returns when all processes are ready. To apply a changed topology, run the command
    again. It restarts running processes only if the set of instances or agents has changed.

    HOPLINE_BOOTSTRAP is ignored: without --bootstrap the command starts an embedded broker. If
    the instances name different clusters, each cluster has its own broker (--port and the
    following ports), workers and supervisor.
    """
    path = find_folder(topology).absolute()
    loaded = load(path, time.time())
    refuse_broken(loaded, prefix)
    refuse_agents(loaded)
    folder = _folder(data)
    needed = replication(click.get_current_context())
    wish = Wish(
        topology, loaded, bootstrap, prefix, port, timeout, folder=str(path), replication=needed
    )
    began = time.monotonic()
    done = start_parts(folder, wish, lambda text: click.echo(text, err=True))
    if format_ == "json":
        statuses = find_statuses(folder, 10)
        fresh = any(started.fresh for started in done.values())
        click.echo(json.dumps({**statuses_json(folder, statuses), "fresh": fresh}))
        return
    seconds = time.monotonic() - began
    for name, started in done.items():
        what = f"{topology}, cluster {name}" if name else topology
        where = folder.part(name) if name else folder
        _report_started(what, where, started, loaded, seconds)
    click.echo("`hopline status` shows its state, `hopline down` stops it.")


def _report_started(
    what: str, where: UpFolder, started: Started, loaded: Topology, seconds: float
) -> None:
    system = started.system
    how = f"ready after {seconds:.1f} s" if started.fresh else "was already running"
    count = counted(len(system.instances), "instance")
    answering = f", agents {', '.join(system.agents)}" if system.agents else ""
    click.echo(f"{what}: {count}{answering}, {how}; catalog version {started.deployed.version}.")
    more = [name for name in system.instances if name not in loaded.instances]
    if more:
        click.echo(
            f"The catalog has other instances, which are also served: {', '.join(more)} (to "
            "remove them: hopline apply --prune)."
        )
    click.echo(f"Kafka is at {system.bootstrap}, logs in {where.path / 'logs'}.")
    if system.prefix != DEFAULT_PREFIX or system.bootstrap != "127.0.0.1:9092":
        click.echo(f"Other commands need: --bootstrap {system.bootstrap} --prefix {system.prefix}")


@click.command()
@_common
def down(data: Path | None, format_: str) -> None:
    """Drain and stop the workers and the broker that `hopline up` has started.

    Topics, catalog and dialogs stay in the folder; the next `hopline up` continues with them.
    Succeeds if nothing runs.
    """
    folder = _folder(data)
    done = stop(folder)
    if format_ == "json":
        click.echo(json.dumps({"workers": done.workers, "broker": done.broker}))
    elif done.workers or done.broker:
        what = " and ".join(
            name for name, ended in (("workers", done.workers), ("broker", done.broker)) if ended
        )
        click.echo(f"Stopped: {what}. The data remains in {folder.path}.")
    else:
        click.echo(f"No process of {folder.path} is running.")


@click.command()
@setting_option("", "bootstrap", "the system that `hopline up` runs here", show_envvar=False)
@prefix_option
@properties_option
@config_option
@timeout_option(10.0)
@_common
@click.pass_context
def status(
    ctx: click.Context, bootstrap: str, prefix: str, timeout: float, data: Path | None, format_: str
) -> None:
    """Show a system's workers. The exit code is 0 if every worker is ready, otherwise 1.

    With --bootstrap, show the system of any cluster, from the heartbeats of its workers and the
    partitions that Kafka has assigned to them. Every partition must have a live worker. Without
    --bootstrap, show the processes that `hopline up` runs on this machine. HOPLINE_BOOTSTRAP and
    `bootstrap` in the settings file are ignored.

    Lag is the number of offsets that a worker still has to read in its topics.
    """
    if ctx.get_parameter_source("bootstrap") is ParameterSource.COMMANDLINE:
        if data is not None:
            raise UsageError("--data and --bootstrap name different systems.", "Leave one out.")
        remote = find_remote_status(cluster_of(bootstrap, prefix), timeout)
        if format_ == "json":
            click.echo(json.dumps(remote_json(remote)))
        else:
            for line in remote_lines(remote):
                show(one_line(line), STATES)
        ctx.exit(0 if remote.health is Health.RUNNING else NOT_OK)
    if ctx.get_parameter_source("prefix") is ParameterSource.COMMANDLINE:
        raise UsageError("--prefix needs a cluster.", "Add --bootstrap.")
    folder = _folder(data)
    found = find_statuses(folder, timeout)
    if format_ == "json":
        click.echo(json.dumps(statuses_json(folder, found)))
    else:
        for name, status_ in found.items():
            if name:
                click.echo(f"cluster {name}")
            for line in status_lines(folder.part(name) if name else folder, status_):
                show(one_line(line), STATES)
    ctx.exit(0 if worst(found.values()) is Health.RUNNING else NOT_OK)


def _folder(data: Path | None) -> UpFolder:
    return UpFolder((data or default_folder()).absolute())
