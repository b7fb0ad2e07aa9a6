"""``hopline diff``: show how a change to the topology, or a failure, affects every flow."""

from __future__ import annotations

import json
import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams.analysis.diff import compare_topologies, difference_text, remove
from streams.analysis.estate import Estate
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.terminal import BAD, CARE, ENDINGS, show
from streams.errors import UsageError
from streams.prose import counted
from streams.topology import Topology

if TYPE_CHECKING:
    from streams.capture.judge import Judge, Tally

_WORDS = {r"^STOPS(?=  )": BAD, r"^(?:MOVES|LESS REDUNDANT)(?=  )": CARE, **ENDINGS}
_SPARK_LOG = Path(".hopline/diff/spark.log")
_UNJUDGED = {
    "unknown_sender": "from a sender that is in neither topology",
    "no_begin": "whose BEGIN is not captured",
    "unreadable": "unreadable",
}


@click.command()
@click.argument("old", type=TopologyArgument())
@click.argument("new", type=TopologyArgument(), required=False)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Remove an object from NEW: INSTANCE, INSTANCE/DATABASE, INSTANCE/DATABASE/ROUTE "
    "(msdb/ROUTE too), or a link as INSTANCE--INSTANCE. May be repeated.",
)
@click.option(
    "--capture",
    "captures",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Count the affected messages of a capture. May be repeated.",
)
@click.option(
    "--engine",
    default="local",
    show_default=True,
    type=click.Choice(["local", "spark"]),
    help="Engine that reads the captures: this process, or Spark (needs Java 17 or newer).",
)
@click.option(
    "--master", default="local[*]", show_default=True, metavar="URL", help="Spark master URL."
)
@format_option()
@click.pass_context
def diff(
    ctx: click.Context,
    old: Topology,
    new: Topology | None,
    without: tuple[str, ...],
    captures: tuple[Path, ...],
    engine: str,
    master: str,
    format_: str,
) -> None:
    """Compare two topologies: list flows that stop, move, lose redundancy, change path or begin.

    OLD and NEW are folders or names of shipped topologies; NEW defaults to OLD. --without removes
    an object from NEW, for example to see what happens if a gateway fails. A flow stops if no path
    in NEW leads to a broker id or database that the flow reached in OLD. A flow loses redundancy if
    fewer paths lead there.

    The exit code is 1 if anything changes, or if captured messages arrived anywhere other than
    where OLD sends them.
    """
    if engine == "spark" and not captures:
        raise UsageError("--engine spark needs a capture.", "Add --capture FILE.")
    if new is None and not without and not captures:  # perhaps a script's variable is empty
        click.echo("hopline: OLD is compared with itself. Give NEW, or --without NAME.", err=True)
    now = time.time()
    changed = reduce(remove, without, old if new is None else new)
    tally = _tally(captures, old, changed, now, engine, master) if captures else None
    difference = compare_topologies(
        Estate(old, now), Estate(changed, now), None if tally is None else tally.flows
    )
    if format_ == "json":
        capture = {} if tally is None else {"capture": tally.to_json()}
        answer = {**difference.to_json(), **capture}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        show(difference_text(difference), _WORDS)
        if tally is not None:
            click.echo(f"\n{_captured(tally)}")
    agreed = tally is None or not tally.elsewhere
    ctx.exit(0 if difference.same and agreed else NOT_OK)


def _tally(
    captures: tuple[Path, ...], old: Topology, new: Topology, now: float, engine: str, master: str
) -> Tally:
    # Only reading captures needs an extra; without captures the base install is enough.
    from streams.capture.judge import Judge, judge_captures, tally

    judge = Judge(old, new, now)
    if engine == "spark":
        return _on_spark(captures, judge, master)
    return tally(judge_captures(captures, judge))


def _on_spark(captures: tuple[Path, ...], judge: Judge, master: str) -> Tally:
    from streams.capture import readers_of
    from streams.capture.dialogs import merge
    from streams.capture.judge import Tally, tally
    from streams.monitor import Source, count_captures

    sources = [
        Source(r.path, judge.talk_reader(r.metadata.prefix), r.counts.records if r.counts else None)
        for r in readers_of(captures)
    ]
    return count_captures(
        sources, merge, judge.rows, tally, Tally.plus, master=master, log=_SPARK_LOG
    )


def _captured(tally: Tally) -> str:
    """Return how many messages were captured, how many could not be judged, and why."""
    counts = tally.to_json()
    left = [f"{counts[key]:,} {why}" for key, why in _UNJUDGED.items() if counts[key]]
    text = f"Captured: {', '.join([counted(counts['messages'], 'message'), *left])}."
    return f"{text}\n{_agreement(tally)}" if tally.arrived else text


def _agreement(tally: Tally) -> str:
    """Return how many messages have arrived where the old topology sends them."""
    agreed = tally.arrived - tally.elsewhere
    share = 100 * agreed // tally.arrived  # a share below 100 % is never rounded up to 100 %
    return (
        f"Arrived: {counted(tally.arrived, 'message')}, {share} % of them where OLD sends them"
        f"{f'; {tally.elsewhere:,} elsewhere' if tally.elsewhere else ''}."
    )
