"""Services as Faust agents, instead of activated procedures. Only this package imports Faust.

On a message's path: ``driver``, ``consumer_thread`` and ``polls`` read the queue, ``queue_agent``
takes the messages in order, ``attempt`` calls the handler until it succeeds, and ``dialog`` issues
the statements. ``note`` is the metadata of the committed offset, ``producer`` writes tables, and
``activation`` reports start and end.

Users create an ``application`` on a ``connected`` cluster; ``access`` translates the settings, and
``locate_queue`` validates the services. ``from_topology`` creates the applications of a topology,
``run_applications`` runs them, and ``leaving`` forces a process to exit that does not stop.
``data_dependent`` and ``notice`` run the services included in Hopline.
"""

from streams.agents.application import HoplineApp, hopline_app
from streams.agents.attempt import Handler
from streams.agents.dialog import Dialog
from streams.client.receiver import Received

__all__ = ["Dialog", "Handler", "HoplineApp", "Received", "hopline_app"]
