"""The relay of an outbox: whatever it dies of, each committed statement reaches Kafka once."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from sqlalchemy.engine import Engine

from streams.cli import main
from streams.client import LARGEST_BODY, Conversation, StatementError
from streams.client.outbox import METADATA, Outbox
from streams.errors import SurroundingsError
from streams.kafka import (
    AbortedError,
    Cluster,
    FencedError,
    KafkaError,
    KafkaException,
    Message,
    create,
    read_all,
)
from streams.outbox import relay as relay_module
from streams.outbox.relay import Relay
from streams.outbox.table import OUTBOX, RELAY, OutboxTable, SupersededError
from streams.store import database
from streams.wire.specs import instance_specs
from tests.forgetting import forget
from tests.running import DEADLINE, System, running
from tests.workers.rig import HookedCluster

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")


class CrashError(BaseException):
    """The relay is gone: nothing after this happens."""


@pytest.fixture
def system(kafka: str, unique: str) -> Iterator[System]:
    with running(kafka, unique, "two_brokers", start=False) as found:
        yield found


@pytest.fixture
def hooked(system: System) -> HookedCluster:
    return HookedCluster(system.cluster.bootstrap, system.cluster.topics)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'application.sqlite'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = sa.create_engine(url)
    METADATA.create_all(engine)
    yield engine
    engine.dispose()


@contextmanager
def relaying(cluster: Cluster, url: str) -> Iterator[Relay]:
    table = OutboxTable.open(url)
    relay = Relay(cluster, table, timeout=DEADLINE)
    try:
        yield relay
    finally:
        relay.close()
        table.close()


def begin_and_send(engine: Engine, *bodies: bytes) -> Conversation:
    """Begin a dialog and say something in it, all in one transaction of the application."""
    with engine.begin() as connection:
        outbox = Outbox(connection)
        dialog = outbox.begin(*AT_A, *SERVICES)
        for body in bodies:
            outbox.send(dialog, body)
    return dialog


def relayed(system: System) -> list[bytes | None]:
    """Return the bodies of what is in ``cmd``; ``None`` for a BEGIN."""
    return [record.value() for record in in_cmd(system)]


def in_cmd(system: System) -> list[Message]:
    """Return what is in ``cmd``; a commit returns before Kafka has written its marker."""
    return list(read_all(system.cluster, system.cluster.topics.cmd("ServerA"), to_high=True))


def crash(*_: Any, **__: Any) -> Any:
    raise CrashError


def then_crash(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    method(*args, **kwargs)
    raise CrashError


def test_statements_are_in_kafka_once_in_order_and_gone_from_the_table(
    system: System, engine: Engine, url: str
) -> None:
    begin_and_send(engine, b"one", b"two")
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 3
        begin_and_send(engine, b"three")
        assert (relay.turn(), relay.turn()) == (2, 0)
    assert relayed(system) == [None, b"one", b"two", None, b"three"]
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(OUTBOX)).scalar() == 0


def test_what_the_application_rolled_back_was_never_said(
    system: System, engine: Engine, url: str
) -> None:
    with engine.connect() as connection:
        outbox = Outbox(connection)
        outbox.send(Conversation(*AT_A, uuid.uuid4()), b"never")
        connection.rollback()
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 0


def test_a_body_that_is_too_large_fails_the_transaction_that_says_it(engine: Engine) -> None:
    with engine.connect() as connection, pytest.raises(StatementError, match=r"^8459: "):
        Outbox(connection).send(Conversation(*AT_A, uuid.uuid4()), bytes(LARGEST_BODY + 1))


CRASHES = {
    "before it is produced": ("begin_transaction", crash),
    "before the mark": ("send_offsets_to_transaction", crash),
    "before the commit": ("commit_transaction", crash),
    "after the commit": ("commit_transaction", then_crash),
}


@pytest.mark.long
@pytest.mark.parametrize("when", CRASHES)
def test_a_crash_loses_nothing_and_repeats_nothing(
    system: System, hooked: HookedCluster, engine: Engine, url: str, when: str
) -> None:
    begin_and_send(engine, b"one", b"two")
    method, hook = CRASHES[when]
    with relaying(hooked, url) as relay:
        hooked.hooks[method] = hook
        with pytest.raises(CrashError):
            relay.turn()
    begin_and_send(engine, b"three")
    with relaying(system.cluster, url) as relay:
        while relay.turn():
            pass
    assert relayed(system) == [None, b"one", b"two", None, b"three"]


def test_what_kafka_does_not_take_is_tried_again(
    system: System, hooked: HookedCluster, engine: Engine, url: str
) -> None:
    begin_and_send(engine, b"one")

    def refuse(*_: Any) -> None:
        raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))

    with relaying(hooked, url) as relay:
        hooked.hooks["commit_transaction"] = refuse
        with pytest.raises(AbortedError, match="Kafka accepted no record"):
            relay.turn()
        hooked.hooks.clear()
        assert relay.turn() == 2
    assert relayed(system) == [None, b"one"]


def test_what_is_said_to_an_instance_that_nobody_applied_waits_and_nothing_else_does(
    system: System, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as connection:
        Outbox(connection).begin("ServerC", "DatabaseC", *SERVICES)
    begin_and_send(engine, b"after it")
    with relaying(system.cluster, url) as relay:
        assert (relay.turn(), relay.turn()) == (2, 0)
        assert relay.absent == ("ServerC",)
        create(system.cluster, instance_specs(system.cluster.topics, "ServerC", ()))
        assert relay.turn() == 0
        monkeypatch.setattr(relay, "_list_again", 0.0)  # five seconds later
        assert (relay.turn(), relay.absent) == (1, ())
    assert relayed(system) == [None, b"after it"]


ROW = {"instance": "ServerA", "kind": "SEND", "command": b"x"}
HOSTILE_ROWS = [
    {"id": "none"},
    {"conversation": "none"},
    {"body": sa.literal_column("1.5")},
    {"command": sa.literal_column("5")},
    {"command": sa.literal_column("'text'")},
    {"id": sa.literal_column("x'ff'")},
    {"conversation": sa.literal_column("CAST(x'ff' AS TEXT)")},
    {"instance": sa.literal_column("x'ff'")},
    {"instance": sa.literal_column("CAST(x'ff' AS TEXT)")},
    {"instance": "x" * 100_000},
    {"instance": ""},
    {"conversation": "x" * 1_000_036},
    {"body": bytes(1_000_001)},
    {"command": bytes(1_000_001)},
    {"body": sa.literal_column(f"CAST(x'{'c3a4' * 500_001}' AS TEXT)")},
]


def test_rows_that_no_client_writes_hold_nothing_up(
    system: System, engine: Engine, url: str
) -> None:
    """A row in a wrong shape is reported by the endpoint worker; a larger one stays."""
    with engine.begin() as connection:
        for changed in HOSTILE_ROWS:
            ids = {"id": str(uuid.uuid4()), "conversation": str(uuid.uuid4())}
            connection.execute(OUTBOX.insert().values({**ROW, **ids, **changed}))
    dialog = begin_and_send(engine, b"after them")
    with relaying(system.cluster, url) as relay:
        assert (relay.turn(), relay.turn()) == (9, 0)
    records = in_cmd(system)
    mine = [r.value() for r in records if r.key() == str(dialog.id).encode()]
    assert (len(records), mine) == (9, [None, b"after them"])
    with engine.connect() as connection:
        left = connection.execute(sa.select(sa.func.count()).select_from(OUTBOX)).scalar()
    assert left == len(HOSTILE_ROWS) - 7


def test_many_instances_that_nobody_applied_hold_nothing_up(
    system: System, hooked: HookedCluster, engine: Engine, url: str
) -> None:
    """More than a query may have parameters; each was looked for by a request of its own."""
    values = [
        {"id": "", "conversation": "", "kind": "", "command": b"", "instance": f"Nobody{n}"}
        for n in range(33_000)
    ]
    with engine.begin() as connection:
        connection.execute(OUTBOX.insert(), values)
    begin_and_send(engine, b"after them")
    with relaying(hooked, url) as relay:
        assert relay.turn() == 2
        assert len(relay.absent) == 100
    assert relayed(system) == [None, b"after them"]


@pytest.mark.parametrize(
    "values",
    [
        {"positions": "no JSON"},
        {"positions": None},
        {"positions": "[" * 5_000},
        {"positions": f"[{10**30}]"},
        {"positions": str(list(range(40_000)))},
        {"batch_at": None},
        {"batch_at": 2**62},
    ],
)
def test_a_batch_that_nobody_took_is_an_error_with_a_remedy(
    engine: Engine, url: str, values: dict[str, Any]
) -> None:
    table = OutboxTable.open(url)
    with engine.begin() as connection:
        whole = {"batch": "x", "batch_at": 1, "positions": "[1]", **values}
        connection.execute(RELAY.update().values(whole))
    with pytest.raises(SurroundingsError, match="has an invalid batch") as error:
        table.claim()
    assert "to NULL" in error.value.remedy
    table.close()


def test_a_batch_whose_rows_were_deleted_is_finished(
    system: System, engine: Engine, url: str
) -> None:
    """That is the half of the remedy that an operator may stop behind."""
    OutboxTable.open(url).close()
    with engine.begin() as connection:
        connection.execute(RELAY.update().values(batch="x", batch_at=1, positions="[1]"))
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 0


def test_a_commit_that_timed_out_is_called_again(
    system: System, hooked: HookedCluster, engine: Engine, url: str
) -> None:
    """It is never taken for an abort: it may happen all the same."""
    begin_and_send(engine, b"one")
    calls: list[str] = []

    def time_out_once(method: Callable[..., Any], *args: Any) -> None:
        calls.append("commit")
        if len(calls) == 1:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "", False, True))
        method(*args)

    with relaying(hooked, url) as relay:
        hooked.hooks["commit_transaction"] = time_out_once
        assert relay.turn() == 2
    assert len(calls) == 2
    assert relayed(system) == [None, b"one"]


def test_an_unavailable_database_is_waited_for_and_no_batch_is_repeated(
    system: System,
    hooked: HookedCluster,
    engine: Engine,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Even if the database is locked when Kafka has the batch, before its rows are deleted."""
    monkeypatch.setattr(database, "_BUSY_S", 0)
    begin_and_send(engine, b"one")
    other = sqlite3.connect(str(engine.url.database), isolation_level=None)
    waits = list[float | None]()

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            if len(waits) == 3:
                other.execute("ROLLBACK")
            elif len(waits) > 3:
                self.set()
            return self.is_set()

    def commit_and_lock(method: Callable[..., Any], *args: Any) -> None:
        method(*args)
        other.execute("BEGIN IMMEDIATE")

    with relaying(hooked, url) as relay:
        hooked.hooks["commit_transaction"] = commit_and_lock
        relay.run(Stop())
        assert relay.relayed == 2
        assert relay.turn() == 0
    other.close()
    assert waits[:3] == [1, 2, 4]
    assert caplog.text.count("waits until it is available") == 1
    assert caplog.text.count("is available again") == 1
    assert relayed(system) == [None, b"one"]


