"""What an agent does where something fails: it says nothing that is not so, and loses nothing."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.agents import Dialog, HoplineApp, Received
from streams.agents.dialog import NotConfirmedError
from streams.agents.locate_queue import locate
from streams.errors import UsageError
from streams.kafka import Cluster, read_live
from streams.live.admin.statements import Script, plan_script, publish_script
from streams.protocol import Header, Journey, Parties
from streams.wire.records import CONVERSATION, HOP, MESSAGE, ROUTE, queue_record
from tests.agents.rig import (
    ACCEPTED,
    AT_B,
    CONTRACT,
    ORDER,
    ORDERS,
    STOCK,
    WEB,
    answering,
    answers,
    application,
    order,
    serving,
    shop,
)  # fmt: skip
from tests.running import System, eventually, running
from tests.workers.rig import configure, pause


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    with running(kafka, unique, shop(tmp_path)) as made:
        yield made


Record = tuple[bytes, bytes | None, list[tuple[str, bytes | None]]]


def queued(body: bytes) -> Record:
    """Return the key, the value and the headers of an order in the queue."""
    now = time.time_ns() // 1_000_000
    dialog = uuid.uuid4()
    key, value, headers = queue_record(
        dialog,
        dialog,
        Parties(ORDERS, "DatabaseB", WEB, "DatabaseA", CONTRACT, True),
        Header(uuid.uuid4(), ORDER, 0, now, now + 60_000),
        Journey(16, now + 60_000, 0, now, 0, ()),
        body,
    )
    return key, value, list(headers)


def put(cluster: Cluster, body: bytes, *, commit: bool) -> None:
    """Write an order into the queue in a transaction, and commit or abort it."""
    key, value, headers = queued(body)
    producer = cluster.producer(transactional_id=f"{cluster.topics.prefix}writer")
    producer.init_transactions(30)
    producer.begin_transaction()
    topic = cluster.topics.queue(*AT_B, "OrderQueue")
    producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    producer.flush(30)
    producer.commit_transaction(30) if commit else producer.abort_transaction(30)


def test_an_aborted_transaction_is_not_heard_of(system: System) -> None:
    seen: list[bytes] = []
    with serving(answering(application(system), seen)):
        put(system.cluster, b"aborted", commit=False)
        put(system.cluster, b"committed", commit=True)
        eventually(lambda: seen or pause(), "the order that was committed")
    assert seen == [b"committed"]


def malformed() -> list[Record]:
    """Return records that are no messages of a queue."""
    key, value, headers = queued(b"malformed")
    damaged = [
        [(name, new if name == which else old) for name, old in headers]
        for which in (MESSAGE, HOP, ROUTE, CONVERSATION)
        for new in (b"", b"x", b"\xff" * 40, None)
    ]
    return [
        (key, value, []),
        (b"no id", b"x", []),
        (b"", None, []),
        *((key, value, each) for each in damaged),
        *((key, value, [h for h in headers if h[0] != name]) for name in (MESSAGE, CONVERSATION)),
    ]


def test_a_malformed_record_in_a_queue_is_logged_and_passed_over(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names its place; the orders before and after it are answered."""
    topic, seen, written = system.cluster.topics.queue(*AT_B, "OrderQueue"), list[bytes](), []
    producer = system.cluster.producer(delivery_report_only_error=False)

    def write(record: Record) -> None:
        key, value, headers = record
        producer.produce(
            topic,
            key=key,
            value=value,
            headers=headers,
            on_delivery=lambda _, message: written.append((message.partition(), message.offset())),
        )
        assert producer.flush(30) == 0

    with system.client() as client, serving(answering(application(system), seen)) as thread:
        order(client, b"before")
        assert answers(system, 1) == ["before!"]
        for record in malformed():
            write(record)
        order(client, b"behind")
        assert answers(system, 2) == ["before!", "behind!"]
        assert thread.failure is None
        write((b"no id", *queued(b"odd key")[1:]))
        eventually(lambda: b"odd key" in seen or pause(), "the key of a message is not read")
    assert seen == [b"before", b"behind", b"odd key"]
    logged = [r.getMessage() for r in caplog.records if r.name == "hopline.agents"]
    assert len(written) == len(malformed()) + 1
    for partition, offset in written[:-1]:
        [line] = [one for one in logged if one.startswith(f"{topic}/{partition}@{offset}: ")]
        assert "malformed" not in line, "no content of the record"


@pytest.mark.long
def test_what_kafka_does_not_take_stops_the_application(system: System) -> None:
    """The message is not passed over: the next start says all that it causes, once."""
    cmd = system.cluster.topics.cmd("ServerB")
    configure(system.cluster, cmd, {"max.message.bytes": "50"})
    with system.client() as client:
        app = answering(application(system))
        with pytest.raises(NotConfirmedError, match="did not accept"), serving(app) as thread:
            order(client, b"one", b"two")
            thread.join()
        configure(system.cluster, cmd, {"max.message.bytes": "1048588"})
        with serving(answering(application(system))):
            assert answers(system, 2) == ["one!", "two!"]


