"""Effects of a topology change on flows and dialogs: stops, moves, redundancy, path, begins."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from streams.analysis.diff import (
    Change,
    Course,
    Dialogs,
    Direction,
    Touched,
    compare_dialogs,
    compare_topologies,
    difference_text,
    remove,
)
from streams.analysis.estate import Estate
from streams.errors import UsageError
from streams.topology import Topology, load
from tests.topology.build import NOW, SHIPPED, shipped, write

FLOW = Direction("ServerA", "DatabaseA", "InitiatorService", "TargetService")


def change(old: Topology, new: Topology) -> dict[str, Any]:
    """Compare; the text is made as well and fits its width."""
    found = compare_topologies(Estate(old, NOW), Estate(new, NOW))
    assert all(len(line) <= 100 for line in difference_text(found).splitlines())
    return dict(json.loads(json.dumps(found.to_json())))


def without(topology: Topology, *names: str) -> Topology:
    return reduce(remove, names, topology)


def kinds(answer: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    return {(flow["from"], flow["to"]): flow["change"] for flow in answer["flows"]}


def places(reach: Mapping[str, Any]) -> list[str]:
    return [row["at"] for row in reach["reached"]]


# A database that begins, one that answers, and what is between them.
HOME = """
  A:
    databases:
      Shop:
        broker_id: shop
        services: {{Orders: {{contracts: []}}}}
        routes: [{there}]
    msdb: {{auto_created_local: true}}
"""
AWAY = """
  {name}:
    databases:
      Stock:
        broker_id: {broker}
        services: {{Stock: {{queue: Q}}}}
        routes: [{{name: Back, service_name: Orders, broker_instance: shop, address: 'tcp://A:4022'}}]
"""


def route(name: str, to: str, broker: str | None = None) -> str:
    named = "" if broker is None else f", broker_instance: {broker}"
    return f"{{name: {name}, service_name: Stock{named}, address: 'tcp://{to}:4022'}}"


def estate(folder: Path, there: str, *away: tuple[str, str], more: str = "") -> Topology:
    """Return A, which has these routes, and instances with a Stock of this broker id."""
    folder.mkdir(exist_ok=True)
    text = HOME.format(there=there) + "".join(AWAY.format(name=n, broker=b) for n, b in away)
    return load(write(folder, f"instances:{text}{more}"), NOW)


# --- The shipped topologies ----------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_changes_where_nothing_is_changed(name: str) -> None:
    topology = shipped(name)
    answer = change(topology, topology)
    assert answer["flows"] == [] and answer["summary"]["judged"] > 0


def test_one_gateway_of_a_pair_is_redundancy() -> None:
    """A retry takes the other address, whatever the address without an instance."""
    topology = shipped("combined")
    [flow] = change(topology, without(topology, "GatewayA"))["flows"]
    assert flow["change"] == "redundancy"
    assert places(flow["before"]) == places(flow["after"])
    assert [(r["ways"], r["returns"]) for r in flow["after"]["reached"]] == [(1, 1), (2, 2)]
    assert [f["route"] for f in flow["failures"]] == ["TargetRouteA", "InitiatorRouteA"]


def test_both_gateways_of_a_broker_id_stop_it() -> None:
    topology = shipped("combined")
    [flow] = change(topology, without(topology, "GatewayA", "gatewayb"))["flows"]
    assert flow["change"] == "stops" and places(flow["after"]) == ["ServerC/DatabaseC"]
    assert flow["after"]["stranded"] == 0.5
    text = difference_text(
        compare_topologies(
            Estate(topology, NOW), Estate(without(topology, "GatewayA", "GatewayB"), NOW)
        )
    )
    assert "no longer reached: ServerB/DatabaseB (broker id DatabaseB)" in text
    assert "at ServerA, rule M3: UNKNOWN: no instance listens at tcp://GatewayB:4022" in text


def test_a_sender_that_is_gone_stops_its_flows_and_begins_none() -> None:
    """What only the new topology suggests (the target as an initiator) is no news."""
    topology = shipped("combined")
    answer = change(topology, without(topology, "ServerA"))
    [flow] = answer["flows"]
    assert (flow["change"], flow["after"]["missing"]) == ("stops", "there is no instance ServerA")


def test_no_acknowledgement_is_no_arrival() -> None:
    """Messages arrive for ever and are never acknowledged: the flow is of no use."""
    topology = shipped("load_balanced")
    routes = topology.instances["ServerB"].databases["DatabaseB"].routes
    names = [f"ServerB/DatabaseB/{r.name}" for r in routes if r.service is not None]
    [flow] = change(topology, without(topology, *names))["flows"]
    assert flow["change"] == "stops" and places(flow["after"]) == ["ServerC/DatabaseC"]
    assert {f["leg"] for f in flow["failures"]} == {"back"}


# --- Each word -----------------------------------------------------------------------------------


def test_begins(tmp_path: Path) -> None:
    old = estate(tmp_path / "old", route("R", "Nowhere", "b1"), ("B", "b1"))
    new = estate(tmp_path / "new", route("R", "B", "b1"), ("B", "b1"))
    assert kinds(change(old, new)) == {("A/Shop/Orders", "Stock"): "begins"}
    assert kinds(change(new, old)) == {("A/Shop/Orders", "Stock"): "stops"}


def test_moves_with_its_broker_id(tmp_path: Path) -> None:
    """The database is now on another instance: it is still reached, elsewhere."""
    old = estate(tmp_path / "old", route("R", "B", "b1"), ("B", "b1"))
    new = estate(tmp_path / "new", route("R", "C", "b1"), ("C", "b1"))
    [flow] = change(old, new)["flows"]
    assert flow["change"] == "moves"
    assert (places(flow["before"]), places(flow["after"])) == (["B/Stock"], ["C/Stock"])


def test_moves_to_one_more_database(tmp_path: Path) -> None:
    old = estate(tmp_path / "old", route("R", "B", "b1"), ("B", "b1"), ("C", "c1"))
    both = f"{route('R', 'B', 'b1')}, {route('S', 'C', 'c1')}"
    new = estate(tmp_path / "new", both, ("B", "b1"), ("C", "c1"))
    assert set(kinds(change(old, new)).values()) == {"moves"}


def test_another_broker_id_instead_stops_the_first(tmp_path: Path) -> None:
    """The contract's word for a broker id that no path reaches any more."""
    old = estate(tmp_path / "old", route("R", "B", "b1"), ("B", "b1"), ("C", "c1"))
    new = estate(tmp_path / "new", route("R", "C", "c1"), ("B", "b1"), ("C", "c1"))
    assert set(kinds(change(old, new)).values()) == {"stops"}


