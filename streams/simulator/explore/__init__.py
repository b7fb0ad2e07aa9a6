"""Explore random topologies, scenarios and faults, each from one seed, and check the invariants.

::

    tales = list(explore(first=0, count=1000))
    explored_text(tales)                     # medians, totals, failures
    failure = reduce(tale)                   # the smallest case that still breaks the invariant
    write_case(failure.small, folder, "")    # replayed by `hopline simulate FILE --seed N`

A case is drawn from a seed (``topologies``, ``scenarios``, ``faults``) and played (``case``). A
failing case is minimized (``shrink``) and written as files (``write``).
"""

from streams.simulator.explore.case import Case, Tale, draw_case, play
from streams.simulator.explore.explored_text import explored_text, medians
from streams.simulator.explore.run import Failure, explore, explore_seed, reduce
from streams.simulator.explore.shrink import shrink
from streams.simulator.explore.write import topology_text, write_case

__all__ = [
    "Case",
    "Failure",
    "Tale",
    "draw_case",
    "explore",
    "explore_seed",
    "explored_text",
    "medians",
    "play",
    "reduce",
    "shrink",
    "topology_text",
    "write_case",
]
