"""The history (``Life``) of one dialog, read from the topics of a cluster.

::

    life = read_life(cluster, conversation)
    svg_text(draw_life(life))

The modules, from records to a history: ``read`` finds records, ``records`` decodes them, ``copies``
joins forwarders' records into arrows, ``decide`` explains each decision from the catalog, ``steps``
and ``tally`` describe events and messages, ``build`` combines them, and ``draw`` makes a diagram.
"""

from streams.live.life.build import build_life
from streams.live.life.decide import Decided
from streams.live.life.draw import cut, draw_life
from streams.live.life.life import Endpoint, Life, MessageLife, Step
from streams.live.life.look import read_life
from streams.live.life.read import Bounds, read_dialog

__all__ = [
    "Bounds",
    "Decided",
    "Endpoint",
    "Life",
    "MessageLife",
    "Step",
    "build_life",
    "cut",
    "draw_life",
    "read_dialog",
    "read_life",
]
