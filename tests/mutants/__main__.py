"""``python -m tests.mutants``: the mutants that tests on real Kafka kill; ``make mutants`` runs it.

First all of the chosen mutants' tests run without a fault, because a test that always fails kills
every mutant. Then each mutant's tests run on a copy of the project that contains the fault, two
mutants at a time. It exits with 1 if a mutant is alive, or a test fails without a fault.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.kafka_mutants import MUTANTS, KafkaMutant

ROOT = Path(__file__).parents[2]
PARTS = ("streams", "tests", "topologies", "schemas", "pyproject.toml")
FAILED = 1
"""The exit code of pytest for failed tests; any other code is not caused by a test."""
SECONDS = 300
"""A mutant whose tests hang is dead too."""
_HANGS = 240
"""Seconds after which pytest considers a test as hanging: it fails, and its brokers end."""
_LEAVES = 60
"""Seconds that hanging tests may take to end the processes that they have started."""


def main(arguments: list[str]) -> int:
    """Run the requested mutants; return the exit code."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--rule", type=int, action="append", help="only what breaks this rule")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    named = [mutant for mutant in MUTANTS if asked.only in mutant.name]
    chosen = [mutant for mutant in named if not asked.rule or mutant.rule in asked.rule]
    if not chosen:
        parser.error("no mutant has this text in its name, or breaks this rule")
    if not _pass(chosen, asked.processes):
        return 1
    with ThreadPoolExecutor(asked.processes) as pool:
        dead = sum(pool.map(_is_killed, chosen))
    print(f"{dead} of {len(chosen)} mutants are dead", flush=True)
    return 0 if dead == len(chosen) else 1


def _pass(chosen: list[KafkaMutant], processes: int) -> bool:
    """Return whether the tests of all mutants pass without a fault; else print what fails."""
    tests = dict.fromkeys(test for mutant in chosen for test in _tests(mutant))
    how = ["-q", f"-n{processes}", "--dist=loadfile", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *how, *tests], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode == 0:
        print(f"{len(tests)} tests or modules pass without a fault", flush=True)
        return True
    print(f"Without a fault:\n{done.stdout[-4000:]}{done.stderr[-500:]}", flush=True)
    return False


def _tests(mutant: KafkaMutant) -> list[str]:
    return [f"tests/{name}" for name in mutant.tests.split()]


def _is_killed(mutant: KafkaMutant) -> bool:
    with tempfile.TemporaryDirectory(prefix="mutant-") as made:
        for part in PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, Path(made, part), ignore=_caches)
            else:
                shutil.copy(ROOT / part, made)
        mutant.apply(Path(made, "streams"))
        how = ["-x", "-q", "-p", "no:cacheprovider", f"--timeout={_HANGS}"]
        command = [sys.executable, "-m", "pytest", *how, *_tests(mutant)]
        here = os.environ | {"PYTHONPATH": made}
        done = _run(command, made, here)
    if done is None:
        print(f"dead   {mutant.name}: its tests hang", flush=True)
        return True
    _, _, summary = done.stdout.partition("short test summary info")
    failed = [line for line in summary.splitlines() if line.startswith("FAILED")]
    if done.returncode == FAILED and failed:
        print(f"dead   {mutant.name}: {failed[0].partition(' - ')[0][7:]}", flush=True)
        return True
    why = "" if done.returncode == 0 else f": {done.stdout[-2000:]}{done.stderr[-500:]}"
    print(f"ALIVE  {mutant.name}{why}", flush=True)
    return False


def _run(
    command: list[str], folder: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str] | None:
    """Run tests; return ``None`` if they hang."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            # its fixtures end the brokers that they have started
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=_LEAVES)
            except subprocess.TimeoutExpired:
                process.kill()
            return None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


_caches = shutil.ignore_patterns("__pycache__", ".hypothesis", "node_modules")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