def test_a_service_that_moves_keeps_its_open_dialogs(tmp_path: Path) -> None:
    """The old route names the old broker id: open dialogs take it, and new dialogs do not."""
    away = (("B", "b1"), ("C", "c1"))
    kept = f"{route('R', 'B', 'b1')}, {route('S', 'C')}"
    old, new = estate(tmp_path / "old", route("R", "B", "b1"), *away), tmp_path / "new"
    after = estate(new, kept, *away)
    [flow] = change(old, after)["flows"]
    assert (flow["change"], flow["open_dialogs_only"]) == ("moves", ["B/Stock"])
    assert places(flow["after"]) == ["C/Stock"]
    text = difference_text(compare_topologies(Estate(old, NOW), Estate(after, NOW)))
    assert "reached by open dialogs only: B/Stock (broker id b1)" in text


def test_open_dialogs_alone_do_not_keep_a_flow(tmp_path: Path) -> None:
    """New dialogs go by the route without a broker id, which leads nowhere now."""
    away = (("B", "b1"),)
    both = f"{route('R', 'B', 'b1')}, {route('S', 'Nowhere')}"
    old, new = estate(tmp_path / "old", route("R", "B"), *away), tmp_path / "new"
    [flow] = change(old, estate(new, both, *away))["flows"]
    assert (flow["change"], flow["open_dialogs_only"]) == ("stops", ["B/Stock"])


def test_dialogs_that_reach_nothing_have_stopped(tmp_path: Path) -> None:
    """A third of the dialogs takes a broker id that nobody has; the others are as before."""
    two = f"{route('R', 'B', 'b1')}, {route('S', 'C', 'c1')}"
    away = (("B", "b1"), ("C", "c1"))
    old = estate(tmp_path / "old", two, *away)
    new = estate(tmp_path / "new", f"{two}, {route('T', 'Nowhere', 'd1')}", *away)
    [flow] = change(old, new)["flows"]
    assert flow["change"] == "stops" and flow["after"]["stranded"] == pytest.approx(1 / 3)
    [flow] = change(new, old)["flows"]
    assert (flow["change"], flow["after"]["stranded"]) == ("moves", 0)