def test_who_starts_takes_over_and_the_other_says_nothing_more(
    system: System, engine: Engine, url: str
) -> None:
    """Also where it had a batch in hand when it was replaced."""
    with relaying(system.cluster, url) as old:
        begin_and_send(engine, b"one")
        in_hand = old._outbox.take(int(time.time()))
        with relaying(system.cluster, url) as new:
            assert new.turn() == 2
            old._outbox.take = lambda *_, **__: in_hand  # type: ignore[method-assign]
            with pytest.raises(FencedError, match="another process has taken over"):
                old.turn()
    assert relayed(system) == [None, b"one"]


def test_who_was_replaced_takes_nothing_from_the_table(engine: Engine, url: str) -> None:
    old, new = OutboxTable.open(url), OutboxTable.open(url)
    old.claim()
    new.claim()
    begin_and_send(engine, b"one")
    with pytest.raises(SupersededError, match="Another relay has taken over the outbox"):
        old.take(0)
    batch = new.take(0)
    assert batch is not None
    assert [s.kind for s in batch.statements] == ["BEGIN", "SEND"]
    for table in (old, new):
        table.close()


def test_a_batch_is_bounded_and_never_empty(
    engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.outbox.table.BATCH_BYTES", 11_000)
    begin_and_send(engine, bytes(6_000), bytes(4_000), bytes(1_000), bytes(11_000))
    table, sizes = OutboxTable.open(url), []
    table.claim()
    while (batch := table.take(0)) is not None:
        sizes.append(len(batch.statements))
        table.finish(batch)
    table.close()
    assert sizes == [3, 1, 1]


def crashed(hooked: HookedCluster, url: str, hook: str, wanted: Any = crash) -> None:
    """Let a relay die in its first batch."""
    with relaying(hooked, url) as relay:
        hooked.hooks[hook] = wanted
        with pytest.raises(CrashError):
            relay.turn()
    hooked.hooks.clear()


def forgotten(system: System, url: str) -> None:
    """Let Kafka forget what an outbox's relay has committed."""
    outbox = OutboxTable.open(url)
    forget(system.cluster, f"{system.cluster.topics.prefix}outbox.{outbox.id}")
    outbox.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("hook", "wanted"), [("begin_transaction", crash), ("commit_transaction", then_crash)]
)
def test_a_batch_whose_position_kafka_has_forgotten_is_left_to_somebody_who_looks(
    system: System, hooked: HookedCluster, engine: Engine, url: str, hook: str, wanted: Any
) -> None:
    """Guessing would lose it or send it twice, however young it is."""
    begin_and_send(engine, b"one")
    crashed(hooked, url, hook, wanted)
    forgotten(system, url)
    for _ in range(2):
        with (
            pytest.raises(SurroundingsError, match=r"2 statements are unconfirmed since 20"),
            relaying(system.cluster, url),
        ):
            pass
    assert relayed(system) == ([None, b"one"] if wanted is then_crash else [])


