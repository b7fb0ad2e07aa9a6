"""``hopline kafka``: the embedded broker, in the background."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.group import SuggestingGroup
from streams.cli.options.answer import format_option
from streams.cli.text.values import utc
from streams.embedded import (
    KAFKA_VERSION,
    Broker,
    Condition,
    default_data_dir,
    prepare,
    spark_jars,
)

_F = TypeVar("_F", bound=Callable[..., Any])


def _data_option(function: _F) -> _F:
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Folder for the broker's data and state. [default: .hopline/kafka]",
    )(function)


@click.group(cls=SuggestingGroup)
def kafka() -> None:
    """Run a local Kafka broker on loopback, without a container image.

    Needs Java 17 or newer. The command downloads Kafka's jars once from Maven Central
    (HOPLINE_MAVEN names a mirror) into the user's cache (HOPLINE_CACHE). If KAFKA_HOME names an
    unpacked Kafka, the command uses its jars.
    """


@kafka.command(short_help="Start the broker and leave it running.")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=9092,
    show_default=True,
    help="Port to listen on; 0 selects a free port.",
)
@_data_option
@format_option()
def start(port: int, data: Path | None, format_: str) -> None:
    """Start the broker in the background, and print its bootstrap address."""
    broker = _broker(data, port)
    running = broker.start()
    if format_ == "json":
        click.echo(json.dumps(_description(broker)))
        return
    click.echo(
        f"A Kafka broker is running on {broker.data.path} (process {running.pid}); "
        "`hopline kafka stop` ends it.",
        err=True,
    )
    click.echo(running.bootstrap)


@kafka.command(short_help="Stop the broker.")
@_data_option
@format_option()
def stop(data: Path | None, format_: str) -> None:
    """Stop the broker, and keep its data. Also succeeds if no broker is running."""
    broker = _broker(data)
    stopped = broker.stop()
    if format_ == "json":
        click.echo(json.dumps({**_description(broker), "stopped": stopped}))
    elif stopped:
        click.echo(f"The broker on {broker.data.path} has stopped.")
    else:
        click.echo(f"No broker is running on {broker.data.path}.")


@kafka.command(short_help="Show the broker's state.")
@_data_option
@format_option()
@click.pass_context
def status(ctx: click.Context, data: Path | None, format_: str) -> None:
    """Show the broker's state. The exit code is 0 if it runs and answers, otherwise 1."""
    broker = _broker(data)
    description = _description(broker)
    if format_ == "json":
        click.echo(json.dumps(description))
    else:
        for name, value in description.items():
            if value is not None:
                click.echo(f"{name:<10} {value}")
    running = description["condition"] == Condition.RUNNING.value
    ctx.exit(0 if running else NOT_OK)


@kafka.command("prepare", short_help="Download and prepare the files needed to start.")
@click.option("--spark", is_flag=True, help="Also download the jars of Spark's connectors.")
def prepare_(spark: bool) -> None:
    """Download the jars and create the class archive that halves the startup time.

    If all files exist, the command does nothing.
    """
    if prepare():
        click.echo(f"Kafka {KAFKA_VERSION} is ready to start.", err=True)
    if spark:
        spark_jars()


def _broker(data: Path | None, port: int = 0) -> Broker:
    return Broker(data or default_data_dir(), port=port, lasting=True)


def _description(broker: Broker) -> dict[str, Any]:
    condition, running = broker.condition(), broker.data.recorded()
    alive = running if condition.is_alive else None
    return {
        "condition": condition.value,
        "bootstrap": alive.bootstrap if alive else None,
        "pid": alive.pid if alive else None,
        "cluster": broker.data.cluster(),
        "started": utc(alive.started) if alive else None,
        "data": str(broker.data.path),
        "log": str(broker.data.log_file),
    }
