"""Design, clocks: what a worker writes into messages goes by Kafka's clock, not the machine's."""

from __future__ import annotations

import time
from collections import deque

import pytest

from streams.node.liveness.kafka_clock import SAMPLES
from streams.protocol import Limits
from streams.wire import decode_journey
from streams.wire.records import HOP, header_of
from streams.workers import Plan, Process
from tests.workers.rig import Rig, eventually, pause

DAY = 86_400
MINUTES = 600
"""Seconds by which the machine's clock is slow: ten times the time to live of a message."""


def test_a_worker_whose_machine_is_minutes_slow_writes_what_lives_long_enough(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own clock every copy would be dropped at the next hop, and every retry as well."""
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() - MINUTES * 10**9)
    control = two.control("A", "B")
    eventually(lambda: control.skew < -MINUTES + 1 or pause(), "Kafka's clock is known")
    for name in "AB":
        two.forwarder(name, control=control)
        two.endpoint(name, control=control)
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        before = real() // 1_000_000
        client.send(dialog, b"in time", wait=True)
    [copy] = two.until(two.topics.out("A"), 1)
    expires_at = decode_journey(header_of(copy.headers(), HOP)).expires_at  # type: ignore[arg-type]
    lives = Limits().time_to_live
    assert before - 2_000 + lives < expires_at < real() // 1_000_000 + 2_000 + lives
    [_] = two.until(two.topics.queue("B", "DatabaseB", "TargetQueue"), 1)


def test_a_suspension_of_the_machine_is_known_with_the_next_heartbeat(two: Rig) -> None:
    """The monotonic clock stood still for a day, and so did Kafka's clock as it is known here."""
    control = two.control("A")
    eventually(lambda: control._writer._acknowledged > 0 or pause(), "Kafka's clock is known")

    def is_quiet() -> bool:
        control._schedule._due_at = float("inf")
        pause()
        return control._schedule._due_at == float("inf") and not len(control._writer.producer)

    consumed = control._heartbeats.time
    control._heartbeats.time = lambda *_: None  # type: ignore[method-assign]
    eventually(is_quiet, "every heartbeat is acknowledged")
    clock = control._clock
    late = [(ahead - DAY, at) for ahead, at in clock._samples]
    clock._samples = deque(late, maxlen=SAMPLES)
    best, ours, since = clock._course
    clock._course = best - DAY, ours - DAY, since
    assert control.skew > DAY - 60
    control._heartbeats.time = consumed  # type: ignore[method-assign]
    control.confirm_time()
    assert abs(control.skew) < 60


def test_a_process_whose_clock_is_off_is_not_ready(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It works, by Kafka's clock; somebody should set the machine's all the same."""
    process = Process(two.cluster, Plan(("forwarder",), ("A",)))
    process._control = two.control("A", "B")
    eventually(lambda: not list(process._control.failures()) or pause(), "the catalog")
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + MINUTES * 10**9)
    wrong = "The clock differs from Kafka's by +600 s."
    eventually(lambda: wrong in list(process.missing()) or pause(), "it tells")
