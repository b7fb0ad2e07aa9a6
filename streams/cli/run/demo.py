"""``hopline demo``: run the main job from end to end."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from streams.cli.look.verify_text import WORDS
from streams.cli.options.parameters import Finite
from streams.cli.options.renamed import RenamedOption
from streams.cli.text.terminal import painted
from streams.demo import DATA, Options, Stage, run, stop

_EVERY = 5.0  # seconds between lines of progress if they cannot overwrite each other


@click.command()
@click.option(
    "--data",
    default=DATA,
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for Kafka's data, logs and the monitor's store; emptied first.",
)
@click.option("--sabotage", is_flag=True, help="Hide one delivered record from the verification.")
@click.option(
    "--speed", metavar="N", default=2.0, show_default=True, type=Finite(min=0, min_open=True),
    help="Replay speed; 2 is twice as fast.",
)  # fmt: skip
@click.option(
    "--keep-running", "keep", cls=RenamedOption, former="--keep", is_flag=True,
    help="Leave the system running afterwards, with a dashboard.",
)  # fmt: skip
@click.option(
    "--stop", "ends", is_flag=True, help="Stop a system that was started with --keep-running."
)
@click.pass_context
def demo(
    ctx: click.Context, data: Path, sabotage: bool, speed: float, keep: bool, ends: bool
) -> None:
    """Run a demonstration on this machine: a path, the running system, and several targets.

    Needs Java 17 or newer for Kafka and Spark. The exit code is 0 only if an audit of all
    topics at the end finds nothing lost or duplicated, otherwise 1.
    """
    if ends:
        click.echo("The demo's system has stopped." if stop(data) else "Nothing is running.")
        return
    terminal = sys.stderr.isatty()
    reported_at = 0.0

    def progress(line: str) -> None:
        nonlocal reported_at
        if terminal:
            click.echo(f"\r\x1b[K{line}", nl=False, err=True)
        elif line and time.monotonic() - reported_at > _EVERY:
            click.echo(line, err=True)
            reported_at = time.monotonic()

    def say(text: str) -> None:
        click.echo(painted(text, WORDS))  # not folded, because it contains commands to copy

    ctx.exit(run(Stage(Options(data, sabotage, speed, keep), say, progress)))
