"""What the forwarder's cache of plans counts."""

from __future__ import annotations

import tracemalloc
import uuid

import pytest

from streams.node import Forwarder, Outcome, Record, catalog_of
from streams.node.forwarder.plan_cache import DECISION_BYTES, CachedPlan, _size
from streams.protocol import Header, Journey, Parties
from streams.routing import Decision, Origin, Plan, Verdict
from streams.wire import Envelope
from streams.wire.records import message_record

from .harness import START, topology

PARTIES = Parties("Target", None, "Initiator", "A", "DEFAULT", True)
DECISION = Decision(Verdict.DELAY, "M7")


def test_each_decision_of_a_plan_is_counted() -> None:
    """A service that is balanced over many broker ids has a decision for each of them."""
    single = Plan((DECISION,))
    several = Plan((DECISION, Plan((DECISION, DECISION))), ("A", "B"))
    assert (single.count, several.count) == (1, 3)
    one, three = (CachedPlan(0, 1.0, plan, PARTIES) for plan in (single, several))
    key = (Origin.OUTSIDE, b"route")
    assert _size(key, three) == _size(key, one) + 2 * DECISION_BYTES


BROKERS = 40
ROUTES = "\n".join(
    f"        - {{name: R{n}, service_name: S, broker_instance: 'b{n}', address: 'tcp://P:1'}}"
    for n in range(BROKERS)
)
BALANCED = f"""
instances:
  Gate:
    address: tcp://G:1
    endpoint: {{forwarding: true}}
    msdb:
      routes:
{ROUTES}
  P: {{address: 'tcp://P:1'}}
"""
EMOJI = "\N{GRINNING FACE}"


def gateway() -> Forwarder:
    return Forwarder("Gate", catalog_of(topology(BALANCED), 1), Envelope, lambda _: True)


def frames(contract: int, count: int) -> list[Record]:
    """Return frames with the longest names, for dialogs that use different broker ids."""
    names = "S", None, EMOJI * 128, EMOJI * 64, f"{contract:04}{EMOJI * 126}"
    journey = Journey(16, START + 60_000, 0, START)
    header = Header(uuid.UUID(int=1), "DEFAULT", 0, START, START + 3_600_000)
    _, _, headers = message_record(uuid.UUID(int=1), Parties(*names, True), header, journey, b"")
    (_, route), (_, message), (_, hop) = headers
    assert route is not None and hop is not None
    keys = (str(uuid.uuid5(uuid.NAMESPACE_URL, str(n))).encode() for n in range(count))
    return [Record(Origin.OUTSIDE, key, route, hop, 0, False, message) for key in keys]


def handle(gate: Forwarder, record: Record) -> Outcome:
    outcome = gate.handle(record, START)
    assert outcome.copies
    return outcome


def test_prepared_decisions_are_counted_with_their_routes() -> None:
    """Each decision of a balanced service has an ``sb-route`` of its own."""
    gate = gateway()
    records = [record for contract in range(20) for record in frames(contract, 6 * BROKERS)]
    handle(gate, frames(1_000, 1)[0])
    before = gate._cache._size
    tracemalloc.start()
    try:
        for record in records:
            handle(gate, record)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    decisions = sum(len(cached.prepared) for cached in gate._plans.values())
    assert decisions > 19 * BROKERS
    assert 0.8 * taken < gate._cache._size - before < 2 * taken


def test_prepared_decisions_evict_the_oldest_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counted size is that of the cached plans, also of a plan that evicts itself."""
    gate = gateway()
    one, other = frames(1, 6 * BROKERS), frames(2, 6 * BROKERS)
    for record in one:
        handle(gate, record)
    size = gate._cache._size
    assert size > 2 * len(one[0].route) + BROKERS * len(one[0].route)
    monkeypatch.setattr("streams.node.forwarder.plan_cache.CACHE_BYTES", size + size // 2)
    for record in other:
        handle(gate, record)
    assert [route for _, route in gate._plans] == [other[0].route]
    assert gate._cache._size == size
    monkeypatch.setattr("streams.node.forwarder.plan_cache.CACHE_BYTES", size // 2)
    for record in one:
        handle(gate, record)
        assert gate._cache._size == sum(cached.size for cached in gate._plans.values()) < size
    monkeypatch.setattr("streams.node.forwarder.plan_cache.CACHE_BYTES", 0)
    for record in other:
        handle(gate, record)
    assert (gate._cache._size, gate._plans) == (0, {})