def test_the_same_databases_for_other_dialogs() -> None:
    """Without broker ids in its routes, one dialog reaches what two did (3.4, EX-33)."""
    balanced, several = (Estate(shipped(n), NOW) for n in ("load_balanced", "several_targets"))
    found = compare_topologies(balanced, several)
    assert [(c.change, c.splits) for c in found.changes] == [(Change.MOVES, True)]
    assert "one dialog can reach several of these databases now (TA-12)" in difference_text(found)
    back = compare_topologies(several, balanced)
    assert [(c.change, c.splits) for c in back.changes] == [(Change.MOVES, False)]


FORWARDER = """
  {name}:
    endpoint: {{forwarding: true}}
    msdb:
      auto_created_local: false
      routes: [{{name: Next, service_name: Stock, broker_instance: b1, address: 'tcp://B:4022'}}]
"""


def test_path_and_redundancy(tmp_path: Path) -> None:
    """Over F instead of G is another path; over one instead of both is less redundancy."""
    more = FORWARDER.format(name="F") + FORWARDER.format(name="G")
    f, g = route("F", "F", "b1"), route("G", "G", "b1")
    by_f, by_g, both = (
        estate(tmp_path / name, there, ("B", "b1"), more=more)
        for name, there in (("f", f), ("g", g), ("both", f"{f}, {g}"))
    )
    [flow] = change(by_f, by_g)["flows"]
    assert flow["change"] == "way"
    text = difference_text(compare_topologies(Estate(by_f, NOW), Estate(by_g, NOW)))
    assert "A no longer sends to F" in text and "A now sends to G" in text
    assert set(kinds(change(both, by_f)).values()) == {"redundancy"}
    assert set(kinds(change(by_f, both)).values()) == {"way"}


def test_only_new_losses_are_reported(tmp_path: Path) -> None:
    """A route that led nowhere before is no reason."""
    old = estate(tmp_path, f"{route('R', 'B', 'b1')}, {route('S', 'Nowhere', 'b1')}", ("B", "b1"))
    [flow] = change(old, without(old, "B"))["flows"]
    assert [failure["route"] for failure in flow["failures"]] == ["R"]


def test_long_names_are_folded(tmp_path: Path) -> None:
    """People read it in a terminal; `change` looks at the width of every line."""
    away = "x" * 60
    old = estate(tmp_path, route("R" * 40, away, "b1"), (away, "b1"))
    renamed = Direction("A", "Shop", "Orders", "//" + "stock/" * 14)
    text = difference_text(
        compare_topologies(
            Estate(old, NOW),
            Estate(without(old, away), NOW),
            {renamed: Touched(10_000_000, {Change.STOPS: 5_000_000})},
        )
    )
    assert max(map(len, text.splitlines())) <= 100 and "STOPS  A/Shop/Orders ->\n  //stock" in text


def test_the_worst_comes_first(tmp_path: Path) -> None:
    topology = shipped("combined")
    shop = Direction("ServerA", "DatabaseA", "InitiatorService", "Elsewhere")
    touched = {shop: Touched(5, {Change.BEGINS: 2}), FLOW: Touched(9, {Change.REDUNDANCY: 9})}
    found = compare_topologies(
        Estate(topology, NOW), Estate(without(topology, "GatewayA"), NOW), touched
    )
    assert [(c.flow.to, c.change, c.touched.count) for c in found.changes] == [
        ("TargetService", Change.REDUNDANCY, 9),
        ("Elsewhere", Change.BEGINS, 2),
    ]
    assert found.to_json()["summary"] == {
        "stops": 0, "moves": 0, "redundancy": 1, "way": 0, "begins": 1, "judged": 2,
        "unreached": 0,
    }  # fmt: skip


def test_flows_that_reach_nothing_before_and_after_are_reported(tmp_path: Path) -> None:
    """Nothing changes for it, which would else read as leave to take its target away."""
    topology = estate(tmp_path, route("There", "Nobody"), ("B", "b"))
    found = compare_topologies(Estate(topology, NOW), Estate(without(topology, "B"), NOW))
    assert found.same and found.to_json()["summary"]["unreached"] == 1
    assert difference_text(found) == (
        "Nothing changes for the one flow.\n"
        "It reaches no target that acknowledges, before or after; hopline flows explains why.\n"
    )


