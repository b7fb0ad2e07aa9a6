"""``hopline capture``: record Kafka topics to files."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from streams.capture.codec import Codec
from streams.capture.folder import CaptureFolder
from streams.capture.manifest import MANIFEST, Gap, Manifest, Recording, read_manifest, total
from streams.capture.record import CaptureOrigin, Metadata
from streams.capture.recorder import Progress, Recorded, Recorder, learn_from
from streams.capture.recording import Point, begin, choose, go_on
from streams.cli.exit_codes import INTERRUPTED, NOT_OK
from streams.cli.interruptible import interruptible
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.kafka.listing import topic_names
from streams.prose import counted
from streams.workers.collector import collecting_rarely

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Order:
    """The options of a recording.

    ``needed`` are the topics of ``topology``, or None without a topology.
    """

    output: Path
    topology: str
    needed: frozenset[str] | None
    instances: tuple[str, ...]
    patterns: tuple[str, ...]
    since: tuple[Point, ...]
    until: tuple[Point, ...]
    words: dict[str, str]
    follow: bool
    split: int
    codec: Codec


def run(cluster: Cluster, order: Order, timeout: float) -> tuple[Manifest, Recorded | None]:
    """Record; return the manifest and the result (None if the capture was already complete)."""
    former = _former(order.output)
    if former is not None and former.complete and not order.follow:
        return former, None
    now = time.time_ns() // 1_000_000
    if any(point.moment is not None and point.moment > now for point in order.until):
        raise UsageError(
            "--until is in the future.", "Use --follow, and stop the recording at that time."
        )
    cluster.wait(timeout, _report)
    topics = _chosen(cluster, order, topic_names(cluster, timeout))
    # A resumed recording has positions; a topic that is new to the recording starts at the
    # beginning of its log.
    since = order.since if former is None else ()
    recording = begin(
        cluster, topics, order.words, since=since, until=order.until, follow=order.follow
    )
    if former is not None:
        recording = go_on(former, recording, follow=order.follow)
        _report(f"capture: resuming after {counted(total(former.parts).records, 'record')}")
    prefix = cluster.topics.prefix
    metadata = Metadata(CaptureOrigin.CAPTURED, prefix, order.topology, now, learn_from(cluster))
    with interruptible(signal.SIGINT, signal.SIGTERM) as stopped, collecting_rarely():
        folder = CaptureFolder(
            order.output, metadata, order.split, resume=former is not None, recording=recording,
            codec=order.codec,
        )  # fmt: skip
        # Recorded topics may have been deleted since, so select only among new topics.
        known = dict.fromkeys(recording.begins, 0)
        recorder = Recorder(
            monotonic=time.monotonic,
            stopped=stopped,
            report=_reporter(recording),
            missed=_missed,
            chosen=lambda existing: _chosen(cluster, order, {**known, **existing}),
            patience=timeout,
        )
        outcome = recorder.record(cluster, folder, recording)
    return folder.manifest, outcome


def _chosen(cluster: Cluster, order: Order, existing: Mapping[str, int]) -> list[str]:
    return choose(
        cluster, existing, needed=order.needed, instances=order.instances, patterns=order.patterns
    )


def _former(folder: Path) -> Manifest | None:
    return read_manifest(folder) if (folder / MANIFEST).exists() else None


def _reporter(recording: Recording) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        line = f"capture: {counted(progress.records, 'record')}, {progress.rate:,.0f}/s"
        if recording.ends is not None:
            line += f", {counted(progress.left, 'offset')} left"
            if progress.rate >= 1:
                line += f", about {progress.left / progress.rate:,.0f} s"
        _report(line)

    return report


def _missed(gap: Gap) -> None:
    _report(_gap(gap))


def _gap(gap: Gap) -> str:
    return (
        f"{gap.topic}/{gap.partition}: offsets {gap.begin:,} to {gap.end - 1:,} were deleted "
        f"before they were read: at most {counted(gap.end - gap.begin, 'record')} lost"
    )


def show(output: Path, manifest: Manifest, outcome: Recorded | None, format_: str) -> int:
    """Print the result; return the exit code."""
    if format_ == "json":
        click.echo(json.dumps(_as_json(output, manifest, outcome), ensure_ascii=False))
    else:
        for line in _lines(output, manifest, outcome):
            click.echo(line)
    if outcome is not None and not outcome.complete:
        return INTERRUPTED
    return NOT_OK if manifest.gaps or (outcome and outcome.unreadable) else 0


def _as_json(output: Path, manifest: Manifest, outcome: Recorded | None) -> dict[str, object]:
    counts = total(manifest.parts)
    return {
        "folder": str(output),
        "complete": manifest.complete,
        "records": counts.records,
        "topics": len(manifest.positions),
        "parts": len(manifest.parts),
        "size": sum(part.size for part in manifest.parts),
        "first": counts.first,
        "last": counts.last,
        "recorded": 0 if outcome is None else outcome.records,
        "seconds": 0.0 if outcome is None else round(outcome.seconds, 3),
        "unreadable": 0 if outcome is None else outcome.unreadable,
        "gaps": [
            {"topic": g.topic, "partition": g.partition, "begin": g.begin, "end": g.end}
            for g in manifest.gaps
        ],
    }


def _lines(output: Path, manifest: Manifest, outcome: Recorded | None) -> Iterator[str]:
    counts = total(manifest.parts)
    size = sum(part.size for part in manifest.parts) / _MEGABYTE
    topics = counted(len(manifest.positions), "topic")
    what = (
        f"{counted(counts.records, 'record')} of {topics} in "
        f"{counted(len(manifest.parts), 'part')}, {size:,.1f} MB"
    )
    if outcome is None:
        yield f"{output} is already complete: {what}. Use --follow to continue."
        return
    rate = outcome.records / max(outcome.seconds, 1e-9)
    if outcome.complete:
        yield f"{output}: {what}; {outcome.seconds:,.1f} s, {rate:,.0f}/s"
    else:
        yield f"{output}: stopped with {what}. Repeat the command to resume."
    if outcome.unreadable:
        yield (
            f"{counted(outcome.unreadable, 'record')} without headers: a header name is not "
            "UTF-8, so the client library cannot read the headers"
        )
    for gap in manifest.gaps[:20]:
        yield _gap(gap)


def _report(line: str) -> None:
    click.echo(line, err=True)
