"""Compare two topologies, flow by flow and dialog by dialog.

:func:`compare_topologies` compares every flow of either topology. :func:`remove` derives the second
topology from the first (the what-if TA-40). :class:`Dialogs` compares the real dialogs of a
capture.
"""

from streams.analysis.diff.compare import Change, compare_dialogs, compare_flows
from streams.analysis.diff.course import Course
from streams.analysis.diff.dialogs import Dialogs, Fate
from streams.analysis.diff.difference import (
    NOTHING,
    Difference,
    FlowChange,
    Touched,
    compare_topologies,
    summed,
)
from streams.analysis.diff.reach import Arrival, Direction, Loss, Reach, Target
from streams.analysis.diff.remove import LINK, remove
from streams.analysis.diff.text import difference_text

__all__ = [
    "LINK",
    "NOTHING",
    "Arrival",
    "Change",
    "Course",
    "Dialogs",
    "Difference",
    "Direction",
    "Fate",
    "FlowChange",
    "Loss",
    "Reach",
    "Target",
    "Touched",
    "compare_dialogs",
    "compare_flows",
    "compare_topologies",
    "difference_text",
    "remove",
    "summed",
]