# --- Without -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["GatewayA"], "redundancy"),
        (["servera--gatewaya"], "redundancy"),
        (["GatewayA--ServerB", "ServerB--GatewayB"], "stops"),
        (["GatewayA/msdb/TargetRoute"], "redundancy"),
        (["ServerA/DatabaseA/targetroutea"], "redundancy"),
        (["ServerB/DatabaseB/InitiatorRouteA"], "redundancy"),
        (["ServerB/DatabaseB"], "stops"),
        (["ServerB"], "stops"),
        (["GatewayA/msdb/TargetRoute", "GatewayB/MSDB/targetroute"], "stops"),
    ],
)
def test_what_can_be_left_out(names: list[str], word: str) -> None:
    topology = shipped("combined")
    assert set(kinds(change(topology, without(topology, *names))).values()) == {word}


def test_a_link_that_nobody_uses_changes_nothing() -> None:
    topology = shipped("combined")
    assert change(topology, without(topology, "ServerA--ServerB"))["flows"] == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GatewayX", "There is no instance 'GatewayX'."),
        ("ServerA/DatabaseX", "There is no database 'DatabaseX'."),
        ("ServerA/DatabaseA/TargetRoutA", "There is no route 'TargetRoutA'."),
        ("ServerA--ServerX", "There is no instance 'ServerA--ServerX'."),
        ("ServerA/msdb", "msdb cannot be removed from ServerA."),
        ("ServerA--ServerA", "There is no instance 'ServerA--ServerA'."),
    ],
)
def test_what_is_not_there_cannot_be_left_out(name: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        remove(shipped("combined"), name)
    assert error.value.message == message and error.value.remedy


def test_an_instance_may_be_called_like_a_link(tmp_path: Path) -> None:
    topology = load(write(tmp_path, "instances: {A: {}, B: {}, A--B: {}}"), NOW)
    assert set(remove(topology, "A--B").instances) == {"A", "B"}
    assert remove(topology, "A--A--B").cuts == {frozenset(("A", "A--B"))}


# --- Dialogs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("combined", ("GatewayA", "GatewayB")),
        ("load_balanced", ("ServerB",)),
        ("several_targets", ("ServerC",)),
    ],
)
def test_what_is_looked_up_for_a_dialog_is_what_would_be_computed(
    name: str, left_out: tuple[str, ...]
) -> None:
    """Dialogs for which the hash decides alike fare alike."""
    old = Estate(shipped(name), NOW)
    new = Estate(without(shipped(name), *left_out), NOW)
    dialogs, chance = Dialogs(old, new), random.Random(5)
    for _ in range(60):
        conversation = uuid.UUID(int=chance.getrandbits(128))
        before, after = (Course(e, FLOW, conversation).reach() for e in (old, new))
        fate = dialogs.fate(FLOW, conversation)
        assert fate.change is compare_dialogs(before, after)
        assert fate.before == tuple(target.at for target in before.arrivals)
        assert fate.after == tuple(target.at for target in after.arrivals)


def test_a_database_of_several_is_chosen_by_the_dialog(tmp_path: Path) -> None:
    """Two databases of B have the service (U-13); without one, its dialogs move."""
    back = "{name: Back, service_name: Orders, broker_instance: shop, address: 'tcp://A:4022'}"
    yaml = f"""
  B:
    databases:
      One: {{services: [Stock], routes: [{back}]}}
      Two: {{services: [Stock], routes: [{back}]}}
"""
    topology = estate(tmp_path, route("R", "B"), more=yaml)
    dialogs = Dialogs(Estate(topology, NOW), Estate(without(topology, "B/One"), NOW))
    shop, chance = Direction("A", "Shop", "Orders", "Stock"), random.Random(1)
    found = {
        (f.before, f.after, f.change)
        for f in (dialogs.fate(shop, uuid.UUID(int=chance.getrandbits(128))) for _ in range(40))
    }
    assert found == {
        (("B/One",), ("B/Two",), Change.MOVES),
        (("B/Two",), ("B/Two",), None),
    }


def test_current_database_is_a_broker_id() -> None:
    """BEGIN DIALOG ... , 'CURRENT DATABASE' stays at home."""
    combined = Estate(shipped("combined"), NOW)
    at_home = Direction(
        "ServerA", "DatabaseA", "InitiatorService", "InitiatorService", "Current Database"
    )
    reach = Course(combined, at_home).reach()
    assert [target.at for target in reach.arrivals] == ["ServerA/DatabaseA"]
