"""``make fuzz``: mutated inputs for every reader of files and every decoder, for some minutes.

Ends with 1 where an input ended in anything but an answer or a documented error, took longer than
ten seconds, or ended its process. Such inputs are left in ``artifacts/fuzz``.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.drive import Run, run
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parents[2] / "artifacts" / "fuzz"


def main(arguments: list[str]) -> int:
    """Run all targets, or those that are named; returns the exit code."""
    asked = _parser().parse_args(arguments)
    chosen = [name for name in TARGETS if not asked.only or name in asked.only]
    seconds = asked.minutes * 60 * asked.processes / len(chosen)
    with ThreadPoolExecutor(asked.processes) as pool:
        runs = list(pool.map(lambda name: _told(run(name, seconds, asked.seed, FOUND)), chosen))
    faults = sum(len(each.faults) for each in runs)
    inputs, peak = sum(each.inputs for each in runs), max(each.peak for each in runs)
    slowest = max(each.slowest for each in runs)
    _say(f"{len(runs)} targets, {inputs:,} inputs in {asked.minutes:g} minutes: {faults} faults")
    _say(f"slowest input {slowest:.1f} s, largest process {peak:,} MB")
    return 1 if faults else 0


def _told(done: Run) -> Run:
    rate = done.inputs / max(done.seconds, 0.001)
    _say(
        f"{done.target:<20} {done.inputs:>9,} inputs {rate:>7,.0f}/s slowest {done.slowest:>6.2f} s"
        f"  memory {done.base:>4} -> {done.peak:>4} MB  {len(done.faults)} faults"
    )
    for fault in done.faults:
        _say(f"    {fault}")
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="for all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="targets at a time")
    parser.add_argument("--only", action="append", choices=list(TARGETS))
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
