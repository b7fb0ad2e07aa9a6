"""Run targets on mutated inputs, each in a process of its own, and look at what comes of it.

A target passes where every input ends in an answer or in a documented error, within ten seconds.
A hang is seen from outside Python: ``faulthandler`` ends the process even in the middle of C code,
and the input that it was at is in a file.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streams.chance import Chance
from tests.fuzz.mutate import mutated

LONGEST = 10.0
"""Seconds that one input may take."""
MEMORY = 2 << 30
"""Bytes that a process may take; beyond them an input ends in MemoryError, which is a fault."""
_STRANGE = 20
"""Faults after which a target is given up: one that always fails needs no more."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a target; ``base`` and ``peak`` are megabytes, before the inputs and at most."""

    target: str
    inputs: int
    seconds: float
    slowest: float
    base: int
    peak: int
    faults: tuple[str, ...]


def run(target: str, seconds: float, seed: int, found: Path) -> Run:
    """Run a target in a process of its own; inputs that break something are left in ``found``."""
    return run_all([target], seconds, seed, found)[0]


def run_all(targets: Sequence[str], seconds: float, seed: int, found: Path) -> list[Run]:
    """Run targets one after the other in one process, ``seconds`` each.

    Where an input ends the process, the targets behind that one are not run.
    """
    found.mkdir(parents=True, exist_ok=True)
    log = found / f"{targets[0]}.log"
    names = [word for target in targets for word in ("--target", target)]
    asked = ("--seconds", str(seconds), "--seed", str(seed), "--found", str(found))
    with log.open("wb") as said:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.drive", *names, *asked],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, check=False,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    told = [json.loads(line) for line in lines]
    runs = [
        Run(target, **{**each, "faults": tuple(each["faults"])})
        for target, each in zip(targets, told, strict=False)
    ]
    if done.returncode == 0:
        log.unlink()
        return runs
    words = log.read_text(errors="replace").strip().splitlines() or [""]
    broken = targets[min(len(runs), len(targets) - 1)]
    fault = f"ended with {done.returncode} at {found / broken}.current: {words[0]}"
    return [*runs, Run(broken, 0, seconds, LONGEST, 0, 0, (fault,))]


def _in_this_process(target: str, seconds: float, seed: int, found: Path) -> Run:
    from tests.fuzz.targets import TARGETS

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    chosen = TARGETS[target]
    chance, seeds, faults = Chance(seed), chosen.seeds(), dict[str, str]()
    at_work = found / f"{target}.current"
    current = at_work.open("w+b", buffering=0)

    def attempt(data: bytes) -> float:
        current.seek(0)
        current.write(data)
        current.truncate()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        at = time.monotonic()
        try:
            chosen.attempt(data)
        except BaseException as error:
            _keep(error, data, found / target, faults)
        faulthandler.cancel_dump_traceback_later()
        return time.monotonic() - at

    for each in seeds:  # what is not changed is right, and the caches are warm
        attempt(each)
    base, slowest, inputs, began = _peak(), 0.0, 0, time.monotonic()
    while time.monotonic() - began < seconds and len(faults) < _STRANGE:
        slowest, inputs = max(slowest, attempt(mutated(chance, seeds))), inputs + 1
    took = time.monotonic() - began
    current.close()
    at_work.unlink()
    return Run(target, inputs, took, slowest, base, _peak(), tuple(faults.values()))


def _keep(error: BaseException, data: bytes, name: Path, faults: dict[str, str]) -> None:
    """Note a fault once for each place where it is raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} at {last.filename}:{last.lineno}"
    if place not in faults:
        kept = name.with_name(f"{name.name}-{hashlib.sha256(data).hexdigest()[:8]}")
        kept.write_bytes(data)
        faults[place] = f"{place}: {str(error)[:200]!r} ({kept.name})"


def _peak() -> int:
    """Return the most memory that this process had, in MB.

    Linux lets a process inherit the ``ru_maxrss`` of the one that started it, but not ``VmHWM``.
    """
    status = Path("/proc/self/status")
    if status.exists():
        [most] = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(most.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(arguments: Sequence[str]) -> int:
    """Run targets and print what came of each as a line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True, action="append")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--found", type=Path, required=True)
    asked = parser.parse_args(arguments)
    faulthandler.enable()
    for target in asked.target:
        done = _in_this_process(target, asked.seconds, asked.seed, asked.found)
        told = {name: getattr(done, name) for name in Run.__slots__ if name != "target"}
        sys.stdout.write(f"\n{json.dumps(told)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
