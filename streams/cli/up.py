"""``hopline up``, ``down`` and ``status``: everything for a topology on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.cli.answer_options import format_option, timeout_option
from streams.cli.apply import refuse_broken
from streams.cli.options import DEFAULT_PREFIX, prefix_option
from streams.cli.topology_argument import find_folder
from streams.cli.up_text import status_json, status_lines
from streams.live import Health, UpFolder, Wish, default_folder, find_status, start, stop
from streams.topology import load

F = TypeVar("F", bound=Callable[..., Any])


def _common(command: F) -> F:
    data = click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder of the system: Kafka's data, logs, who runs  [default: .hopline/up]",
    )
    format_ = format_option()
    return data(format_(command))


@click.command()
@click.argument("topology", metavar="TOPOLOGY")
@click.option(
    "--bootstrap",
    metavar="HOST:PORT",
    help="Use this Kafka cluster and start none.",
)
@prefix_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9092,
    show_default=True,
    help="Port of the embedded broker; 0 takes a free one.",
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

    One process runs the forwarders of all instances and one the endpoint workers; a keeper starts
    them again where they end. The command returns when every worker is ready. Run it again to apply
    a changed topology: what runs stays, but for workers that do not serve the instances there are.

    HOPLINE_BOOTSTRAP does not count here: without --bootstrap it is the embedded broker.
    """
    loaded = load(find_folder(topology), time.time())
    refuse_broken(loaded)
    folder = _folder(data)
    wish = Wish(topology, loaded, bootstrap, prefix, port, timeout)
    began = time.monotonic()
    done = start(folder, wish, lambda text: click.echo(text, err=True))
    if format_ == "json":
        click.echo(
            json.dumps({**status_json(folder, find_status(folder, 10)), "fresh": done.fresh})
        )
        return
    count = len(done.system.instances)
    how = f"ready after {time.monotonic() - began:.1f} s" if done.fresh else "ran already"
    click.echo(f"{topology}: {count} instances, {how}; catalog version {done.deployed.version}.")
    more = [name for name in done.system.instances if name not in loaded.instances]
    if more:
        click.echo(f"The catalog has more, served too: {', '.join(more)} (hopline apply --prune).")
    click.echo(f"Kafka is at {done.system.bootstrap}, logs in {folder.path / 'logs'}.")
    if prefix != DEFAULT_PREFIX or done.system.bootstrap != "127.0.0.1:9092":
        click.echo(f"Other commands need: --bootstrap {done.system.bootstrap} --prefix {prefix}")
    click.echo("`hopline status` says how it is, `hopline down` ends it.")


@click.command()
@_common
def down(data: Path | None, format_: str) -> None:
    """Let the workers drain and leave, and stop the broker, if `hopline up` has started them.

    Topics and catalog stay in the folder, and with them every dialog: `hopline up` goes on with
    them. Fine if nothing runs.
    """
    folder = _folder(data)
    done = stop(folder)
    if format_ == "json":
        click.echo(json.dumps({"workers": done.workers, "broker": done.broker}))
    elif done.workers or done.broker:
        what = " and ".join(
            name for name, ended in (("workers", done.workers), ("broker", done.broker)) if ended
        )
        click.echo(f"Stopped: {what}. The data stay in {folder.path}.")
    else:
        click.echo(f"Nothing of {folder.path} runs.")


@click.command()
@timeout_option(10.0)
@_common
@click.pass_context
def status(ctx: click.Context, timeout: float, data: Path | None, format_: str) -> None:
    """Say how the system is that `hopline up` runs: exit code 0 if every worker is ready, else 1.

    Lag is what a worker has not passed yet, in positions of its topics.
    """
    folder = _folder(data)
    found = find_status(folder, timeout)
    if format_ == "json":
        click.echo(json.dumps(status_json(folder, found)))
    else:
        for line in status_lines(folder, found):
            click.echo(line)
    ctx.exit(0 if found.health is Health.RUNNING else 1)


def _folder(data: Path | None) -> UpFolder:
    return UpFolder((data or default_folder()).absolute())
