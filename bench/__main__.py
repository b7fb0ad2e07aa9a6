"""Run all parts of `make bench`, and print one table: `python -m bench`.

Each part runs in its own process and prints its rows as JSON; ``python -m bench.PART`` prints the
table of one part. Parts that take longer run only when they are named. The exit code is 1 if a part
has failed; a missed goal is not a failure.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time

from bench.part import ROUNDS, progress
from bench.rows import Measurement, decode
from bench.table import table

PARTS = (
    "routing",
    "analysis",
    "forwarder",
    "crossing",
    "endpoint",
    "kafka_forwarder",
    "kafka_latency",
    "kafka_endpoint",
    "kafka_end_to_end",
    "kafka_backlog",
    "open_dialogs",
    "kafka_agents",
    "capture",
)
LONG = ("kafka_memory", "kafka_heartbeats", "kafka_partitions")


def run(part: str, rounds: int) -> tuple[list[Measurement], bool]:
    """Run one part; return its rows, and whether it succeeded."""
    progress(f"--- {part}")
    command = [sys.executable, "-m", f"bench.{part}", "--json", "--rounds", str(rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return [decode(line) for line in done.stdout.splitlines()], done.returncode == 0


def main() -> int:
    """Print the table of all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join((*PARTS, *LONG)))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds, baseline included")
    given = parser.parse_args()
    if unknown := set(given.parts) - {*PARTS, *LONG}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    began, load = time.monotonic(), os.getloadavg()[0]
    rows, failed = [], []
    for part in given.parts or PARTS:
        found, well = run(part, given.rounds)
        rows += found
        failed += [] if well else [part]
    print(
        f"{os.cpu_count()} cores, load {load:.1f} before; Python {platform.python_version()}; "
        f"{given.rounds} rounds, {(time.monotonic() - began) / 60:.0f} minutes\n"
    )
    print(table(rows))
    if failed:
        print(f"parts that have failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
