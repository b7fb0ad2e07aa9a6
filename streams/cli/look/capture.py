"""``hopline capture``: make captures from Kafka's topics, foreign recordings or other captures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from streams.capture.codec import Codec
from streams.capture.recording import Point
from streams.cli.group import SuggestingGroup
from streams.cli.look.capture_import import import_
from streams.cli.look.capture_points import POINT
from streams.cli.look.capture_record import Order, run, show
from streams.cli.look.capture_slice import slice_
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.parts import clusters_of_parts, part_option
from streams.cli.options.renamed import since_option, until_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.together import together
from streams.cli.options.topology import TopologyArgument
from streams.errors import UsageError
from streams.kafka import specs_of
from streams.topology import Topology

_POINT = "TIME|[TOPIC[/PARTITION]]@OFFSET"


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The options of ``hopline capture``."""

    output: Path | None
    topology: str | None
    chosen: str | None
    instances: tuple[str, ...]
    patterns: tuple[str, ...]
    since: tuple[Point, ...]
    until: tuple[Point, ...]
    follow: bool
    part_size: int
    codec: str
    timeout: float
    format_: str
    bootstrap: str
    prefix: str


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="DIR", help="Output folder."
)
@click.option("--topology", metavar="TOPOLOGY", help="Record this topology's topics, and its name.")
@part_option
@click.option(
    "--instance", "instances", multiple=True, metavar="NAME", help="Only topics of these instances."
)
@click.option(
    "--topic", "patterns", multiple=True, metavar="PATTERN",
    help="Only topics that match these patterns, such as 'cmd.*'.",
)  # fmt: skip
@since_option(
    multiple=True, type=POINT, metavar=_POINT,
    help="Start position. May be repeated.  [default: where the logs begin]",
)  # fmt: skip
@until_option(
    multiple=True, type=POINT, metavar=_POINT,
    help="End position (exclusive).  [default: where the logs end now]",
)  # fmt: skip
@click.option("--follow", is_flag=True, help="Keep recording new records until interrupted.")
@click.option(
    "--part-size", default=256, show_default=True, type=click.IntRange(min=1), metavar="MB",
    help="Size before compression at which a new file begins.",
)  # fmt: skip
@click.option(
    "--codec", default=Codec.ZSTANDARD.value, show_default=True,
    type=click.Choice([codec.value for codec in Codec]), help="Compression of the files.",
)  # fmt: skip
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
@together(CaptureOptions)
def capture(ctx: click.Context, given: CaptureOptions) -> None:
    """Record Kafka topics to files for inspect, diff, verify and replay.

    The command records all topics of the prefix except `presence`, `metric` and `reading` (--topic
    selects any topic). It stores each committed record with topic, partition, offset, timestamp,
    key, headers and value. Without --follow, it stops at the current ends of the topics. After an
    interruption, run the same command again: it continues, and no record is missing or duplicated.

    \b
      hopline capture --output friday
      hopline capture --since 2026-01-05T08:00 --until 2026-01-05T09:00 -o morning
      hopline capture --topic 'cmd.*' --follow --output commands

    The exit code is 1 if records were deleted before they could be read. `hopline generate
    traffic` makes a synthetic capture, `hopline simulate --capture` writes a simulated run.
    """
    if ctx.invoked_subcommand is not None:
        if given.output is not None:
            raise UsageError(
                f"--output is given before '{ctx.invoked_subcommand}'.",
                "Write it after the subcommand.",
            )
        return
    if given.output is None:
        raise UsageError("--output is missing.", "Give the folder to write: --output DIR.")
    if given.follow and given.until:
        raise UsageError("--follow and --until cannot be combined.", "Leave one out.")
    if given.chosen is not None and given.topology is None:
        raise UsageError("--cluster needs --topology.", "Give --topology too.")
    loaded = (
        Topology()
        if given.topology is None
        else TopologyArgument().convert(given.topology, None, ctx)
    )
    parts = list(clusters_of_parts(loaded, given.chosen, given.bootstrap, given.prefix))
    if len(parts) > 1:
        raise UsageError(
            f"The topology has {len(parts)} clusters; a capture records one.",
            f"Choose one, such as --cluster {parts[0][0].name}.",
        )
    [(part, cluster)] = parts
    needed = None
    if given.topology is not None:
        needed = frozenset(spec.name for spec in specs_of(part.topology, cluster.topics))
    name = "" if given.topology is None else Path(given.topology).resolve().name
    words = {  # the names that manifests use
        "--topology": name,
        "--cluster": given.chosen or "",
        "--prefix": cluster.topics.prefix,
        "--instance": " ".join(sorted(given.instances)),
        "--topic": " ".join(sorted(given.patterns)),
        "--from": " ".join(map(str, given.since)),
        "--to": " ".join(map(str, given.until)),
    }
    order = Order(
        given.output,
        name,
        needed,
        given.instances,
        given.patterns,
        given.since,
        given.until,
        words,
        given.follow,
        given.part_size * 1_000_000,
        Codec(given.codec),
    )
    ctx.exit(show(given.output, *run(cluster, order, given.timeout), given.format_))


capture.add_command(import_)
capture.add_command(slice_)
