"""Run a scenario, check the end, and return the result."""

from __future__ import annotations

from streams.simulator.finish import judge_finish
from streams.simulator.invariants import Violation
from streams.simulator.result import Result, result_of
from streams.simulator.system import System


class Simulation(System):
    """A topology and a scenario with one seed; :meth:`run` always gives the same result."""

    def run(self) -> Result:
        """Run up to the scenario's end, or to the first violation."""
        self.play()
        return result_of(self)

    def play(self) -> Violation | None:
        """Run the scenario like :meth:`run`, but do not create rows."""
        self.start()
        until, invariants = self.scenario.until, self.invariants
        while invariants.violation is None and self.clock.step(until):
            pass
        if invariants.violation is None:
            judge_finish(self)
        return invariants.violation
