"""The shipped scenarios show what they say that they show (reference, section 9)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from streams.protocol import END_DIALOG, ERROR
from streams.simulator import Result
from tests.simulator.build import SHIPPED, bodies, errors, shipped

TARGET_B, TARGET_C = "ServerB/DatabaseB/TargetQueue", "ServerC/DatabaseC/TargetQueue"
INITIATOR = "ServerA/DatabaseA/InitiatorQueue"
SEEDS = range(3)


def conversations(result: Result, queue: str) -> dict[str, list[dict[str, Any]]]:
    """Return a queue's rows by conversation."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in result.queues.get(queue, []):
        found[row["conversation"]].append(row)
    return found


def numbers(rows: Iterable[dict[str, Any]]) -> list[int]:
    """Return the sequence numbers of rows."""
    return [row["sequence"] for row in rows]


def endpoint(result: Result, instance: str) -> dict[str, Any]:
    """Return the only endpoint of an instance."""
    (row,) = (row for row in result.endpoints if row["instance"] == instance)
    return row


@pytest.mark.long
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: f"{p.parent.parent.name}/{p.stem}")
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_in_a_shipped_scenario(path: Any, seed: int) -> None:
    result = shipped(f"{path.parent.parent.name}/{path.stem}", seed)
    assert result.violation is None
    assert result.good
    assert result.summary["sent"] > 0


