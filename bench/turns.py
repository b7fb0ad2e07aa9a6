"""Common parts of the benchmarks on a real Kafka: loops that run alternately in processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.part import progress
from bench.rows import Goal, Measurement, Unit
from streams.embedded import Broker

Turn = dict[str, float]
"""CPU seconds per message of ``client`` and ``broker``, and messages per second, ``rate``."""
MEASURED = {
    "client": ("client CPU per message", Unit.SECONDS),
    "broker": ("broker CPU per message", Unit.SECONDS),
    "rate": ("messages a second", Unit.RATE),
}


@contextmanager
def lasting_broker() -> Iterator[Broker]:
    """Run a broker like `hopline up`, in a separate folder; it is warm after some minutes."""
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder), lasting=True) as broker:
        yield broker


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    return _cpu_in(Path(f"/proc/{pid}"))


def compiler_of(pid: int) -> float:
    """Return the CPU seconds of a Java process's compiler, which uses many until it is warm."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(_cpu_in(t) for t in threads if "CompilerThre" in (t / "comm").read_text())


def _cpu_in(folder: Path) -> float:
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return resident_of(os.getpid())


def resident_of(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_a_process(module: str, arguments: Sequence[str], broker: int) -> Turn:
    """Run one loop, which prints its CPU, seconds and messages; add the broker's CPU."""
    before = cpu_of(broker)
    child = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    cpu, wall, count = json.loads(child.stdout.splitlines()[-1])
    return turn(cpu, cpu_of(broker) - before, wall, count)


def turn(client: float, broker: float, wall: float, count: int) -> Turn:
    """Return the figures per message."""
    return {"client": client / count, "broker": broker / count, "rate": count / wall}


def by_turns(
    loops: Sequence[str], rounds: int, run: Callable[[str, int], Turn]
) -> dict[str, list[Turn]]:
    """Run each loop once per round, in alternating order; ``run`` takes the loop and the round."""
    turns: dict[str, list[Turn]] = {loop: [] for loop in loops}
    for number in range(rounds):
        for loop in loops if number % 2 == 0 else reversed(loops):
            found = run(loop, number)
            turns[loop].append(found)
            shown = ", ".join(f"{key} {value:.3g}" for key, value in found.items())
            progress(f"round {number + 1} of {rounds}: {loop}: {shown}")
    return turns


def rows_of(
    turns: Mapping[str, Sequence[Turn]],
    group: str,
    loop: str,
    baseline: str,
    goals: Mapping[str, Goal],
    names: Mapping[str, tuple[str, Unit]] = MEASURED,
) -> list[Measurement]:
    """Return a row for each figure of a loop, compared with the baseline's figure."""
    return [
        Measurement(
            group,
            what,
            unit,
            _values(turns[loop], key),
            baseline,
            _values(turns[baseline], key),
            goals.get(key),
        )
        for key, (what, unit) in names.items()
    ]


def _values(turns: Sequence[Turn], key: str) -> tuple[float, ...]:
    return tuple(each[key] for each in turns)
