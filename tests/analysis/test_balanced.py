"""Thousands of routes among which the dialog's id chooses are analysed in linear time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache
from math import gcd
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from streams.analysis import find_paths, find_sender, survey_flows
from streams.analysis.check import check_topology
from streams.analysis.diff import compare_topologies, remove
from streams.analysis.estate import Estate
from streams.analysis.paths.network import Pick
from streams.analysis.paths.splits import _conflict
from streams.routing import broker_key
from streams.topology import Topology, load
from tests.steps import grows_linearly
from tests.topology.build import NOW

SIZE = 60
BACK = "{name: back, service_name: I, address: 'tcp://ServerA:4022'}"


def _hub(name: str, count: int) -> str:
    rows = "".join(
        f"      - {{name: r{n}, service_name: T, broker_instance: b{n}, "
        "address: 'tcp://ServerB:4022'}\n"
        for n in range(count)
    )
    start = f"  {name}:\n    endpoint: {{forwarding: true}}\n    msdb:\n      routes:\n"
    return f"{start}{rows}      - {BACK}\n"


def _yaml(*sizes: int) -> str:
    hubs = [f"Hub{n}" for n in range(len(sizes))]
    routes = "".join(
        f"        - {{name: {hub}, service_name: T, address: 'tcp://{hub}:4022'}}\n" for hub in hubs
    )
    databases = "".join(
        f"      D{n}: {{broker_id: b{n}, services: {{T: {{queue: Q}}}}, routes: [{BACK}]}}\n"
        for n in range(max(sizes))
    )
    return (
        "instances:\n  ServerA:\n    databases:\n      A:\n        broker_id: a\n"
        f"        services: {{I: {{queue: Q, contracts: []}}}}\n        routes:\n{routes}"
        f"{''.join(map(_hub, hubs, sizes))}  ServerB:\n    databases:\n{databases}"
    )


@cache
def balanced(*sizes: int) -> Topology:
    """Return hubs with so many balanced routes, each to one of as many databases."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "topology.yaml").write_text(_yaml(*sizes))
        return load(Path(folder), NOW)


def _check(topology: Topology) -> object:
    return check_topology(topology, NOW)


def _path(topology: Topology) -> object:
    return find_paths(topology, find_sender(topology, "ServerA/A", "T"), "T", NOW)


def _flows(topology: Topology) -> object:
    return survey_flows(topology, NOW)


def _diff(topology: Topology) -> object:
    changed = remove(topology, "ServerB/D0")
    return compare_topologies(Estate(topology, NOW), Estate(changed, NOW))


QUESTIONS: tuple[Callable[[Topology], object], ...] = (_check, _path, _flows, _diff)


@pytest.mark.parametrize("ask", QUESTIONS)
@pytest.mark.parametrize("hubs", [(0,), (0, 0), (0, 1)], ids=["one hub", "equal hubs", "split"])
def test_balanced_routes_take_linear_time(
    ask: Callable[[Topology], object], hubs: tuple[int, ...]
) -> None:
    def work(count: int) -> object:
        return ask(balanced(*(count + more for more in hubs)))

    assert grows_linearly(work, SIZE)


def test_hubs_of_different_sizes_split_a_dialog() -> None:
    codes = [finding.code for finding in check_topology(balanced(4, 5), NOW).findings]
    assert "TA-12" in codes
    codes = [finding.code for finding in check_topology(balanced(4, 4), NOW).findings]
    assert "TA-12" not in codes


def _agree(one: Pick, other: Pick) -> bool:
    (kind, count, which), (other_kind, other_count, other_which) = one, other
    if kind != other_kind:
        return True
    if isinstance(which, int) and isinstance(other_which, int):
        return (which - other_which) % gcd(count, other_count) == 0
    return which == other_which


def test_a_conflict_is_the_first_of_all_pairs() -> None:
    """All pairs are compared here; the analysis uses an index."""
    chance = random.Random(1)

    def picks() -> frozenset[Pick]:
        counts = [(chance.choice("hg"), chance.choice([2, 3, 4, 6])) for _ in range(3)]
        some = [(kind, n, chance.randrange(n)) for kind, n in counts[: chance.randint(0, 3)]]
        return frozenset([*some, ("x", 2, chance.choice("ab"))][chance.randint(0, 1) :])

    ids = ["6b29fc40-ca47-1067-b31d-00dd010662da", "6B29FC40CA471067B31D00DD010662DA", "b", "c"]
    for _ in range(2_000):
        one, other = (
            frozenset((chance.choice(ids), picks()) for _ in range(chance.randint(0, 4)))
            for _ in range(2)
        )
        pairs = [
            (broker, far)
            for (broker, here), (far, there) in itertools.product(one, other)
            if broker_key(broker) != broker_key(far)
            and all(_agree(a, b) for a in here for b in there)
        ]
        assert _conflict(one, other) == min(pairs, default=())
