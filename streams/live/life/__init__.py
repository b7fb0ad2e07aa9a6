"""The life of one dialog: what became of it, read from the topics of a cluster.

::

    life = read_life(cluster, conversation)
    svg_text(draw_life(life))

In the order in which records become a life: ``read`` finds them, ``records`` decodes them,
``copies`` joins what forwarders wrote into arrows, ``decide`` explains each decision by the
catalog, ``steps`` says what happened, ``tally`` what became of each message, ``build`` puts it
together, and ``draw`` makes a diagram of it.
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
