"""Explore seeds until an invariant is broken; run in a process of its own, on a copy of the source.

``python hunt.py COPY FIRST COUNT SECONDS`` prints a line of JSON: which seed broke which invariant.
A seed that takes more than SECONDS of the processor never ends: that is found, too.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path


class Endless(BaseException):
    """A seed has had its time; no Exception, which the simulated workers would catch."""


def stop(number: int, frame: object) -> None:
    """Leave the seed, wherever it is."""
    raise Endless


def main(copy: str, first: int, count: int, seconds: float) -> None:
    """Explore, and say on stdout what was found."""
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
