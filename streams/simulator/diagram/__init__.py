"""A run as a sequence diagram.

::

    run = Simulation(topology, scenario, seed)
    run.play()
    diagram = diagram_of(run, Choice(dialog="d"))
    mermaid_text(diagram), svg_text(diagram)     # of streams.diagram

The steps from a run to a diagram: ``sights`` and ``notes`` record events, ``choose`` selects the
requested events and notes the omissions, and ``draw`` builds the diagram.
"""

from streams.simulator.diagram.choose import Choice
from streams.simulator.diagram.draw import MOST_ROWS, diagram_of

__all__ = ["MOST_ROWS", "Choice", "diagram_of"]
