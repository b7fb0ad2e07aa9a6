"""Simulate any topology in memory with the workers' code, a virtual clock and a seeded network.

The same seed gives the same run, byte for byte, on every platform::

    topology, scenario = read_scenario(Path("topologies/load_balanced/scenarios/dialogs.yaml"))
    result = Simulation(topology, scenario, seed=7).run()
    result.good, result.summary, result.violation

A run is ``(Topology, Scenario, seed)``. ``Scenario`` and its parts (``Step``, ``Begin``, ``Send``,
``End``, ``Sql``, ``Crash``, ``Cut``, ...) are frozen values in :mod:`streams.simulator.scenario`:
generators create them directly, ``read_scenario`` reads a file, and ``scenario_text`` writes one.
Times are whole microseconds from 0.

``Simulation.run`` returns a ``Result``. It contains events, queues, endpoints and transmission
queues as rows, and the account of messages (``summary``). Its ``violation`` is the first of the
seven invariants (:mod:`streams.simulator.invariants`) that did not hold, if any. A violation ends
the run. Every copy between two instances is in ``Simulation.network.passages``, with the times of
sending and arrival. A run never raises an exception; an invalid scenario raises InputError or
UsageError.

The modules in the order of a message's path are as follows. ``statements`` turns steps into
commands, and ``applications`` creates commands for received messages. ``endpoint`` and
``forwarder`` are the two processes of an ``instance``, with their turns, commits, aborts and
crashes. ``storage`` contains the data that survives crashes. ``network`` and ``heartbeats`` connect
the instances. ``facts`` records the observations, and ``invariants`` checks them.
"""

from streams.simulator.clock import MILLISECOND, SECOND, START, Chance
from streams.simulator.invariants import Violation
from streams.simulator.read import parse_scenario, read_scenario
from streams.simulator.result import Result
from streams.simulator.run import Simulation
from streams.simulator.scenario import Scenario, Step
from streams.simulator.text import result_text
from streams.simulator.write import scenario_text

__all__ = [
    "MILLISECOND",
    "SECOND",
    "START",
    "Chance",
    "Result",
    "Scenario",
    "Simulation",
    "Step",
    "Violation",
    "parse_scenario",
    "read_scenario",
    "result_text",
    "scenario_text",
]