def test_ex_01_a_service_of_the_same_instance() -> None:
    result = shipped("local/request_reply")
    assert bodies(result, INITIATOR) == ["thanks"] * 3
    rows = result.queues["ServerA/DatabaseB/TargetQueue"]
    assert [row["body"] for row in rows] == ["hello 0", "hello 1", "hello 2", ""]
    assert rows[-1]["type"] == END_DIALOG
    assert rows[0]["path"] == ["ServerA", "ServerA/DatabaseB"]
    assert [row["state"] for row in result.endpoints] == ["CD"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_24_load_balancing(seed: int) -> None:
    result = shipped("load_balanced/dialogs", seed)
    at_b, at_c = conversations(result, TARGET_B), conversations(result, TARGET_C)
    assert len(at_b) + len(at_c) == 100
    assert not at_b.keys() & at_c.keys()
    assert min(len(at_b), len(at_c)) > 30
    replies = conversations(result, INITIATOR)
    for name, rows in (*at_b.items(), *at_c.items()):
        assert numbers(rows) == [0, 1, 2]
        assert [row["body"] for row in replies[name]] == ["reply", "reply"]
    assert result.summary["duplicates"] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_24_the_table_changes(seed: int) -> None:
    result = shipped("load_balanced/table_change", seed)
    at_b, at_c = conversations(result, TARGET_B), conversations(result, TARGET_C)
    assert not at_b.keys() & at_c.keys()
    assert at_b, "the hash has chosen DatabaseB for some"
    for rows in at_b.values():  # waited for the route, did not move
        assert [row["body"] for row in rows] == ["first", "second"]
        assert rows[1]["at"] > 40
    early = [rows for rows in at_c.values() if len(rows) == 2]
    late = [rows for rows in at_c.values() if len(rows) == 1]
    assert len(early) + len(at_b) == 40
    assert all(rows[1]["at"] < 13 for rows in early)
    assert len(late) == 40
    assert 9796 in errors(result, "ServerA")


def test_ex_52_two_dialogs_of_one_group() -> None:
    result = shipped("load_balanced/one_group")
    homes = defaultdict(set)
    for queue, database in ((TARGET_B, "B"), (TARGET_C, "C")):
        for row in result.queues[queue]:
            homes[row["body"]].add(database)
    assert homes == {"apart": {"B", "C"}, "together": {"B"}}
    groups = Counter(
        row["conversation_group_id"] for row in result.endpoints if row["is_initiator"]
    )
    assert sorted(groups.values()) == [2, 10]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_29_a_gateway_is_lost(seed: int) -> None:
    result = shipped("high_availability/gateway_loss", seed)
    for rows in conversations(result, TARGET_B).values():
        assert numbers(rows) == list(range(13))
    gateways = {row["body"][:6]: set() for row in result.queues[TARGET_B]}
    for row in result.queues[TARGET_B]:
        gateways[row["body"][:6]].add(row["path"][1])
    assert gateways["before"] == {"GatewayA"}
    assert gateways["during"] == gateways["later "] == {"GatewayB"}
    replies = result.queues[INITIATOR]
    assert {row["path"][1] for row in replies if 10 < row["at"] < 60} == {"GatewayB"}
    assert len(replies) == 60


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_32_two_gateways_of_four_are_lost(seed: int) -> None:
    result = shipped("combined/gateway_loss", seed)
    at_b, at_c = conversations(result, TARGET_B), conversations(result, TARGET_C)
    assert len(at_b) + len(at_c) == 20
    assert not at_b.keys() & at_c.keys()
    for queue, gateways in ((at_b, {"GatewayA", "GatewayB"}), (at_c, {"GatewayC", "GatewayD"})):
        for rows in queue.values():
            assert numbers(rows) == [0, 1, 2, 3, 4]
            assert {row["path"][1] for row in rows} <= gateways
    late = [row for row in result.queues[TARGET_B] if row["at"] > 10]
    assert {row["path"][1] for row in late} == {"GatewayB"}


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_33_several_targets(seed: int) -> None:
    result = shipped("several_targets/two_targets", seed)
    (here,), (there,) = conversations(result, TARGET_B), conversations(result, TARGET_C)
    assert here == there
    assert sorted(act["instance"] for act in result.acts) == ["ServerB", "ServerC"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_34_the_second_acknowledgement_is_rejected(seed: int) -> None:
    result = shipped("several_targets/two_targets", seed)
    assert endpoint(result, "ServerA")["far_broker_instance"] == "DatabaseB"
    assert endpoint(result, "ServerB")["state"] == "CO"
    assert endpoint(result, "ServerC")["state"] == "ER"
    error = result.queues[TARGET_C][-1]
    assert error["type"] == ERROR
    assert "<Code>-8495</Code>" in error["body"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_35_no_progress_until_the_right_address_is_tried(seed: int) -> None:
    result = shipped("several_targets/no_progress", seed)
    rows = result.queues[TARGET_B]
    assert [row["body"] for row in rows] == ["first", "second"]
    assert rows[1]["at"] > 40
    tries = [e for e in result.events if e["error"] == 28017 and e.get("sequence") == 1]
    assert len([e for e in tries if e["at"] < 40]) >= 3
    assert {e["instance"] for e in tries} == {"ServerC"}


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_37_the_first_remedy_is_to_name_broker_ids(seed: int) -> None:
    result = shipped("several_targets/remedy_broker_ids", seed)
    at_b, at_c = conversations(result, TARGET_B), conversations(result, TARGET_C)
    assert len(at_b) + len(at_c) == 20
    assert at_b and at_c
    assert not at_b.keys() & at_c.keys()
    assert len({act["conversation"] for act in result.acts}) == len(result.acts) == 20


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_37_the_second_remedy_is_a_handshake(seed: int) -> None:
    result = shipped("several_targets/remedy_handshake", seed)
    assert TARGET_C in result.queues, "both targets have received the first message"
    assert [act["instance"] for act in result.acts] == ["ServerB"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_37_the_handshake_is_sound_with_pipelined_sends(seed: int) -> None:
    """Both targets get three messages before the lock; what proves it comes to one of them only."""
    result = shipped("several_targets/remedy_handshake_pipelined", seed)
    both = (conversations(result, TARGET_B), conversations(result, TARGET_C))
    assert all(len(rows) >= 3 for place in both for rows in place.values())
    assert [act["instance"] for act in result.acts] == ["ServerB"]


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_45_a_routing_loop(seed: int) -> None:
    result = shipped("routing_loop/dies_of_hops", seed)
    dropped = [e for e in result.events if e["error"] == 11285]
    assert [e["attempt"] for e in dropped] == list(range(len(dropped)))
    assert {e["event"] for e in dropped} == {140}
    assert len(dropped) >= 4
    (row,) = result.queues["ServerB/DatabaseB/TargetQueue"]
    assert row["at"] > 60
    assert result.summary["dropped"] == {"11285": len(dropped)}


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_48_a_forwarder_crashes_while_it_holds(seed: int) -> None:
    result = shipped("forwarding_chain/forwarder_crash", seed)
    found = conversations(result, "SQL3/DatabaseB/rcvTweetQueue")
    assert len(found) == 3
    for rows in found.values():
        assert [row["body"] for row in rows] == [f"tweet {n}" for n in range(4)]
        assert rows[0]["at"] > 30
    lost = [row for row in result.queues["SQL3/DatabaseB/rcvTweetQueue"] if row["sequence"] > 0]
    # What was held when the forwarder died had been sent at 8 s; what came was sent after that.
    assert {row["path"][1] for row in lost} == {"SQL2"}


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_46_what_is_for_a_cluster_that_is_away_is_held_for_its_time_to_live(seed: int) -> None:
    result = shipped("two_clusters/seller_away", seed)
    orders = conversations(result, "ServerB/DatabaseB/SupplierQueue")
    assert [[row["body"] for row in rows] for rows in orders.values()] == [
        [f"order {n}" for n in range(4)]
    ] * 3
    assert all(row["at"] > 120 for rows in orders.values() for row in rows)
    audits = result.queues["ServerC/DatabaseC/AuditQueue"]
    assert [row["body"] for row in audits] == [f"ordered {n}" for n in range(3)]
    assert all(row["at"] < 10 for row in audits), "they waited for the other cluster"
    assert {11288, 11290} <= set(errors(result, "GatewayA"))


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_59_the_end_of_a_lifetime(seed: int) -> None:
    result = shipped("two_brokers/lifetime", seed)
    (error,) = result.queues[INITIATOR]
    assert error["type"] == ERROR
    assert "<Code>-8489</Code>" in error["body"]
    assert 60 <= error["at"] < 61
    refused = [e for e in result.events if e["error"] == 8429]
    assert [round(e["at"]) for e in refused] == [70]
    assert 9753 in errors(result, "ServerA")
    assert result.summary["discarded"] == result.summary["sent"] == 1
    assert not result.transmission_queue


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_62_a_missing_return_route(seed: int) -> None:
    result = shipped("two_brokers/missing_return_route", seed)
    assert len(result.queues[TARGET_B]) == 1
    duplicates = [e for e in result.events if e["error"] == 11218]
    assert len([e for e in duplicates if e["at"] < 60]) >= 3
    assert 9750 in errors(result, "ServerB")
    assert not result.transmission_queue


@pytest.mark.parametrize("seed", SEEDS)
def test_ex_62_stale_return_routes(seed: int) -> None:
    result = shipped("load_balanced/stale_return_route", seed)
    assert len(conversations(result, TARGET_B)) == 5
    for rows in conversations(result, TARGET_B).values():
        assert numbers(rows) == list(range(6))
    assert errors(result, "ServerC"), "the stale address has dropped acknowledgements"
    assert result.summary["duplicates"] >= 5
    assert not result.transmission_queue