@pytest.mark.long
def test_a_row_that_kafka_does_not_take_stops_the_application(system: System) -> None:
    """Its message is not done either: at the next start it comes again, and the row with it.

    Faust alone warns and commits, and the table has never known it.
    """

    def remembering() -> HoplineApp:
        app = application(system)
        rows = app.Table("rows", default=str)

        @app.service(ORDERS)
        async def orders(dialog: Dialog, message: Received) -> None:
            await dialog.send(message.body + b"!", type=ACCEPTED)
            await dialog.commit()
            rows[str(dialog.id)] = message.body.decode()

        return app

    with system.client() as client:
        app = remembering()
        changelog = f"{app.conf.id}-rows-changelog"
        with (
            pytest.raises(NotConfirmedError, match="did not accept a change"),
            serving(app) as thread,
        ):
            configure(system.cluster, changelog, {"max.message.bytes": "50"})
            dialog = order(client, b"one")
            thread.join()
        configure(system.cluster, changelog, {"max.message.bytes": "1048588"})
        with serving(remembering()):
            order(client, b"two")
            assert answers(system, 2) == ["one!", "two!"]
    kept = read_live(system.cluster, changelog, 0)
    assert sorted(value for value in kept.values()) == [b'"one"', b'"two"']
    assert str(dialog.id) in str(list(kept))


@pytest.mark.long
def test_an_agent_tells_when_it_begins_and_ends_to_read(system: System) -> None:
    """Event 163, what stands for an activated procedure: started and ended, or aborted and why."""
    with serving(answering(application(system))):
        [started] = system.events(163)
        assert (started["instance"], started["database"], started["subclass"]) == (*AT_B, 1)
        assert started["detail"].startswith("OrderQueue: ")
    app = application(system)
    answering(app)
    with pytest.raises(ZeroDivisionError), serving(app) as thread:
        asyncio.run_coroutine_threadsafe(app.crash(ZeroDivisionError("no")), thread._loop).result()
        thread.join()
    told = system.events(163, count=4)
    assert [event["subclass"] for event in told] == [1, 2, 1, 3]
    assert told[-1]["detail"].endswith("no")


@pytest.mark.long
def test_a_handler_that_fails_rolls_back_and_five_times_turn_the_queue_off(system: System) -> None:
    """Nothing that it has said was said; the message stays, and the next ones behind it.

    Who starts while the queue is off waits until it is on.
    """
    seen, mended = list[bytes](), threading.Event()

    def failing() -> HoplineApp:
        app = application(system)

        @app.service(ORDERS)
        async def orders(dialog: Dialog, message: Received) -> None:
            seen.append(message.body)
            await dialog.send(message.body + b"!", type=ACCEPTED)
            if message.body == b"poison" and not mended.is_set():
                raise ValueError("not today")

        return app

    with system.client() as client:
        with serving(failing()):
            order(client, b"good", b"poison", b"behind")
            [event] = system.events(143)
            assert (event["instance"], event["error"]) == ("ServerB", 9617)
            assert answers(system, 1) == ["good!"]
        assert seen == [b"good", *[b"poison"] * 5]
        mended.set()
        with serving(failing()):
            turn_on(system)
            assert answers(system, 3) == ["good!", "poison!", "behind!"]
    assert seen == [b"good", *[b"poison"] * 6, b"behind"]


@pytest.mark.long
def test_failures_are_counted_on_where_an_agent_is_started_again(system: System) -> None:
    """Three before a restart and two behind it are five in a row; another message has its own."""
    seen = list[bytes]()

    def failing(most: int) -> HoplineApp:
        """Fail as often, and then hang."""
        app, hung = application(system), asyncio.Event()

        @app.service(ORDERS)
        async def orders(dialog: Dialog, message: Received) -> None:
            seen.append(message.body)
            if message.body != b"poison":
                return
            if seen.count(b"poison") > most:
                await hung.wait()
            raise ValueError("not today")

        return app

    def failures(count: int) -> None:
        eventually(lambda: seen.count(b"poison") == count or pause(), f"{count} attempts")

    with system.client() as client:
        with serving(failing(3)):
            order(client, b"good", b"poison")
            failures(4)  # the fourth one hangs: three are noted
        with serving(failing(100)):
            system.events(143)
            failures(4 + 2)


@pytest.mark.long
def test_a_statement_that_cannot_be_encoded_rolls_back(system: System) -> None:
    """A message must not end the agents of a process; the messages behind it are answered."""
    app, calls = application(system), list[bytes]()

    @app.service(ORDERS)
    async def orders(dialog: Dialog, message: Received) -> None:
        calls.append(message.body)
        await dialog.send(message.body + b"!", type=ACCEPTED)
        if calls.count(b"poison") in range(1, 4) and message.body == b"poison":
            await dialog.end(error=(1, "poison: \ud800"))

    with system.client() as client, serving(app) as thread:
        order(client, b"good", b"poison", b"behind")
        assert answers(system, 3) == ["good!", "poison!", "behind!"]
        assert thread.failure is None
    assert calls == [b"good", *[b"poison"] * 4, b"behind"]


def turn_on(system: System) -> None:
    script = Script(*AT_B, "ALTER QUEUE OrderQueue WITH STATUS = ON")
    publish_script(system.cluster, plan_script(system.cluster, script, time.time()))


@pytest.mark.long
@pytest.mark.parametrize(
    ("names", "contract", "says"),
    [
        (("//shop/Nobody",), None, "has no service //shop/Nobody"),
        ((ORDERS, STOCK), None, "have several queues: OrderQueue, StockQueue"),
        ((ORDERS,), "DEFAULT", "does not accept the contract DEFAULT"),
    ],
)
def test_what_the_catalog_does_not_have_is_told_at_the_start(
    system: System, names: tuple[str, ...], contract: str | None, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        locate(system.cluster, *AT_B, names, contract)
