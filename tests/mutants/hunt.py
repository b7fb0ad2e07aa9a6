"""Explore seeds until an invariant is broken; run in a process of its own, on a copy of the source.

``python hunt.py COPY FIRST COUNT`` prints one line of JSON: which seed broke which invariant.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(copy: str, first: int, count: int) -> None:
    """Explore, and say on stdout what was found."""
    sys.path.insert(0, copy)
    import streams
    from streams.simulator.explore import explore_seed

    assert Path(streams.__file__).is_relative_to(copy), "this is not the copy"
    for seed in range(first, first + count):
        found = explore_seed(seed).violation
        if found is not None:
            said = {"seed": seed, "invariant": found.invariant, "why": str(found)}
            print(json.dumps(said))
            return
    print(json.dumps(None))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
