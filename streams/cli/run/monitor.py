"""``hopline monitor``: stream latency, duplicates and paths with Spark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Event

import click

from streams.cli.options.duration import DURATION
from streams.cli.options.parameters import ADDRESS, Finite
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.shown import refuse_store_password
from streams.cli.options.together import together
from streams.monitor import MonitorConfig, run
from streams.signals import call_on_stop

_DEFAULT = MonitorConfig(bootstrap="")


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """The options of ``hopline monitor``."""

    bootstrap: str
    prefix: str
    store: str
    master: str
    checkpoint: Path
    window: int
    horizon: int
    job: str | None
    keep: float | None
    until_idle: float | None
    ready_file: Path | None
    http: str | None


@click.command()
@cluster_options
@click.option(
    "--store",
    default=_DEFAULT.store,
    show_default=True,
    metavar="URL",
    callback=refuse_store_password,
    help="Database to write to (SQLAlchemy URL): SQLite or PostgreSQL.",
)
@click.option(
    "--master", default=_DEFAULT.master, show_default=True, metavar="URL", help="Spark master URL."
)
@click.option(
    "--checkpoint",
    default=_DEFAULT.checkpoint,
    show_default=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Checkpoint folder: offsets and state to resume from, and Spark's log.",
)
@click.option(
    "--window", default="10s", show_default=True, type=DURATION, help="Length of a window."
)
@click.option(
    "--duplicate-horizon",
    "horizon",
    default="10m",
    show_default=True,
    type=DURATION,
    help="Maximum time between compared copies. A message that takes longer counts as missing.",
)
@click.option(
    "--job",
    metavar="ID",
    help="Monitor only the dialogs of this replay, into a separate store. [default: all except "
    "those to which replays gave new ids]",
)
@click.option(
    "--keep",
    metavar="DAYS",
    type=Finite(min=0, min_open=True),
    help="Delete rows older than this from the store. [default: keep all]",
)
@click.option(
    "--until-idle",
    type=Finite(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop if no record arrives for this long.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to create when all queries are running.",
)
@click.option(
    "--http",
    type=ADDRESS,
    metavar="[HOST:]PORT",
    help="Serve /metrics (Prometheus), /healthz and /readyz; a port alone means loopback.",
)
@together(MonitorOptions)
def monitor(
    given: MonitorOptions,
) -> None:
    """Stream latency, duplicates and events into a SQL store.

    Runs until it is interrupted. With the same checkpoint and store, a restart continues where
    it stopped. Needs Java 17 or newer.
    """
    config = MonitorConfig(
        bootstrap=given.bootstrap,
        prefix=given.prefix,
        properties=cluster_of(given.bootstrap, given.prefix).properties,
        store=given.store,
        master=given.master,
        checkpoint=given.checkpoint,
        window=given.window,
        horizon=given.horizon,
        job=given.job,
        keep=given.keep,
        until_idle=given.until_idle,
        ready_file=given.ready_file,
        http=given.http,
    )
    run(config, stop=_stop_on_signal(), say=lambda line: click.echo(f"monitor: {line}", err=True))


def _stop_on_signal() -> Event:
    """Return an event that the first signal sets; a second signal exits immediately."""
    stop = Event()
    call_on_stop(stop.set, once=True)
    return stop
