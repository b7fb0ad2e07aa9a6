"""A run as a sequence diagram: one list of rows, drawn as Mermaid text or as an SVG picture.

::

    run = Simulation(topology, scenario, seed)
    run.play()
    diagram = diagram_of(run, Choice(dialog="d"))
    mermaid_text(diagram), svg_text(diagram)

In the order in which a run becomes a diagram: ``sights`` and ``notes`` see what happened,
``choose`` leaves out what nobody asked for and says so, ``fold`` makes one row of what happened
alike, ``draw`` puts the participants into their order; ``mermaid`` and ``svg`` (with ``layout``)
write it. The same run gives the same bytes.
"""

from streams.simulator.diagram.choose import Choice
from streams.simulator.diagram.draw import MOST_ROWS, diagram_of
from streams.simulator.diagram.mermaid import mermaid_text
from streams.simulator.diagram.rows import Diagram, Participant, Row, Shape
from streams.simulator.diagram.svg import svg_text

__all__ = [
    "MOST_ROWS",
    "Choice",
    "Diagram",
    "Participant",
    "Row",
    "Shape",
    "diagram_of",
    "mermaid_text",
    "svg_text",
]
