"""What every part of ``make bench`` shares: its options, and how it hands over its rows.

Alone, a part prints its own table; with ``--json`` one line per row, for ``python -m bench``.
Progress goes to stderr.
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
    """Print rows as the options say."""
    print("\n".join(map(encode, rows)) if given.json else table(rows), flush=True)


def progress(text: str) -> None:
    """Say on stderr how far it is."""
    print(text, file=sys.stderr, flush=True)
