"""Mirrored pairs and availability groups: a failover moves the dialogs; nothing is ever split."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from streams.errors import EventKind, UsageError
from streams.simulator import (
    MILLISECOND,
    SECOND,
    Result,
    Simulation,
    parse_scenario,
    read_scenario,
)
from streams.simulator.instance import Instance
from streams.simulator.storage import Store
from streams.topology import Database, Role
from tests.node.evidence import shows
from tests.simulator.build import bodies, path_of, run, shipped, simulation

SEEDS = range(3)
FIRST, SECOND_PARTNER = "Partner1/Orders/OrderQueue", "Partner2/Orders/OrderQueue"


def played(name: str, seed: int) -> Simulation:
    """Return a shipped scenario after its end."""
    folder, _, file = name.partition("/")
    standing = Simulation(*read_scenario(path_of(folder, file)), seed)
    assert standing.play() is None
    return standing


def sent(standing: Simulation, to: str, first: float, last: float) -> int:
    """Return how many copies ServerA sent to an instance in some seconds."""
    return sum(
        (copy.sender, copy.receiver) == ("ServerA", to) and first <= copy.sent / SECOND <= last
        for copy in standing.network.passages
    )


def numbers(result: Result, *queues: str) -> dict[str, list[int]]:
    """Return, by conversation, the sequence numbers that came into queues."""
    rows = sorted((r for q in queues for r in result.queues.get(q, [])), key=lambda r: r["at"])
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(row["conversation"], []).append(row["sequence"])
    return found


@shows("EX-07", "2.4-2", "2.4-3")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_07_the_principal_gets_everything(seed: int) -> None:
    standing = played("mirrored/split", seed)
    assert sent(standing, "Partner1", 0, 19) >= 3
    assert sent(standing, "Partner2", 0, 19) == 0
    states = [e for e in standing.facts.events if e.event["event"] == EventKind(144)]
    assert [(t.event["instance"], t.event["subclass"]) for t in states][:1] == [("ServerA", 1)]


@shows("EX-08", "2.4-4")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_08_the_partner_claims_and_goes_on_with_the_dialogs(seed: int) -> None:
    result = shipped("mirrored/split", seed)
    assert bodies(result, SECOND_PARTNER) == ["third"] * 3 + ["fourth"] * 3
    assert all(row["at"] > 160 for row in result.queues[SECOND_PARTNER])
    assert list(numbers(result, FIRST, SECOND_PARTNER).values()) == [[0, 1, 2, 3]] * 3
    targets = [row for row in result.endpoints if not row["is_initiator"]]
    assert {(row["instance"], row["state"]) for row in targets} == {("Partner2", "CO")}


@shows("EX-09", "2.4-5")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_09_without_a_claim_nothing_goes_to_either(seed: int) -> None:
    standing = played("mirrored/split", seed)
    assert sent(standing, "Partner2", 20, 160) == 0
    assert sent(standing, "Partner1", 26, 60) == 0, "5 s after the last heartbeat"
    result = shipped("mirrored/split", seed)
    rows = result.queues[FIRST]
    assert [row["body"] for row in rows] == ["first"] * 3 + ["second"] * 3
    assert all(60 < row["at"] < 150 for row in rows[3:])
    waited = [e for e in result.events if e["error"] == 9794 and 26 < e["at"] < 60]
    assert {e["instance"] for e in waited} == {"ServerA"}


@shows("EX-10")
@pytest.mark.parametrize("seed", SEEDS)
def test_ex_10_a_former_principal_reports_its_demotion(seed: int) -> None:
    result = shipped("mirrored/failover", seed)
    assert sorted(bodies(result, SECOND_PARTNER)) == ["after 0"] * 5 + ["after 1"] * 5
    assert list(numbers(result, FIRST, SECOND_PARTNER).values()) == [[0, 1, 2, 3, 4, 5, 6]] * 5
    replies = numbers(result, "ServerA/DatabaseA/InitiatorQueue")
    assert [len(rows) for rows in replies.values()] == [6] * 5
    assert result.summary["waiting"] == 0


@shows("2.4-10")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_listener_leads_to_the_new_primary(seed: int) -> None:
    result = shipped("availability_group/failover", seed)
    queues = [f"Replica{n}/Orders/OrderQueue" for n in (1, 2)]
    assert list(numbers(result, *queues).values()) == [list(range(10))] * 5
    assert {row["body"][:6] for row in result.queues[queues[0]]} == {"before"}
    assert not [e for e in result.events if e["error"] == 9794], "nobody is asked"
    assert result.summary["waiting"] == 0


ROUGH = """
    until: 700s
    aborts: 0.1
    network: {latency: [1ms, 300ms], loss: 0.2, duplicate: 0.2, reorder: 0.2, until: 70s}
    applications:
      - {service: Partner1/Orders/OrderParts, does: [reply, end]}
    steps:
      - at: 0s
        begin: {dialog: d, count: 5, from: ServerA/DatabaseA/InitiatorService, to: OrderParts}
      - {at: 0s, send: {dialog: d, body: a, count: 5}}
      - {at: 6s, failover: {pair: Orders, to: Partner2}}
      - {at: 6s, send: {dialog: d, body: b, count: 5}}
      - {at: 9s, failover: {pair: Orders, to: Partner1}}
      - {at: 9200ms, failover: {pair: Orders, to: Partner2}}
      - {at: 15s, fault: {instance: Partner2, state: crashed}}
      - {at: 16s, failover: {pair: Orders, to: Partner1}}
      - {at: 20s, fault: {instance: Partner2, state: up}}
      - {at: 30s, failover: {pair: Orders, to: Partner2}}
      - {at: 31s, fault: {endpoint: Partner2, state: crashed}}
      - {at: 40s, fault: {endpoint: Partner2, state: up}}
      - {at: 50s, send: {dialog: d, side: target, body: c, count: 3}}
      - {at: 70s, end: {dialog: d}}
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_failovers_on_a_rough_network_lose_and_double_nothing(seed: int) -> None:
    result = run("mirrored", ROUGH, seed)
    assert result.violation is None
    assert result.good
    assert result.summary["waiting"] == 0
    assert len(numbers(result, FIRST, SECOND_PARTNER)) == 5


