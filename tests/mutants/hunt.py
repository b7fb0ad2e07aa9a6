"""Explore seeds until an invariant is broken, in a separate process on a copy of the source.

``python hunt.py COPY FIRST COUNT SECONDS`` prints a line of JSON: which seed broke which invariant.
A seed that takes more than SECONDS of CPU time counts as endless, which is also a finding.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path


class Endless(BaseException):
    """A seed has exceeded its time; not an Exception, which the simulated workers would catch."""


def stop(number: int, frame: object) -> None:
    """Abort the seed at any point."""
    raise Endless


def main(copy: str, first: int, count: int, seconds: float) -> None:
    """Explore, and print the finding on stdout."""
    sys.path.insert(0, copy)
    import streams
    from streams.simulator.explore import explore_seed

    assert Path(streams.__file__).is_relative_to(copy), "this is not the copy"
    signal.signal(signal.SIGVTALRM, stop)
    for seed in range(first, first + count):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            found = explore_seed(seed).violation
        except Endless:
            print(json.dumps({"seed": seed, "invariant": None, "why": "it never ends"}))
            return
        if found is not None:
            said = {"seed": seed, "invariant": found.invariant, "why": str(found)}
            print(json.dumps(said))
            return
    print(json.dumps(None))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
