"""What the benchmarks on a real Kafka share: processes of their own, by turns, and the table."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

Row = dict[str, float]


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_a_process(module: str, arguments: Sequence[str], broker: int) -> Row:
    """Run one loop; it prints its CPU, seconds and messages. The broker's CPU is added."""
    before = cpu_of(broker)
    child = subprocess.run(
        [sys.executable, "-m", module, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    cpu, wall, count = json.loads(child.stdout.splitlines()[-1])
    used = cpu_of(broker) - before
    return {"client": cpu / count * 1e6, "broker": used / count * 1e6, "rate": count / wall}


def table(rows: dict[str, list[Row]], baselines: dict[str, str]) -> None:
    """Print medians, ratios to the baseline of the same round, and the ratios' spread."""
    print(f"{'':<26}{'client us/msg':>26}{'broker us/msg':>26}{'messages/s':>26}")
    for loop, found in rows.items():
        cells = []
        for key in ("client", "broker", "rate"):
            base = rows[baselines[loop]]
            ratios = sorted(row[key] / b[key] for row, b in zip(found, base, strict=True))
            middle = statistics.median(row[key] for row in found)
            shown = f"{middle:,.0f}" if key == "rate" else f"{middle:.2f}"
            spread = f"{statistics.median(ratios):.2f} x, {ratios[0]:.2f}-{ratios[-1]:.2f}"
            cells.append(f"{shown} ({spread})".rjust(26))
        print(f"{loop:<26}{''.join(cells)}")
