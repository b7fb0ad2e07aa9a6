"""``hopline simulate --explore``: many random runs, their results, and minimized failures."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from streams.prose import counted
from streams.simulator.explore import Failure, Tale, explore, explored_text, reduce, write_case

_SMALL = 3
"""Maximum number of failures to minimize; for each invariant, only its first failure counts."""


def run_exploration(first: int, count: int, processes: int | None, output: Path) -> bool:
    """Explore; print results on stdout and the speed on stderr. Return whether all runs passed."""
    began = time.monotonic()
    tales = list(_with_progress(explore(first, count, processes), count))
    seconds = time.monotonic() - began
    click.echo(explored_text(tales), nl=False)
    click.echo(f"{seconds:.1f} s, {count / seconds:.1f} runs per second", err=True)
    for tale in _worth_reducing(tales):
        _report_failure(reduce(tale), output)
    return all(tale.violation is None for tale in tales)


def _with_progress(tales: Iterable[Tale], count: int) -> Iterator[Tale]:
    terminal = sys.stderr.isatty()
    every, failed = max(1, count // (200 if terminal else 20)), 0
    for done, tale in enumerate(tales, 1):
        if tale.violation is not None:
            failed += 1
            click.echo(f"\rseed {tale.seed}: {tale.violation}", err=True)
        if done % every == 0 or done == count:
            line = f"{done:,} of {counted(count, 'run')}, {failed:,} failed"
            click.echo(f"\r{line}" if terminal else line, err=True, nl=not terminal)
        yield tale
    click.echo(err=True, nl=terminal)


def _worth_reducing(tales: Iterable[Tale]) -> list[Tale]:
    """Return the first failure of each invariant, at most :data:`_SMALL` of them."""
    first: dict[int, Tale] = {}
    for tale in tales:
        if tale.violation is not None:
            first.setdefault(tale.violation.invariant, tale)
    return list(first.values())[:_SMALL]


def _report_failure(failure: Failure, output: Path) -> None:
    comment = (
        f"Found with seed {failure.seed}, minimized.\n{failure.small_violation}\n"
        f"hopline simulate THIS FILE --seed {failure.seed}"
    )
    folder = output / f"seed-{failure.seed}"
    path = write_case(failure.small, folder, comment)
    click.echo(
        f"\nseed {failure.seed}, minimized: {failure.small_violation}\n"
        f"replay it: hopline simulate {path} --seed {failure.seed}"
    )