def test_a_batch_of_any_age_is_sent_where_kafka_says_that_it_was_not(
    system: System, hooked: HookedCluster, engine: Engine, url: str
) -> None:
    """The offset with another id is a later word than the batch's own would be."""
    dialog = begin_and_send(engine, b"one")
    crashed(hooked, url, "begin_transaction")
    with engine.begin() as connection:
        connection.execute(RELAY.update().values(batch_at=RELAY.c.batch_at - 30 * 86_400))
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 2
    [begin, _] = system.snapshot(system.cluster.topics.cmd("ServerA"))
    assert begin["conversation"] == str(dialog.id)


def test_a_relay_that_has_finished_begins_without_a_word_where_kafka_has_forgotten_it(
    system: System, engine: Engine, url: str
) -> None:
    begin_and_send(engine, b"one")
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 2
    forgotten(system, url)
    begin_and_send(engine, b"two")
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 2
    assert relayed(system) == [None, b"one", None, b"two"]


def test_a_relay_that_has_nothing_to_do_is_not_forgotten(
    system: System, hooked: HookedCluster, engine: Engine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its offset is committed again before it is too old; a batch that dies then is known."""
    monkeypatch.setattr(relay_module, "RENEW", 0.0)
    with relaying(hooked, url) as relay:
        forgotten(system, url)
        assert relay.turn() == 0
        begin_and_send(engine, b"one")
        hooked.hooks["begin_transaction"] = crash
        with pytest.raises(CrashError):
            relay.turn()
    with relaying(system.cluster, url) as relay:
        assert relay.turn() == 2
    assert relayed(system) == [None, b"one"]


# --- the command ---------------------------------------------------------------------------------


def invoke(*args: str) -> Result:
    return CliRunner().invoke(main, ["outbox", *args], catch_exceptions=False)


def test_the_command_relays_what_is_there(system: System, engine: Engine, url: str) -> None:
    begin_and_send(engine, b"one")
    result = invoke("--store", url, "--once", *system.options)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2 statements were relayed." in result.stderr
    assert relayed(system) == [None, b"one"]


def test_the_command_tells_what_must_wait(system: System, engine: Engine, url: str) -> None:
    with engine.begin() as connection:
        Outbox(connection).begin("ServerC", "DatabaseC", *SERVICES)
    result = invoke("--store", url, "--once", *system.options)
    assert (result.exit_code, result.stdout) == (1, "")
    said = "Statements for ServerC are waiting, because the catalog does not have these instances."
    assert said in result.stderr


def test_the_tables_can_be_made_from_what_the_command_prints(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for statement in invoke("--ddl", "sqlite").stdout.split(";")[:-1]:
            connection.exec_driver_sql(statement)
    begin_and_send(engine, b"one")
    engine.dispose()


def test_without_a_database_the_command_says_so() -> None:
    result = invoke()
    assert result.exit_code == 2
    assert "Give the application's database." in result.stderr


class Busy(Relay):
    """A relay whose outbox has only rows that must wait: to read them takes so many seconds."""

    def __init__(self, took: float, clock: list[float]) -> None:
        def take(*_: object) -> None:
            clock[0] += took

        self._outbox, self._present = SimpleNamespace(take=take), frozenset()  # type: ignore[assignment]
        self._poll, self._committed_at = 0.1, clock[0]
        self._list_again = self._look_again = math.inf


@pytest.mark.parametrize(("took", "rest"), [(0.001, 0.1), (0.5, 4.5), (2.0, 5.0)])
def test_a_poll_that_takes_long_is_repeated_later(
    monkeypatch: pytest.MonkeyPatch, took: float, rest: float
) -> None:
    """Any number of rows may wait for an instance that does not exist: each poll reads them."""
    clock, stop, rests = [0.0], threading.Event(), list[float | None]()

    def wait(timeout: float | None = None) -> bool:
        rests.append(timeout)
        stop.set()
        return True

    monkeypatch.setattr(
        relay_module, "time", SimpleNamespace(monotonic=lambda: clock[0], time=time.time)
    )
    monkeypatch.setattr(stop, "wait", wait)
    Busy(took, clock).run(stop)
    assert rests == [pytest.approx(rest)]
