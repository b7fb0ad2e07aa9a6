"""``hopline replay``: replay the commands of a capture."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import click

from streams.capture.closing import close
from streams.capture.compare import Comparison
from streams.capture.container import CaptureReader
from streams.capture.destination import demand_topics
from streams.capture.forecast import Naming
from streams.capture.job import Job, demand_name
from streams.capture.replay import Clock, Replayed
from streams.capture.replay import replay as run
from streams.capture.rerun import Rerun
from streams.capture.schedule import Contents, contents_of, renamed
from streams.cli.exit_codes import INTERRUPTED, NOT_OK
from streams.cli.interruptible import interruptible
from streams.cli.look.replay_dry_run import catalog_topology, predict
from streams.cli.look.replay_job import home_of_job, new_job
from streams.cli.look.replay_raw import replay_raw
from streams.cli.look.replay_text import (
    compared_text,
    outcome_json,
    outcome_text,
    progress_text,
    sent,
)
from streams.cli.options.answer import format_option
from streams.cli.options.confirm import Changes, confirm, yes_option
from streams.cli.options.duration import DURATION
from streams.cli.options.parameters import TOPIC_PREFIX, WithUnit
from streams.cli.options.settings import config_option, properties_option, setting_option
from streams.cli.options.shared import cluster_of
from streams.cli.options.together import together
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.terminal import show
from streams.errors import InputError
from streams.kafka import Cluster
from streams.prose import counted
from streams.topology import Topology


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """The options of ``hopline replay``."""

    bootstrap: str
    prefix: str | None
    topology: Topology | None
    speed: float | None
    rate: float | None
    asap: bool
    raw: bool
    dry_run: bool
    job: str | None
    loops: int
    keep: bool | None
    quiet: int
    timeout: int
    format_: str


@click.command()
@click.argument("file", metavar="CAPTURE", type=click.Path())
@setting_option("", "bootstrap")
@properties_option
@config_option
@click.option(
    "--prefix", type=TOPIC_PREFIX, help="Prefix of the topics to send to. [default: the file's own]"
)
@click.option(
    "--topology",
    type=TopologyArgument(),
    metavar="T",
    help="Topology that predicts where messages go. [default: the cluster's catalog]",
)
@click.option(
    "--speed",
    type=WithUnit("speed", "x"),
    help="Speed factor: 2 or 2x is twice as fast, 0.5 half as fast. [default: 1]",
)
@click.option(
    "--rate", type=WithUnit("rate", "/s"), metavar="N/s", help="Commands per second, evenly spaced."
)
@click.option("--asap", is_flag=True, help="Send as fast as possible.")
@click.option(
    "--raw",
    is_flag=True,
    help="Restore all records into empty topics, in their order, but with new offsets.",
)
@click.option("--dry-run", is_flag=True, help="Predict the result, and produce nothing.")
@yes_option
@click.option(
    "--job",
    metavar="ID",
    help="Name of the job to start or resume. [default: a new one]",
)
@click.option(
    "--loop",
    "loops",
    default=1,
    show_default=True,
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of repetitions, each with new conversations.",
)
@click.option(
    "--keep-conversations/--new-conversations",
    "keep",
    default=None,
    help="Keep conversation ids, or derive new ones from the job. [default: keep; new with --loop]",
)
@click.option(
    "--settle",
    "quiet",
    default="10s",
    show_default=True,
    type=DURATION,
    help="Time without a new delivery before the closing report; 0 for no report.",
)
@click.option(
    "--timeout",
    default="30s",
    show_default=True,
    type=DURATION,
    help="Maximum time without a response from Kafka.",
)
@format_option()
@click.pass_context
@together(ReplayOptions)
def replay(
    ctx: click.Context,
    file: str,
    given: ReplayOptions,
) -> None:
    """Replay the commands of a capture, keeping each dialog's original order and timing.

    The whole capture is read before the first command is sent, so nothing is sent from a damaged
    capture. The job's position is committed together with the commands: after any interruption,
    the same command with --job ID continues, and nothing is sent twice. At the end, deliveries
    are compared with the captured run and with the prediction of the routing core.

    If conversations keep their ids, the cluster must have none of these dialogs. With new ids
    (--new-conversations), the monitor and 'hopline verify' can distinguish the replayed dialogs
    from live ones.

    \b
    hopline replay friday --topology new --dry-run
    hopline replay friday --topology new --speed 10x
    hopline replay friday --rate 500/s --loop 3 --job load
    hopline replay friday --raw --prefix copy.
    """
    if given.raw:
        if (
            given.asap
            or given.topology
            or given.loops > 1
            or (given.speed, given.rate, given.keep) != (None, None, None)
        ):
            raise click.UsageError("--raw allows only --prefix, --job and --dry-run.")
        _raw(ctx, CaptureReader(file), given)
    if sum((given.asap, given.speed is not None, given.rate is not None)) > 1:
        raise click.UsageError("--speed, --rate and --asap cannot be combined.")
    if given.keep and given.loops > 1:
        raise click.UsageError("--loop and --keep-conversations cannot be combined.")
    # Failures are reported record by record; librdkafka would log every connection attempt.
    logging.getLogger("hopline.librdkafka").setLevel(logging.CRITICAL)
    reader = CaptureReader(file)
    naming = Naming(
        demand_name(given.job or new_job()), given.keep is False or given.loops > 1, given.loops
    )
    as_recorded = 1.0 if given.speed is None else given.speed
    pace = None if given.asap or given.rate is not None else as_recorded
    target = reader.metadata.prefix if given.prefix is None else given.prefix
    rerun = Rerun(reader, _commands(reader), target, pace, given.rate, naming)
    dues = rerun.dues()
    if given.dry_run:
        predict(
            rerun,
            _topics(rerun),
            given.topology,
            given.bootstrap,
            given.timeout / 1000,
            given.format_,
            _report,
        )
        return
    cluster = cluster_of(given.bootstrap, target)
    cluster.wait(given.timeout / 1000, _report)
    topics = _topics(rerun)
    demand_topics(cluster, topics, given.timeout / 1000)
    confirm(Changes(cluster, tuple(sent(rerun, topics))))
    work = Job(
        cluster,
        naming.job,
        plan=rerun.digest(),
        anchor=topics[0],
        now=_epoch(),
        instance=home_of_job(cluster, topics[0], _report if given.job else None),
        timeout=given.timeout / 1000,
    )
    before, found = work.standing.position, None
    if work.resumed:
        records = counted(rerun.commands, "record")
        _report(f"replay: job {work.name} resumes after {before:,} of {records}")
    with interruptible(signal.SIGINT) as stopped:
        outcome = run(
            islice(dues, before, None),
            work,
            Clock(time.monotonic, _epoch, time.sleep),
            restate=rerun.restate,
            stopped=stopped,
            report=lambda progress: _report(progress_text(rerun, before, progress)),
        )
        if outcome.good and not outcome.stopped and given.quiet:
            found = _closed(rerun, cluster, work, given.topology, given.quiet / 1000, stopped)
    work.close()
    _show(rerun, work, outcome, found, given.format_)
    bad = not outcome.good or (found is not None and not found.good)
    ctx.exit(INTERRUPTED if outcome.stopped and outcome.good else NOT_OK if bad else 0)


def _raw(ctx: click.Context, reader: CaptureReader, given: ReplayOptions) -> None:
    prefix = reader.metadata.prefix if given.prefix is None else given.prefix
    cluster = cluster_of(given.bootstrap, prefix)
    with interruptible(signal.SIGINT) as stopped:
        code = replay_raw(
            reader, cluster, job=given.job, dry_run=given.dry_run, timeout=given.timeout / 1000,
            stopped=stopped, format_=given.format_,
        )  # fmt: skip
    ctx.exit(code)


def _epoch() -> int:
    return time.time_ns() // 1_000_000


def _commands(reader: CaptureReader) -> Contents:
    found = contents_of(reader, reader.metadata.prefix)
    if not found.commands:
        raise InputError(
            f"The capture has {counted(found.skipped, 'record')}, but no commands.",
            file=str(reader.path),
            remedy=f"Capture the topics {reader.metadata.prefix}cmd.INSTANCE, which contain the "
            "commands.",
        )
    return found


def _topics(rerun: Rerun) -> list[str]:
    own = rerun.reader.metadata.prefix
    return [renamed(name, own, rerun.prefix) for name, _ in rerun.found.topics]


def _closed(
    rerun: Rerun, cluster: Cluster, work: Job, topology: Topology | None, quiet: float,
    stopped: Callable[[], bool],
) -> Comparison | None:  # fmt: skip
    return close(
        rerun,
        cluster,
        topology or catalog_topology(cluster),
        began=work.standing.began,
        quiet=quiet,
        stopped=stopped,
        report=lambda arrived, wanted: _report(
            f"replay: {arrived:,} of {counted(wanted, 'message')} arrived so far"
        ),
    )


def _show(
    rerun: Rerun, work: Job, outcome: Replayed, found: Comparison | None, format_: str
) -> None:
    if format_ == "json":
        click.echo(json.dumps(outcome_json(rerun, work, outcome, found)))
        return
    for one in outcome.rejections:
        _report(f"record {one.number} ({one.topic}, {one.conversation}) was rejected: {one.reason}")
    if outcome.failed > len(outcome.rejections):
        _report(f"... and {outcome.failed - len(outcome.rejections):,} more")
    if outcome.broken:
        _report(outcome.broken)
    for line in outcome_text(rerun, work, outcome):
        show(line)
    if found is not None:
        show(compared_text(found))


def _report(line: str) -> None:
    click.echo(line, err=True)
