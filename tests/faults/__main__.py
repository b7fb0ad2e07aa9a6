"""``python -m tests.faults``: the long fault suite; ``make soak`` runs it.

It writes docs/faults.md if all of its runs were requested, and exits with 1 if a run has counted
any fault.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.faults.hostile import kinds
from tests.faults.load import Load
from tests.faults.page import PAGE, Terms, by_kind, rewrite
from tests.faults.run import Outcome, run
from tests.faults.scenarios import SCENARIOS, WHOLE, Scenario


def main(arguments: list[str]) -> int:
    """Run the requested scenarios; return the exit code."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end all processes that were started
    chosen = chosen_of(asked.only or (), asked.kind or (), each=asked.each_kind)
    rate = asked.messages / (asked.seconds * SCENARIOS[0].share)
    outcomes = [_run(s, asked.seconds, rate, asked.seed, asked.keep) for s in chosen]
    if asked.each_kind:
        _say(by_kind(outcomes))
    elif not asked.only:
        terms = Terms(asked.seconds, asked.seed, rate)
        PAGE.write_text(rewrite(PAGE.read_text("utf-8"), outcomes, terms), "utf-8")
    bad = [o.scenario.name for o in outcomes if o.verdict.faults]
    _say(f"not as it must be: {', '.join(bad)}" if bad else "nothing lost")
    return 1 if bad else 0


def chosen_of(names: Sequence[str], topics: Sequence[str], *, each: bool) -> list[Scenario]:
    """Return the scenarios of these names, or all of them.

    ``topics``: the kinds of topics for hostile records; with none, all kinds. With ``each``, a
    hostile run is replaced by one for each kind, with the same duration.
    """
    return [
        variant
        for scenario in SCENARIOS
        if not names or scenario.name in names
        for variant in (_hostile(scenario, topics, each=each) if scenario.hostile else [scenario])
    ]


def _hostile(scenario: Scenario, chosen: Sequence[str], *, each: bool) -> list[Scenario]:
    if not each:
        return [replace(scenario, kinds=tuple(chosen))]
    return [
        replace(
            scenario,
            name=f"{scenario.name}-{kind}",
            title=f"Hostile records in {kind}",
            kinds=(kind,),
        )
        for kind in chosen or kinds()
    ]


def _run(scenario: Scenario, seconds: float, rate: float, seed: int, keep: str | None) -> Outcome:
    seconds = scenario.duration(seconds)
    rate *= scenario.times
    load = Load(max(1, round(rate * seconds)), rate, length=scenario.length)
    scaled = scenario.scaled(seconds / (WHOLE * scenario.share))
    _say(f"{scenario.name}: {load.messages:,} messages in {seconds:.0f} s")
    with tempfile.TemporaryDirectory(prefix="soak-") as made:
        folder = Path(made if keep is None else f"{keep}/{scenario.name}")
        folder.mkdir(parents=True, exist_ok=True)
        outcome = run(scaled, load, seed, folder, _say)
    _say(f"{scenario.name}: {outcome.verdict} in {outcome.seconds:.0f} s")
    for wanted, recovery in zip(scaled.wanted, outcome.recoveries, strict=True):
        _say(f"  {wanted.words}: {recovery}")
    return outcome


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=WHOLE, help="of load; each run gets its share"
    )
    parser.add_argument("--messages", type=int, default=200_000, help="in the first run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=[s.name for s in SCENARIOS])
    parser.add_argument(
        "--kind", action="append", choices=kinds(), help="of topics for hostile records; else all"
    )
    parser.add_argument(
        "--each-kind",
        action="store_true",
        help="a hostile run for each of these kinds, and a table",
    )
    parser.add_argument("--keep", help="keep logs and data of Kafka in this folder")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
