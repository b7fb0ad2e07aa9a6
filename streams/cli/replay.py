"""``hopline replay``: do again what applications did."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType

import click

from streams.capture.container import CaptureReader
from streams.capture.destination import KafkaSink, demand_topics
from streams.capture.replay import Clock, Progress, Replayed
from streams.capture.replay import replay as run
from streams.capture.schedule import Contents, Due, contents_of, plan, renamed
from streams.cli.answer_options import format_option
from streams.cli.duration import DURATION
from streams.cli.options import cluster_of
from streams.cli.settings import config_option, properties_option, setting_option
from streams.errors import InputError

_BAD_NEWS, _INTERRUPTED = 1, 130


@click.command()
@click.argument("file", type=click.Path())
@setting_option("", "bootstrap")
@properties_option
@config_option
@click.option("--prefix", help="Prefix of the topics to send to. [default: the file's own]")
@click.option("--speed", type=float, help="2 is twice as fast, 0.5 half as fast. [default: 1]")
@click.option("--asap", is_flag=True, help="Do not wait at all.")
@click.option(
    "--timeout",
    default="30s",
    show_default=True,
    type=DURATION,
    help="How long Kafka may be silent.",
)
@format_option()
@click.pass_context
def replay(
    ctx: click.Context,
    file: str,
    bootstrap: str,
    prefix: str | None,
    speed: float | None,
    asap: bool,
    timeout: int,
    format_: str,
) -> None:
    """Send the commands of a capture again, each dialog in its order and at its pace.

    The file is read to its end before the first record goes out, so a damaged one sends nothing.
    Conversations keep their ids: replay to a cluster that has none of these dialogs yet.
    """
    if asap and speed is not None:
        raise click.UsageError("--speed and --asap contradict each other: give one of them.")
    # What fails is told record by record; librdkafka would add a line per attempt to connect.
    logging.getLogger("hopline.librdkafka").setLevel(logging.CRITICAL)
    reader = CaptureReader(file)
    own = reader.metadata.prefix
    target = own if prefix is None else prefix
    found = _commands(reader)
    cluster = cluster_of(bootstrap, target)
    pace = None if asap else 1.0 if speed is None else speed
    dues = plan(reader, prefix=own, to_prefix=target, first=found.first, speed=pace)
    cluster.wait(timeout / 1000, _tell)
    demand_topics(cluster, [renamed(name, own, target) for name, _ in found.topics], timeout / 1000)
    outcome = _send(dues, KafkaSink(cluster, timeout / 1000), found.commands)
    _show(file, found, outcome, format_)
    ctx.exit(_BAD_NEWS if not outcome.good else _INTERRUPTED if outcome.stopped else 0)


def _commands(reader: CaptureReader) -> Contents:
    found = contents_of(reader, reader.metadata.prefix)
    if not found.commands:
        raise InputError(
            f"the capture has {found.skipped} records and no command among them",
            file=str(reader.path),
            remedy=f"capture the topics {reader.metadata.prefix}cmd.INSTANCE, where commands are",
        )
    return found


def _send(dues: Iterable[Due], sink: KafkaSink, total: int) -> Replayed:
    clock = Clock(time.monotonic, lambda: time.time_ns() // 1_000_000, time.sleep)
    width = len(f"{total:,}")

    def report(progress: Progress) -> None:
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        _tell(
            f"replay: {progress.sent:>{width},} of {total:,} records, {progress.rate:,.0f}/s, "
            f"{progress.dialogs:,} dialogs{failed}"
        )

    with _interruptible() as stopped:
        return run(dues, sink, clock, stopped=stopped, report=report)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Let the first SIGINT ask for a clean stop; a second one interrupts as ever."""
    asked = False

    def ask(_: int, __: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _show(file: str, found: Contents, outcome: Replayed, format_: str) -> None:
    if format_ == "json":
        result = {
            "file": file,
            "commands": found.commands,
            "skipped": found.skipped,
            "delivered": outcome.delivered,
            **asdict(outcome),
            "rate": _rate(outcome),
        }
        click.echo(json.dumps(result))
        return
    for one in outcome.rejections:
        _tell(f"record {one.number} ({one.topic}, {one.conversation}) was rejected: {one.reason}")
    if outcome.failed > len(outcome.rejections):
        _tell(f"... and {outcome.failed - len(outcome.rejections):,} more")
    if outcome.broken:
        _tell(outcome.broken)
    for line in _summary(found, outcome):
        click.echo(line)


def _summary(found: Contents, outcome: Replayed) -> Iterator[str]:
    yield (
        f"{'Stopped: ' if outcome.stopped else ''}{outcome.delivered:,} of {found.commands:,} "
        f"commands delivered, {outcome.dialogs:,} dialogs, {outcome.seconds:.1f} s, "
        f"{_rate(outcome):,.0f}/s"
    )
    if outcome.failed or outcome.unconfirmed:
        yield f"{outcome.failed:,} failed, {outcome.unconfirmed:,} not confirmed"
    if outcome.behind > 1:
        yield f"up to {outcome.behind:.1f} s behind the times of the capture"
    if found.skipped:
        yield f"{found.skipped:,} other records skipped: only commands are replayed"


def _rate(outcome: Replayed) -> float:
    return round(outcome.delivered / max(outcome.seconds, 1e-9), 1)


def _tell(line: str) -> None:
    click.echo(line, err=True)
