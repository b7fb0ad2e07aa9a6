"""Generated estates: as many as asked for, the same for a seed, healthy by default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams.analysis import Paths, find_paths, find_sender
from streams.analysis.paths.verdict import PathVerdict
from streams.errors import UsageError
from streams.topology import MSDB, Topology, load
from streams.topology.generate import KINDS, GeneratedEstate, Wish, generate_estate
from streams.topology.yaml_file import write_document
from tests.topology.build import NOW

LATER = 1_700_000_000.0
SIZES = [(1, 0), (1, 7), (2, 1), (2, 9), (7, 40), (8, 30), (26, 150), (27, 151), (120, 1_001)]


def paths(topology: Topology, sender: str, to: str) -> Paths:
    return find_paths(topology, find_sender(topology, sender, to), to, LATER, limit=0)


def routes(topology: Topology) -> int:
    databases = [d for i in topology.instances.values() for d in (i.msdb, *i.databases.values())]
    return sum(r.name != "AutoCreatedLocal" for d in databases for r in d.routes)


@pytest.mark.parametrize(("instances", "wanted"), SIZES)
def test_an_estate_is_as_large_as_asked_for_and_healthy(instances: int, wanted: int) -> None:
    """Every flow arrives and is acknowledged, by every path and without hazard."""
    estate = generate_estate(Wish(instances, wanted, seed=instances))
    assert len(estate.topology.instances) == instances
    assert routes(estate.topology) == wanted
    for flow in estate.flows:
        sender = "/".join((*flow.sender.table, flow.sender.service))
        found = paths(estate.topology, sender, flow.offer.service)
        assert found.verdict is PathVerdict.OK, (sender, flow.offer)
    for expected in estate.topology.expect:
        assert paths(estate.topology, expected.sender, expected.to).good


def test_an_estate_has_every_kind_of_path() -> None:
    estate = generate_estate(Wish(120, 1_500, seed=3))
    assert {flow.path_kind.value for flow in estate.flows} == {
        "local",
        "direct",
        "gateways",
        "hubs",
    }
    assert {len(flow.offer.homes) for flow in estate.flows} >= {1, 2}
    assert {flow.offer.by_name for flow in estate.flows} == {True, False}


def test_regions_are_left_by_gateways_and_hubs_only() -> None:
    """There and back: no server has a route to an instance of another region."""
    estate = generate_estate(Wish(120, 1_500, seed=3))
    for instance in estate.topology.instances.values():
        region = instance.name.partition("-")[0]
        near = {region, "Hub"} if "Gateway" in instance.name else {region}
        for route in (r for d in (instance.msdb, *instance.databases.values()) for r in d.routes):
            to, gateway = route.address.removeprefix("tcp://"), "-Gateway-" in route.address
            hub_to_gateway = region == "Hub" and gateway
            assert route.address == "LOCAL" or hub_to_gateway or to.partition("-")[0] in near


def test_the_same_seed_the_same_text() -> None:
    a, b, c = (write_document(generate_estate(Wish(30, 200, s)).topology) for s in (5, 5, 6))
    assert a == b != c


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    estate = generate_estate(Wish(40, 300, seed=2))
    (tmp_path / "topology.yaml").write_text(write_document(estate.topology), encoding="utf-8")
    topology = load(tmp_path, NOW)
    assert topology == estate.topology
    assert not topology.findings


@pytest.fixture(scope="module")
def damaged() -> GeneratedEstate:
    return generate_estate(Wish(220, 1_800, seed=4, defects=2 * len(KINDS)))


HARMLESS = {"duplicate route", "expired route"}
"""Defects that keep no dialog from going on."""


def test_every_kind_is_planted_and_breaks_what_it_states(damaged: GeneratedEstate) -> None:
    assert [d.kind for d in damaged.defects] == 2 * [kind.name for kind in KINDS]
    assert len({d.subject for d in damaged.defects}) == len(damaged.defects)
    for defect in damaged.defects:
        instance, _, database = defect.subject.partition("/")
        found = damaged.topology.instances[instance]
        assert not database or database == MSDB or database in found.databases
        good = paths(damaged.topology, defect.sender, defect.to).good
        assert good is (defect.kind in HARMLESS), defect


@pytest.mark.long
def test_flows_that_meet_no_defect_are_healthy(damaged: GeneratedEstate) -> None:
    spoilt = {d.subject.partition("/")[0] for d in damaged.defects}
    apart = 0
    for flow in damaged.flows:
        homes = {home.table[0] for home in flow.offer.homes}
        if spoilt & {flow.sender.table[0], *homes, *(n for tier in flow.tiers for n in tier)}:
            continue
        sender = "/".join((*flow.sender.table, flow.sender.service))
        assert paths(damaged.topology, sender, flow.offer.service).good
        apart += 1
    assert apart > len(damaged.defects)


def test_the_page_lists_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "internals.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (TA-\d\d) \|", page, re.MULTILINE) == [k.code for k in KINDS]


def test_no_room_for_defects_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="room for"):
        generate_estate(Wish(4, 10, defects=100))
