"""``hopline simulate``: a scenario on a virtual clock, with its invariants checked on the way."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from streams.simulator import Simulation, read_scenario, result_text
from streams.simulator.explore import Failure, Tale, explore, explored_text, reduce, write_case

_BAD_NEWS = 1
_SMALL = 3
"""So many failures are made small: one for each invariant, those of the lowest seeds."""


@click.command()
@click.argument("scenario", required=False, type=click.Path(path_type=Path))
@click.option("--seed", default=0, show_default=True, help="Of all chance in the run.")
@click.option("--format", "format_", default="text", type=click.Choice(["text", "json"]))
@click.option(
    "--explore",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N random topologies, scenarios and faults instead, from --seed on.",
)
@click.option("--processes", type=click.IntRange(min=1), help="Of --explore; default: the cores.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("explored"),
    show_default=True,
    help="Of --explore: the folder for what fails, made small.",
)
@click.pass_context
def simulate(
    ctx: click.Context,
    scenario: Path | None,
    seed: int,
    format_: str,
    count: int | None,
    processes: int | None,
    output: Path,
) -> None:
    """Run a scenario's file and say what became of every message.

    The same seed gives the same run, byte for byte. The exit code is 1 where a message was lost or
    came twice, or where an invariant was broken.
    """
    if (scenario is None) == (count is None):
        raise click.UsageError("Name a scenario's file, or say --explore N, and not both.")
    if count is not None:
        ctx.exit(0 if _explore(seed, count, processes, output) else _BAD_NEWS)
    assert scenario is not None, "one of the two was given"
    topology, read = read_scenario(scenario)
    result = Simulation(topology, read, seed).run()
    if format_ == "json":
        click.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    else:
        click.echo(result_text(result), nl=False)
    ctx.exit(0 if result.good else _BAD_NEWS)


def _explore(first: int, count: int, processes: int | None, output: Path) -> bool:
    """Explore; tell what was seen on stdout and how fast on stderr. Returns whether all is well."""
    began = time.monotonic()
    tales = list(_with_progress(explore(first, count, processes), count))
    seconds = time.monotonic() - began
    click.echo(explored_text(tales), nl=False)
    click.echo(f"{seconds:.1f} s, {count / seconds:.1f} runs per second", err=True)
    for tale in _worth_reducing(tales):
        _tell_failure(reduce(tale), output)
    return all(tale.violation is None for tale in tales)


def _with_progress(tales: Iterable[Tale], count: int) -> Iterator[Tale]:
    every, failed = max(1, min(100, count // 20)), 0
    for done, tale in enumerate(tales, 1):
        failed += tale.violation is not None
        if sys.stderr.isatty() and (done % every == 0 or done == count):
            end = "\n" if done == count else ""
            click.echo(f"\r{done} of {count} runs, {failed} failed{end}", err=True, nl=False)
        yield tale


def _worth_reducing(tales: Iterable[Tale]) -> list[Tale]:
    """Return the first failure of each invariant, a few at most."""
    first: dict[int, Tale] = {}
    for tale in tales:
        if tale.violation is not None:
            first.setdefault(tale.violation.invariant, tale)
    return list(first.values())[:_SMALL]


def _tell_failure(failure: Failure, output: Path) -> None:
    comment = (
        f"Explored with seed {failure.seed}, made small.\n{failure.small_violation}\n"
        f"hopline simulate THIS FILE --seed {failure.seed}"
    )
    folder = output / f"seed-{failure.seed}"
    path = write_case(failure.small, folder, comment)
    click.echo(
        f"\nseed {failure.seed}, made small: {failure.small_violation}\n"
        f"replay it: hopline simulate {path} --seed {failure.seed}"
    )
