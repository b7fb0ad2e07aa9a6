"""A broker that goes away and comes back, as the log tells it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.embedded import Broker
from streams.errors import SurroundingsError
from streams.kafka import Cluster, TopicPartition, cluster, outage
from streams.wire import Topics
from tests.killable import RESTARTS_SOON
from tests.running import eventually
from tests.workers.rig import pause


@pytest.mark.long
def test_an_outage_is_a_few_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One when it begins, one now and then, one at its end; however many clients there are."""
    monkeypatch.setattr(outage, "EVERY", 1.0)
    monkeypatch.setattr(outage, "_LOOK", 0.5)
    broker = Broker(tmp_path, beside=RESTARTS_SOON)
    address = broker.start().bootstrap
    kafka = Cluster(address, Topics("t."))
    clients = [kafka.consumer(f"g{n}") for n in range(5)]
    for client in clients:
        client.assign([TopicPartition("nothing", 0)])

    def lines_like(pattern: str) -> Callable[[], int]:
        def lines() -> int:
            for client in clients:
                client.poll(0.02)
            return len(re.findall(f"Kafka at {address} {pattern}", caplog.text))

        return lines

    try:
        # Commands that other tests have run may have set the level.
        caplog.set_level(logging.ERROR, "hopline.librdkafka")
        with caplog.at_level(logging.WARNING):
            broker.kill()
            eventually(lines_like("unavailable for"), "it is still away")
            eventually(lambda: lines_like("unavailable for")() >= 3, "it is still away")
            Broker(tmp_path, port=int(address.rpartition(":")[2])).start()
            eventually(lines_like("is available again after"), "it is back")
    finally:
        for client in clients:
            client.close()
        Broker(tmp_path).stop()
    # What other tests have left behind may speak of other clusters.
    all_lines = [r.getMessage() for r in caplog.records if address in r.getMessage()]
    # A late line of a client begins another outage, because the test has stopped the broker.
    end = next(n for n, line in enumerate(all_lines) if "is available again after" in line)
    lines = all_lines[: end + 1]
    assert len([m for m in lines if f"Kafka at {address} is unavailable: " in m]) == 1
    assert [m for m in lines if "unavailable" not in m and "available again" not in m] == []


def test_a_line_that_is_about_no_connection_is_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    """What librdkafka gives up on must be seen."""
    looks: list[float] = []
    taken = outage.Outage("x:1", looks.append)
    with caplog.at_level(logging.ERROR, "hopline.librdkafka"):
        taken.log(logging.ERROR, "%s [%s] %s", "FATAL", "p", "epoch 7% gone")
        taken.log(logging.WARNING, "%s [%s] %s", "CONFWARN", "p", "no matter")
    assert [r.getMessage() for r in caplog.records] == ["FATAL [p] epoch 7% gone"]
    assert looks == []


def test_whoever_waits_says_why_and_what_to_do_and_how_much_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "_LOOK", 0.4)
    lines_like: list[str] = []
    with pytest.raises(SurroundingsError, match=r"cannot be reached: .* \(gave up after 1 s\)"):
        Cluster("127.0.0.1:1", Topics("t.")).wait(1.0, lines_like.append)
    assert len(lines_like) == len(set(lines_like)) == 2
    assert re.fullmatch(
        r"Kafka at 127\.0\.0\.1:1 cannot be reached: .+\. Start it \(hopline kafka start\), "
        r"or give another address with --bootstrap\. Trying for 1 s more \.\.\.",
        lines_like[0],
    )
    assert lines_like[1] == "Kafka at 127.0.0.1:1 does not answer; retrying for 0 s more ..."


def test_the_reason_is_what_librdkafka_says_without_its_own_names(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "hopline.librdkafka")  # which `hopline replay` has silenced
    for seconds in (
        "_LOOK",
        "EVERY",
        "_FORGET",
    ):  # whoever looks after the cluster gives up at once
        monkeypatch.setattr(outage, seconds, -1.0)
    taken = outage.Outage("x:1", lambda _: None)
    taken.log(
        logging.ERROR,
        "FAIL [hopline#producer-1] [thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to "
        "ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
    )
    assert taken.reason == "Connect to ipv4#127.0.0.1:1 failed: Connection refused"


def test_who_debugs_gets_librdkafkas_own_lines(capfd: pytest.CaptureFixture[str]) -> None:
    """All of them, on stderr, whether or not anybody polls the client."""
    lines_like: list[str] = []

    def is_logged() -> bool:
        lines_like.append(capfd.readouterr().err)
        return "CONNECT" in "".join(lines_like)

    producer = Cluster("127.0.0.1:1", properties={"debug": "broker"}).producer()
    eventually(lambda: is_logged() or pause(), "a line about a connection")
    del producer
