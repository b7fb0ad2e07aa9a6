"""``hopline replay --raw``: restore records to their topics."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import click

from streams.capture.container import CaptureReader
from streams.capture.job import Job
from streams.capture.raw import PutBack, RawPlan, demand_room, plan_raw, put_back
from streams.cli.exit_codes import INTERRUPTED, NOT_OK
from streams.cli.options.confirm import Changes, confirm, step
from streams.errors import InputError
from streams.kafka import Cluster
from streams.prose import counted, listed

_PROGRESS_EVERY = 1.0
_LISTED = 20


def replay_raw(
    reader: CaptureReader,
    cluster: Cluster,
    *,
    job: str | None,
    dry_run: bool,
    timeout: float,
    stopped: Callable[[], bool],
    format_: str,
) -> int:
    """Restore the records of a capture into a cluster's topics; return the exit code."""
    to_prefix = cluster.topics.prefix
    plan = plan_raw(reader, to_prefix)
    if not plan.records:
        raise InputError(
            "The capture has no record that can be restored.", file=str(reader.path),
            remedy="Capture the message topics: cmd, queue, event and others.",
        )  # fmt: skip
    cluster.wait(timeout, _report)
    if dry_run:
        demand_room(cluster, plan, resumed=False)
        _show(plan, None, "", format_)
        return 0
    confirm(
        Changes(
            cluster,
            (step(f"restore {counted(plan.records, 'record')} into topics", sorted(plan.topics)),),
        )
    )
    name = job or plan.name.replace(" ", "-")
    anchor = min(plan.topics)
    now = time.time_ns() // 1_000_000
    taken_up = Job(cluster, name, plan=plan.name, anchor=anchor, now=now, timeout=timeout)
    try:
        demand_room(cluster, plan, resumed=taken_up.resumed)
        if taken_up.resumed:
            _report(f"replay: resuming after {counted(taken_up.standing.position, 'record')}")
        outcome = put_back(
            reader, taken_up, to_prefix, stopped=stopped, report=_reporter(plan.records)
        )
    finally:
        taken_up.close()
    _show(plan, outcome, name, format_)
    if outcome.refused:
        return NOT_OK
    return INTERRUPTED if outcome.done < plan.records else 0


def _reporter(total: int) -> Callable[[int], None]:
    reported_at, before = time.monotonic(), 0

    def report(done: int) -> None:
        nonlocal reported_at, before
        now = time.monotonic()
        if now - reported_at < _PROGRESS_EVERY:
            return
        rate = (done - before) / (now - reported_at)
        _report(
            f"replay: {done:,} of {counted(total, 'record')}, {rate:,.0f}/s, "
            f"about {(total - done) / max(rate, 1):,.0f} s left"
        )
        reported_at, before = now, done

    return report


def _show(plan: RawPlan, outcome: PutBack | None, job: str, format_: str) -> None:
    if format_ == "json":
        result = {
            "job": job,
            "records": plan.records,
            "done": 0 if outcome is None else outcome.done,
            "now": 0 if outcome is None else outcome.now,
            "refused": 0 if outcome is None else len(outcome.refused),
            "stamped": plan.stamped,
            "left_out": plan.left,
            "topics": plan.topics,
        }
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    for line in _lines(plan, outcome, job):
        click.echo(line)


def _lines(plan: RawPlan, outcome: PutBack | None, job: str) -> Iterator[str]:
    topics = counted(len(plan.topics), "topic")
    if outcome is None:
        yield f"{counted(plan.records, 'record')} would be restored into {topics}:"
        yield from (f"  {count:>11,}  {topic}" for topic, count in sorted(plan.topics.items()))
    elif outcome.done < plan.records:
        yield (
            f"Stopped: {outcome.done:,} of {counted(plan.records, 'record')} were restored. "
            f"Resume with --job {job}."
        )
    else:
        yield f"{counted(plan.records, 'record')} were restored into {topics} (job {job})."
    if plan.stamped:
        yield (
            f"{counted(plan.stamped, 'record')} with the current time, because their topic uses "
            "LogAppendTime."
        )
    if plan.left:
        left = listed(f"{topic} {count:,}" for topic, count in sorted(plan.left.items()))
        yield f"Left out, because every cluster has its own: {left}."
    refused = () if outcome is None else outcome.refused
    for record, reason in refused[:_LISTED]:
        yield f"{record.topic}/{record.partition}@{record.offset} was refused: {reason}"
    if len(refused) > _LISTED:
        yield f"... and {len(refused) - _LISTED:,} more"


def _report(line: str) -> None:
    click.echo(line, err=True)
