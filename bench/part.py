"""The common options of all parts of ``make bench``, and the output of their rows.

A part prints its own table or, with ``--json``, one line per row for ``python -m bench``. Progress
is printed on stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from bench.rows import Measurement, encode
from bench.table import table

ROUNDS = 5


def options(about: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every part."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds, baseline included")
    parser.add_argument("--json", action="store_true", help="rows as lines of JSON")
    return parser


def hand_over(rows: Iterable[Measurement], given: argparse.Namespace) -> None:
    """Print rows according to the options."""
    print("\n".join(map(encode, rows)) if given.json else table(rows), flush=True)


def progress(text: str) -> None:
    """Print progress on stderr."""
    print(text, file=sys.stderr, flush=True)
