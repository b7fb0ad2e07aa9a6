"""A run as a sequence diagram.

::

    run = Simulation(topology, scenario, seed)
    run.play()
    diagram = diagram_of(run, Choice(dialog="d"))
    mermaid_text(diagram), svg_text(diagram)     # of streams.diagram

In the order in which a run becomes a diagram: ``sights`` and ``notes`` see what happened,
``choose`` leaves out what nobody asked for and says so, ``draw`` puts it together.
"""

from streams.simulator.diagram.choose import Choice
from streams.simulator.diagram.draw import MOST_ROWS, diagram_of

__all__ = ["MOST_ROWS", "Choice", "diagram_of"]
