"""One run of a scenario: let everything happen, judge the end, and say what was seen."""

from __future__ import annotations

from streams.simulator.finish import judge_finish
from streams.simulator.invariants import Violation
from streams.simulator.result import Result, result_of
from streams.simulator.system import System


class Simulation(System):
    """A topology and a scenario under one seed; :meth:`run` gives the same result every time."""

    def run(self) -> Result:
        """Let everything happen up to the scenario's end, or to the first violation."""
        self.play()
        return result_of(self)

    def play(self) -> Violation | None:
        """Run as :meth:`run` does, but make no rows of what was seen."""
        self.start()
        until, invariants = self.scenario.until, self.invariants
        while invariants.violation is None and self.clock.step(until):
            pass
        if invariants.violation is None:
            judge_finish(self)
        return invariants.violation
