"""One explored run: drawn from a seed, played, and summarized."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

from streams.prose import counted
from streams.simulator.clock import Chance
from streams.simulator.explore.mirrors import draw_pair
from streams.simulator.explore.scenarios import draw_scenario
from streams.simulator.explore.topologies import draw_topology
from streams.simulator.invariants import Violation
from streams.simulator.result import account
from streams.simulator.run import Simulation
from streams.simulator.scenario import Abort, Begin, Crash, Cut, Failover, Scenario, Skew
from streams.topology import Topology

FRESH = 0.05
"""Share of decisions that are compared with those of a new forwarder (invariant 6)."""


@dataclass(frozen=True, slots=True)
class Case:
    """A topology, a scenario, and the seed for all randomness in the run."""

    topology: Topology
    scenario: Scenario
    seed: int


class Tale(NamedTuple):
    """The result of one run. ``events`` is the number of events of the virtual clock."""

    seed: int
    instances: int
    dialogs: int
    messages: int
    faults: int
    events: int
    violation: Violation | None


def draw_case(seed: int) -> Case:
    """Draw the case of a seed."""
    estate = draw_topology(Chance(seed, "explore topology"))
    estate = draw_pair(estate, Chance(seed, "explore pair"))
    scenario = draw_scenario(estate, Chance(seed, "explore scenario"))
    return Case(estate.topology, replace(scenario, topology="."), seed)


def play(case: Case, fresh: float = FRESH) -> Tale:
    """Run a case; a lost or duplicated message also counts as a violation."""
    run = Simulation(case.topology, case.scenario, case.seed, fresh=fresh)
    violation = run.play() or _unbalanced(run)
    steps = Counter(type(step.action) for step in case.scenario.steps)
    faults = [
        s.action
        for s in case.scenario.steps
        if isinstance(s.action, (Abort, Failover, Skew))
        or (isinstance(s.action, (Crash, Cut)) and not s.action.up)
    ]
    return Tale(
        case.seed,
        len(case.topology.instances),
        steps[Begin],
        sum(len(numbers) for numbers in run.facts.accepted.values()),
        len(faults),
        run.clock.passed,
        violation,
    )


def _unbalanced(run: Simulation) -> Violation | None:
    """Check the account of messages, because no single event can show that the account is wrong."""
    summary = account(run)
    if summary["lost"]:
        lost = counted(summary["lost"], "message is", "messages are")
        return Violation(2, f"{lost} lost", run.clock.now)
    if summary["delivered_twice"]:
        twice = counted(summary["delivered_twice"], "message was", "messages were")
        return Violation(1, f"{twice} delivered twice", run.clock.now)
    return None
