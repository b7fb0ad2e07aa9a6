"""The invariants, each broken once in the code that they watch."""

from __future__ import annotations

from typing import Any

import pytest

from streams.node import Endpoint, Forwarder, Outcome, Record
from streams.protocol import Limits, Machine, Message
from streams.protocol.parking import Parking
from streams.protocol.sending import Sender
from streams.simulator import Violation
from streams.simulator import endpoint as endpoint_module
from tests.simulator.build import run

DIALOG = """
    until: 60s
    limits: {window: 4}
    network: {latency: [1ms, 30ms], reorder: 0.3}
    applications: [{service: ServerB/DatabaseB/TargetService, does: reply}]
    steps:
      - {at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
      - {at: 0s, send: {dialog: d, body: m, count: 10}}
"""


def violation(topology: str = "two_brokers", text: str = DIALOG) -> Violation:
    """Return the invariant that a run breaks."""
    found = run(topology, text).violation
    assert found is not None
    return found


def test_nothing_is_broken_when_nothing_is_broken() -> None:
    result = run("two_brokers", DIALOG)
    assert result.violation is None
    assert result.summary["delivered"] == 20


def test_1_a_message_twice_in_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    show = Parking._enqueue

    def twice(parking: Parking, message: Message) -> None:
        show(parking, message)
        parking.effects.append(parking.effects[-1])

    monkeypatch.setattr(Parking, "_enqueue", twice)
    found = violation()
    assert found.invariant == 1
    assert found.conversation is not None
    assert "arrived in" in found.why


def test_2_a_message_acknowledged_and_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    show = Parking._enqueue

    def forget(parking: Parking, message: Message) -> None:
        show(parking, message)
        if message.header.sequence == 3:
            del parking.effects[-1]

    monkeypatch.setattr(Parking, "_enqueue", forget)
    assert violation().invariant in (1, 2)


def test_2_a_message_that_leaves_the_transmission_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Sender.progress

    def eager(sender: Sender, ack: Any) -> None:
        progress(sender, ack)
        sender.dialog.acknowledged = sender.dialog.transmitted = (sender.dialog.send_sequence, 0)
        sender.dialog.forget_acknowledged()

    monkeypatch.setattr(Sender, "progress", eager)
    assert violation().invariant == 2


def test_2_an_end_that_does_not_wait_for_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Machine.end

    def hasty(machine: Machine, position: int, *, with_error: bool = False) -> Any:
        machine._sender.discard()
        return end(machine, position, with_error=with_error)

    text = f"{DIALOG}      - {{at: 1ms, end: {{dialog: d}}}}\n"
    assert run("two_brokers", text).violation is None
    monkeypatch.setattr(Machine, "end", hasty)
    assert violation("two_brokers", text).invariant == 2


def test_3_a_lock_that_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = Machine.finish

    def unlock(machine: Machine) -> None:
        finish(machine)
        if machine.dialog.is_initiator and machine.dialog.acknowledged > (3, 0):
            machine.dialog.far_broker, machine.dialog.locked = None, False

    monkeypatch.setattr(Machine, "finish", unlock)
    assert violation().invariant == 3


LOOP = """
    until: 60s
    steps:
      - {at: 0s, begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: Svc}}
      - {at: 0s, send: {dialog: d, body: m}}
"""


def test_4_more_hops_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = Forwarder._forward

    class Endless:
        """A hop that never says it is the last one."""

        def __init__(self, hop: Any) -> None:
            self._hop = hop

        hops_remaining = 1

        def __getattr__(self, name: str) -> Any:
            return getattr(self._hop, name)

    def careless(forwarder: Forwarder, record: Any, leaf: Any, hop: Any, now: int) -> Outcome:
        return forward(forwarder, record, leaf, Endless(hop), now)  # type: ignore[arg-type]

    monkeypatch.setattr(Forwarder, "_forward", careless)
    assert violation("routing_loop", LOOP).invariant == 4


def test_6_a_forwarder_that_remembers(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Forwarder.handle
    seen: dict[int, int] = {}

    def moody(forwarder: Forwarder, record: Record, now: int) -> Outcome:
        seen[id(forwarder)] = seen.get(id(forwarder), 0) + 1
        outcome = handle(forwarder, record, now)
        return outcome if seen[id(forwarder)] < 4 else Outcome()

    monkeypatch.setattr(Forwarder, "handle", moody)
    assert violation().invariant == 6


def test_7_more_out_of_order_than_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    def generous(name: str, catalog: Any, limits: Limits, **_: Any) -> Endpoint:
        return Endpoint(name, catalog, Limits(window=1_000))

    monkeypatch.setattr(endpoint_module, "Endpoint", generous)
    text = DIALOG.replace("reorder: 0.3", "loss: 0.3").replace("count: 10", "count: 40")
    text = text.replace("window: 4", "window: 4, wider: 1")
    found = violation("two_brokers", text)
    assert found.invariant == 7


def test_0_an_input_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(machine: Machine, message: Message) -> None:
        raise ZeroDivisionError("of course")

    monkeypatch.setattr(Parking, "_enqueue", fail)
    found = violation()
    assert found.invariant == 0
    assert "ZeroDivisionError: of course" in found.why


UNFINISHED = """
    until: {until}
    skew: {{ServerB: {skew}}}
    steps:
      - at: 0s
        begin: {{dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
      - {{at: 0s, fault: {{link: [ServerA, ServerB], state: down}}}}
      - {{at: 0s, send: {{dialog: d, body: m}}}}
      - {{at: 10s, fault: {{link: [ServerA, ServerB], state: {link}}}}}
      - {{at: 11s, sql: {{at: ServerA/DatabaseA, text: {sql}}}}}
"""


def test_5_a_dialog_that_never_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(sender: Sender) -> None:
        sender.dialog.retry_at = None

    monkeypatch.setattr(Sender, "retry", give_up)
    good = {"until": "300s", "link": "up", "skew": "15s", "sql": "DROP ROUTE AutoCreatedLocal"}
    found = violation("two_brokers", UNFINISHED.format(**good))
    assert found.invariant == 5
    assert "1 message has waited since 11 s" in found.why
    # No time, no link, no route: no dialog need have finished.
    for other in (
        {"until": "100s"},
        {"link": "down"},
        {"skew": "16s"},
        {"sql": "DROP ROUTE TargetRoute; DROP ROUTE AutoCreatedLocal"},
    ):
        assert run("two_brokers", UNFINISHED.format(**{**good, **other})).violation is None


def test_5_a_backlog_that_moves_by_retries_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was acknowledged meanwhile gives the time of its path, not that of a retry."""
    text = """
        until: 60s
        limits: {window: 1, wider: 1, time_to_live: 8s, retries: [2s]}
        steps:
          - at: 0s
            begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
          - {at: 0s, send: {dialog: d, body: m, count: 40}}
    """
    assert run("two_brokers", text).violation is None
    fill = Sender.fill_window

    def lazy(sender: Sender, most: int) -> None:
        seen = len(sender.effects)
        fill(sender, most)
        del sender.effects[seen:]

    monkeypatch.setattr(Sender, "fill_window", lazy)
    found = violation("two_brokers", text)
    assert found.invariant == 5
