"""Exploration: what is drawn is large enough, what fails is made small and can be replayed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.protocol import Message
from streams.protocol.parking import Parking
from streams.simulator import Simulation, read_scenario
from streams.simulator.explore import (
    Case,
    draw_case,
    explore,
    explored_text,
    medians,
    play,
    reduce,
    shrink,
    write_case,
)
from streams.simulator.explore.mirrors import PAIR, PARTNER
from streams.simulator.finish import calm_at

SEEDS = 500


@pytest.mark.long
@pytest.mark.timeout(1_800)  # `make explore` takes 10,000 seeds
def test_no_invariant_is_broken() -> None:
    tales = list(explore(0, SEEDS))
    broken = [f"seed {tale.seed}: {tale.violation}" for tale in tales if tale.violation is not None]
    assert broken == []
    middle = medians(tales)
    assert middle["instances"] >= 3
    assert middle["dialogs"] >= 5
    assert middle["messages"] >= 40
    assert middle["faults"] >= 3
    assert [tale.seed for tale in tales] == list(range(SEEDS))


@pytest.mark.long
def test_both_sides_send() -> None:
    """As many messages by targets as are worth the name: replies are sent by applications."""
    shares = []
    for seed in range(30):
        run = Simulation(draw_case(seed).topology, draw_case(seed).scenario, seed, fresh=0)
        run.play()
        counts = {True: 0, False: 0}
        for direction, numbers in run.facts.accepted.items():
            counts[direction.from_initiator] += len(numbers)
        shares.append(counts[False] / max(1, sum(counts.values())))
    assert median(shares) > 0.2


@pytest.mark.long
def test_pairs_are_drawn_and_move() -> None:
    """Some estates have a mirrored target: messages come into its queue at either partner."""
    principals: set[str] = set()
    for seed in range(60):
        case = draw_case(seed)
        if PARTNER not in case.topology.instances:
            continue
        run = Simulation(case.topology, case.scenario, seed, fresh=0)
        run.play()
        principals |= {q.instance for q in run.facts.queued if q.home == f"the pair {PAIR}"}
    assert PARTNER in principals and len(principals) > 2


@pytest.mark.long
def test_the_same_seeds_give_the_same_results_with_any_number_of_processes() -> None:
    alone, together = (list(explore(7, 20, processes)) for processes in (1, 3))
    assert alone == together
    assert explored_text(alone) == explored_text(together)
    assert explored_text(alone) != explored_text(list(explore(8, 20, 1)))


@pytest.mark.parametrize("seed", range(40))
def test_a_case_is_read_as_it_was_written(seed: int, tmp_path: Path) -> None:
    case = draw_case(seed)
    topology, scenario = read_scenario(write_case(case, tmp_path, "what it shows\nand why"))
    assert topology == case.topology
    assert replace(scenario, name="") == case.scenario


@pytest.mark.parametrize("seed", range(40))
def test_every_fault_is_over_before_the_quiet_tail(seed: int) -> None:
    scenario = draw_case(seed).scenario
    calm = calm_at(scenario)
    assert calm is not None
    # At least a try at the longest wait, its answer, and a time to live.
    limits = scenario.limits
    assert scenario.until - calm > (limits.retries[-1] + limits.time_to_live) * 1_000


# --- what fails ----------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show every message with the number 1 twice."""
    show = Parking._enqueue

    def twice(parking: Parking, message: Message) -> None:
        show(parking, message)
        if message.header.sequence == 1 and message.header.sequenced:
            parking.effects.append(parking.effects[-1])

    monkeypatch.setattr(Parking, "_enqueue", twice)


def test_a_failure_is_made_small_and_its_files_replay_it(broken: None, tmp_path: Path) -> None:
    tale = play(draw_case(4))
    assert tale.violation is not None and tale.violation.invariant == 1
    failure = reduce(tale)
    small, drawn = failure.small, draw_case(4)
    assert len(small.topology.instances) <= 2 < len(drawn.topology.instances)
    assert len(small.scenario.steps) <= 3 < len(drawn.scenario.steps)
    topology, scenario = read_scenario(write_case(small, tmp_path, ""))
    assert Simulation(topology, scenario, 4).run().violation == failure.small_violation


def test_shrinking_ends_after_so_many_tries() -> None:
    played = 0

    def never(case: Case) -> bool:
        nonlocal played
        played += 1
        return False

    case = draw_case(4)
    assert shrink(case, never, tries=10) == case
    assert played == 10


def hopline(*arguments: object) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["simulate", *map(str, arguments)])


def test_the_command_prints_medians_and_totals() -> None:
    done = hopline("--explore", 5, "--seed", 40)
    assert done.exit_code == 0, done.output
    assert "5 runs, 0 violated an invariant" in done.stdout
    for word in ("instances", "dialogs", "messages", "faults", "events"):
        assert word in done.stdout
    assert "runs per second" in done.stderr and "runs per second" not in done.stdout


def test_the_command_prints_how_to_replay_a_failure(broken: None, tmp_path: Path) -> None:
    done = hopline("--explore", 4, "--seed", 4, "--processes", 1, "--output", tmp_path)
    assert done.exit_code == 1
    command = done.stdout.partition("replay it: hopline simulate ")[2].split()
    again = hopline(*command)
    assert again.exit_code == 1
    assert "BROKEN: invariant 1" in again.stdout


@pytest.mark.parametrize("arguments", [(), ("scenario.yaml", "--explore", "3")])
def test_a_scenario_or_an_exploration(arguments: tuple[str, ...]) -> None:
    done = hopline(*arguments)
    assert done.exit_code == 2
    assert "Give either" in done.stderr
