"""``hopline traffic``: what is due when, what is late, and that it arrives."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.client import Client, Conversation
from streams.errors import SurroundingsError
from streams.kafka import Cluster, lost_brokers
from streams.live.traffic import Load, bodies, drive, due_times, quantile
from tests.running import DEADLINE, running
from tests.workers.rig import pause

PLACE = ("ServerA", "DatabaseA", "InitiatorService", "TargetService")


class Clock:
    """Time that passes only while somebody sleeps or a send takes it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


class Slow:
    """A client whose n-th send is slow; it records each call and its time."""

    def __init__(self, clock: Clock, takes: dict[int, float]) -> None:
        self.clock, self.takes = clock, takes
        self.begun: list[Conversation] = []
        self.sent: list[tuple[float, Conversation, int]] = []
        self.ended: list[Conversation] = []

    def begin(self, instance: str, database: str, *_: str, **named: Any) -> Conversation:
        self.begun.append(Conversation(instance, database, named["conversation"]))
        return self.begun[-1]

    def send(self, on: Conversation, body: bytes, **_: Any) -> None:
        self.clock.now += self.takes.get(len(self.sent), 0.0)
        self.sent.append((round(self.clock.now - 100, 6), on, len(body)))

    def end(self, on: Conversation) -> None:
        self.ended.append(on)

    def flush(self) -> None:
        pass


def driven(load: Load, takes: dict[int, float] | None = None) -> tuple[Slow, Any]:
    clock = Clock()
    client = Slow(clock, takes or {})
    return client, drive(load, cast(Client, client), clock, clock.sleep)


def test_messages_are_due_evenly() -> None:
    assert list(due_times(Load(*PLACE, rate=4, duration=1))) == [0.0, 0.25, 0.5, 0.75]
    client, tally = driven(Load(*PLACE, rate=4, duration=1, dialogs=2, length=10))
    assert [at for at, _, _ in client.sent] == [0.0, 0.25, 0.5, 0.75]
    assert (tally.late, tally.begun, tally.ended) == (0, 2, 2)


def test_a_slow_send_is_late_and_those_behind_it_are_not_put_off() -> None:
    """One takes a second: three more were due meanwhile, and the next one is on time again."""
    client, tally = driven(Load(*PLACE, rate=4, duration=2), {1: 1.0})
    assert [at for at, _, _ in client.sent] == [0.0, 1.25, 1.25, 1.25, 1.25, 1.25, 1.5, 1.75]
    assert tally.lateness == pytest.approx([0, 1.0, 0.75, 0.5, 0.25, 0, 0, 0])
    assert tally.late == 4


def test_a_dialog_thinks_and_ends_after_its_length() -> None:
    """Two dialogs that think for a second each cannot speak four times a second."""
    load = Load(*PLACE, rate=4, duration=1, dialogs=2, length=1, think=1.0)
    client, tally = driven(load)
    assert [at for at, _, _ in client.sent] == [0.0, 0.25, 1.0, 1.25]
    assert tally.lateness == pytest.approx([0, 0, 0.5, 0.5])
    assert len(client.begun) == 4
    assert client.ended == client.begun


def test_sizes_are_drawn_between_and_alike_for_a_seed() -> None:
    load = Load(*PLACE, rate=1, duration=1, size=(10, 12))
    drawn, again = bodies(load), bodies(load)
    sizes = [len(next(drawn)) for _ in range(50)]
    assert set(sizes) == {10, 11, 12}
    assert [len(next(again)) for _ in range(50)] == sizes


def test_bodies_are_given_in_turn_and_the_end_left_to_the_other_side() -> None:
    load = Load(*PLACE, rate=3, duration=1, dialogs=1, length=1, texts=(b"a", b"bb"), ends=False)
    client, tally = driven(load)
    assert [size for _, _, size in client.sent] == [1, 2, 1]
    assert (tally.begun, tally.ended, client.ended) == (3, 0, [])


def test_quantiles() -> None:
    assert quantile([], 0.5) == 0.0
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0], 0.99) == 1.0


@pytest.mark.long
def test_it_arrives(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system:
        words = ["traffic", "--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService"]
        more = ["--rate", "50", "--duration", "1s", "--dialogs", "5", "--size", "10-20"]
        result = CliRunner().invoke(main, [*words, *more, "--format", "json", *system.options])
        assert result.exit_code == 0, result.stderr
        answer = json.loads(result.stdout)
        assert (answer["sent"], answer["begun"], answer["ended"]) == (50, 5, 5)
        received = system.received("ServerB", "DatabaseB", "TargetQueue", 55)
        assert sum(len(m.body) for m in received if not m.ends_dialog) == answer["bytes"]
        text = CliRunner().invoke(main, [*words, "--duration", "100ms", *system.options])
        assert text.stdout.startswith("10 messages (4,000 bytes) in 10 dialogs, 10 ended\n")


def test_it_ends_with_an_error_if_its_client_has_lost_all_brokers(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_brokers, "_PATIENCE", 0.1)
    monkeypatch.setattr(lost_brokers, "_TIMEOUT", 1.0)
    lost = Cluster("127.0.0.1:1").producer(message_timeout_ms=0)
    with running(kafka, unique, "two_brokers") as system:
        client = system.client()

        def lose(_: float) -> None:
            client._producer = lost
            pause()

        with pytest.raises(SurroundingsError, match="this client has lost all brokers"):
            drive(Load(*PLACE, rate=20, duration=DEADLINE), client, sleep=lose)


@pytest.mark.long
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--size", "20-10"), "is not a size up to"),
        (("--rate", "0"), "0"),
        (("--to", "T", "--from", "ServerX/D/S"), "There is no instance 'ServerX'"),
        (("--bodies", "nowhere"), "does not exist"),
    ],
)
def test_wrong_use_is_reported(
    kafka: str, unique: str, args: tuple[str, ...], message: str
) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        place = ("--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService")
        result = CliRunner().invoke(main, ["traffic", *place, *args, *system.options])
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_a_refused_statement_is_reported_and_not_repeated(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system:
        place = ("--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService")
        words = ["traffic", *place, "--type", "Nonsense", *system.options]
        result = CliRunner().invoke(main, words)
        assert (result.exit_code, "8428: " in result.stderr) == (1, True), result.stderr
        assert len(system.snapshot(system.cluster.topics.cmd("ServerA"))) == 2
