"""Design, clocks: what a worker writes into messages goes by Kafka's clock, not the machine's."""

from __future__ import annotations

import time

import pytest

from streams.protocol import Limits
from streams.wire import decode_journey
from streams.wire.records import HOP, header_of
from streams.workers import Plan, Process
from tests.workers.rig import Rig, eventually, pause

MINUTES = 600
"""Seconds by which the machine's clock is slow: ten times the time to live of a message."""


def test_a_worker_whose_machine_is_minutes_slow_writes_what_lives_long_enough(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own clock every copy would be dropped at the next hop, and every retry as well."""
    real = time.time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() - MINUTES * 10**9)
    control = two.control("A", "B")
    eventually(lambda: control.skew < -MINUTES + 5 or pause(), "Kafka's clock is known")
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