def test_a_deposed_principal_that_does_not_know_it_does_nothing_more() -> None:
    """From the claim on only the new principal writes; the old one learns of it by the catalog."""
    text = """
        network: {latency: 1ms}
        steps:
          - {at: 5s, failover: {pair: Orders, to: Partner2}}
    """
    seen: list[tuple[Role, str]] = []
    for seed in range(20):
        standing = simulation("mirrored", text, seed)
        old = standing.instances["Partner1"]
        store = old.pairs["Orders"]

        def look(old: Instance = old, store: Store = store) -> None:
            if store.epoch == 1:
                role = old.catalog.mirrors["Partner1", "Orders"].role
                assert store.endpoint is not None
                seen.append((role, store.endpoint.at))

        for moment in range(5000, 5500, 5):
            standing.clock.at(moment * MILLISECOND, look)
        standing.play()
    assert set(seen) == {(Role.PRINCIPAL, "Partner2"), (Role.MIRROR, "Partner2")}


def test_the_partners_are_one_database() -> None:
    text = "topology: mirrored\n"
    topology, scenario = parse_scenario(text, path_of("mirrored", "split").parents[2] / "s.yaml")
    databases = cast(dict[str, Database], topology.instances["Partner2"].databases)
    databases["Other"] = replace(databases.pop("Orders"), name="Other")
    with pytest.raises(UsageError, match="differ in database name"):
        Simulation(topology, scenario)


def test_a_statement_at_one_partner_applies_to_the_other() -> None:
    """A queue that is off stays off at the new principal; what changes nothing is noted once."""
    text = """
        steps:
          - {at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: OrderParts}}
          - {at: 0s, sql: {at: Partner1/Orders, text: ALTER QUEUE OrderQueue WITH STATUS = OFF}}
          - {at: 1s, send: {dialog: d, body: parked}}
          - {at: 5s, failover: {pair: Orders, to: Partner2}}
          - {at: 20s, sql: {at: Partner2/Orders, text: ALTER QUEUE OrderQueue WITH STATUS = ON}}
          - {at: 20s, sql: {at: Partner1/Orders, text: CREATE TABLE t (n int)}}
    """
    result = run("mirrored", text)
    assert bodies(result, FIRST) == []
    assert bodies(result, SECOND_PARTNER) == ["parked"]
    assert all(row["at"] >= 20 for row in result.queues[SECOND_PARTNER])
    assert len(result.notes) == 1


def test_nobody_begins_under_an_epoch_that_is_over() -> None:
    """A deposed principal that restarts before it knows does not take the pair back."""
    text = """
        network: {latency: 1ms}
        steps:
          - {at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: OrderParts}}
          - {at: 0s, send: {dialog: d, body: before}}
          - {at: 5s, failover: {pair: Orders, to: Partner2}}
          - {at: 5200ms, fault: {endpoint: Partner1, state: crashed}}
          - {at: 5250ms, fault: {endpoint: Partner1, state: up}}
          - {at: 6s, send: {dialog: d, body: after}}
    """
    for seed in range(20):
        result = run("mirrored", text, seed)
        assert (bodies(result, FIRST), bodies(result, SECOND_PARTNER)) == (["before"], ["after"])
