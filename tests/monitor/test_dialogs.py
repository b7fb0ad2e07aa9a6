"""Rows of dialogs are those of a plain recomputation, wherever batches end."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from streams.monitor.state_sink import StateSink
from streams.protocol import Dialog, State
from streams.store import DialogSide, MalformedWindow, Situation, Store, Trouble
from streams.times import LATEST
from streams.wire import Topics, encode_event
from streams.wire.bounds import LONGEST
from streams.wire.state import encode_dialog
from streams.wire.state_keys import POSITIONS_KEY, chunk_key, dialog_key
from tests.monitor.records import NOON

TOPICS = Topics("t.")
TOPIC = TOPICS.dialog("SQL01\\PROD")
EVENT = TOPICS.event


@dataclass(frozen=True)
class Record:
    """A record of a state topic; its position is where it stands in a list."""

    key: bytes
    value: bytes | None
    at: int
    topic: str = TOPIC


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


def _frame(spark: SparkSession, first: int, records: Sequence[Record]) -> DataFrame:
    rows = [
        (
            record.topic,
            first + n,
            datetime.fromtimestamp(record.at / 1000, UTC),
            bytearray(record.key),
            None if record.value is None else bytearray(record.value),
        )
        for n, record in enumerate(records)
    ]
    schema = "topic string, offset bigint, timestamp timestamp, key binary, value binary"
    return spark.createDataFrame(rows, schema)


def _feed(spark: SparkSession, store: Store, records: Sequence[Record], *ends: int) -> None:
    """Write records in batches that end at these positions."""
    sink = StateSink(store, "dialogs", TOPICS, 10_000)
    begin = 0
    for batch, end in enumerate((*ends, len(records))):
        frame = _frame(spark, begin, records[begin:end])
        sink.put("run", batch, sink.rows(frame))
        begin = end


def _dialog(number: int, *, is_initiator: bool = True) -> Dialog:
    return Dialog(
        conversation=uuid.UUID(int=number),
        database="Database A/1",
        broker_id="A",
        is_initiator=is_initiator,
        state=State.SO if is_initiator else State.SI,
        service="InitiatorService",
        far_service="//shop/Bestellung\u00e4",
        far_broker=None if is_initiator else "B",
        contract="DEFAULT",
        group=uuid.UUID(int=1),
        handle=uuid.UUID(int=2),
        created_at=NOON - number,
        expires_at=NOON + 10**9,
        locked=not is_initiator,
    )


def _record(dialog: Dialog, at: int, *, gone: bool = False) -> Record:
    key = dialog_key((dialog.database, dialog.conversation, dialog.is_initiator))
    return Record(key, None if gone else encode_dialog(dialog), at)


def _history(chance: random.Random, dialog: Dialog) -> Iterator[tuple[Dialog, bool]]:
    """Yield what becomes of a dialog: each state that is written, and whether it is forgotten."""
    yield dialog.copy(), False
    for _ in range(chance.randrange(1, 12)):
        what = chance.randrange(7)
        if what == 0:
            dialog.send_sequence += chance.randrange(1, 4)
            dialog.state = State.CO
        elif what == 1:
            waits = dialog.send_sequence - dialog.acknowledged[0]
            dialog.acknowledged = (dialog.acknowledged[0] + chance.randrange(waits + 1), 0)
        elif what == 2:
            dialog.received = (dialog.received[0] + 1, 0)
        elif what == 3:
            dialog.far_broker, dialog.locked = "DatabaseB", True
        elif what == 4:
            dialog.status, dialog.attempt = chance.choice([0, 9750]), chance.randrange(3)
        elif what == 5:
            dialog.parked = [(n, n) for n in range(-1, chance.randrange(3))]
        elif chance.random() < 0.4:
            dialog.state = chance.choice([State.ER, State.DI, State.CD])
            dialog.closed_at = NOON if dialog.state is State.CD else None
        yield dialog.copy(), False
        if dialog.state is State.CD:
            break
    if chance.random() < 0.3:
        yield dialog.copy(), True


def _recomputed(
    position: int, record: Record, dialog: Dialog, old: DialogSide | None
) -> DialogSide:
    """Return the row after a record, from the row before it: the definitions in plain code."""
    depth = dialog.send_sequence - dialog.acknowledged[0]
    if record.value is None:
        assert old is not None
        return replace(
            old, state="CD", depth=0, parked=0, waiting_since=None, status=0, gone_at=record.at,
            ended_at=old.ended_at or record.at, seen_at=record.at, position=position,
        )  # fmt: skip
    numbers = dialog.state.name, dialog.send_sequence, dialog.acknowledged[0], dialog.received[0]
    same = old and (old.state, old.sent, old.acknowledged, old.received) == numbers
    head = old is not None and old.depth > 0 and old.acknowledged == dialog.acknowledged[0]
    locked = dialog.locked and dialog.is_initiator
    failed = dialog.state is State.ER
    return DialogSide(
        instance="SQL01\\PROD",
        database=dialog.database,
        conversation=str(dialog.conversation),
        is_initiator=dialog.is_initiator,
        service=dialog.service,
        far_service=dialog.far_service,
        contract=dialog.contract,
        state=dialog.state.name,
        begun_at=dialog.created_at,
        expires_at=dialog.expires_at,
        far_broker=dialog.far_broker,
        locked_at=(old and old.locked_at) or (record.at if locked else None),
        error_at=(old and old.error_at) or (record.at if failed else None),
        ended_at=(old and old.ended_at) or dialog.closed_at,
        gone_at=None,
        progress_at=old.progress_at if old and same else record.at,
        sent=numbers[1],
        acknowledged=numbers[2],
        received=numbers[3],
        depth=depth,
        parked=sum(n >= 0 for n, _ in dialog.parked),
        waiting_since=None if not depth else old.waiting_since if old and head else record.at,
        attempt=dialog.attempt,
        status=dialog.status,
        status_at=dialog.status_at,
        seen_at=record.at,
        position=position,
    )


@pytest.mark.long
def test_verify_rows_of_dialogs_against_a_recomputation(spark: SparkSession, store: Store) -> None:
    chance = random.Random(11)
    lives = [list(_history(chance, _dialog(n, is_initiator=n % 3 > 0))) for n in range(40)]
    records: list[Record] = []
    expected: dict[bytes, DialogSide] = {}
    while any(lives):
        dialog, gone = chance.choice([life for life in lives if life]).pop(0)
        record = _record(dialog, NOON + 1_000 * len(records), gone=gone)
        old = expected.get(record.key)
        expected[record.key] = _recomputed(len(records), record, dialog, old)
        records.append(record)
        if chance.random() < 0.2:
            records.append(replace(record, key=chunk_key(record.key, 3), value=b"chunk"))
        if chance.random() < 0.2:
            records.append(Record(POSITIONS_KEY, b"positions", record.at))

    ends = sorted(chance.sample(range(1, len(records)), 3))
    _feed(spark, store, records, *ends)
    found = {(row.conversation, row.is_initiator): row for row in store.read(DialogSide)}
    wanted = {(row.conversation, row.is_initiator): row for row in expected.values()}
    assert found == wanted

    # A fresh checkpoint reads what compaction has left over, and changes nothing that was known.
    last = {record.key: n for n, record in enumerate(records)}
    left = [records[n] for n in sorted(last.values())]
    sink = StateSink(store, "dialogs", TOPICS, 10_000)
    frames = [_frame(spark, n, [records[n]]) for n in sorted(last.values())[:3]]
    assert len(left) > 3
    for batch, frame in enumerate(frames):
        sink.put("another run", batch, sink.rows(frame))
    again = {(row.conversation, row.is_initiator): row for row in store.read(DialogSide)}
    assert again == wanted


OUT_OF_RANGE: tuple[tuple[str, Any], ...] = (
    ("send_sequence", 2**63 - 1),
    ("send_sequence", -1),
    ("acknowledged", (-(2**63), 0)),
    ("received", (2**62, 0)),
    ("created_at", -(2**63)),
    ("expires_at", 2**63 - 1),
    ("closed_at", 2**62),
    ("status_at", -1),
)
"""Valid in a record, and no sums of them fit into a long."""

TOO_LONG = ("service", "far_service", "far_broker", "contract", "database")
"""Texts of a dialog, each of them in a row of the store; the database is in the key."""


@pytest.mark.long
def test_what_cannot_be_read_is_counted_and_stops_nothing(
    spark: SparkSession, store: Store
) -> None:
    good = _record(_dialog(1), NOON)
    about = good.key
    records = [
        good,
        Record(about, b"text", NOON + 1),
        Record(about, (good.value or b"")[:12], NOON + 2),
        Record(about.replace(b"Database", b"%zz"), good.value, NOON + 3),
        *(_record(replace(_dialog(1), **{n: v}), NOON + 3) for n, v in OUT_OF_RANGE),
        *(_record(replace(_dialog(1), **{n: "x" * (LONGEST + 1)}), NOON + 3) for n in TOO_LONG),
        _record(replace(_dialog(1), database="x" * (LONGEST + 1)), NOON + 3, gone=True),
        Record(b"request/request/initiator", b"a request", NOON),
        Record(b"\xff\xfe", None, NOON),
        Record(b"", b"", NOON),
    ]
    _feed(spark, store, records)
    (row,) = store.read(DialogSide)
    assert (row.conversation, row.position) == (str(uuid.UUID(int=1)), 0)
    windows = store.read(MalformedWindow)
    assert sum(row.count for row in windows) == 3 + len(OUT_OF_RANGE) + len(TOO_LONG)
    assert {row.topic for row in windows} == {TOPIC}


def test_progress_is_counted_from_the_first_readable_record(
    spark: SparkSession, store: Store
) -> None:
    """A record with an impossible time has the same numbers: nothing seemed to have changed."""
    sound, later = _dialog(1), replace(_dialog(1), send_sequence=1)
    odd, odd_later = (replace(each, created_at=LATEST + 1) for each in (sound, later))
    history = [odd, sound, later, odd_later, later]
    of_another = [_record(each, NOON) for each in (replace(_dialog(2), created_at=-1), _dialog(2))]
    records = [_record(each, NOON + at) for at, each in enumerate(history)]
    _feed(spark, store, [*records, *of_another])
    progress = {row.conversation: row.progress_at for row in store.read(DialogSide)}
    assert progress == {str(uuid.UUID(int=1)): NOON + 2, str(uuid.UUID(int=2)): NOON}


@pytest.mark.long
def test_the_longest_texts_of_a_dialog_are_read(spark: SparkSession, store: Store) -> None:
    texts = dict.fromkeys(TOO_LONG, "\U0001f600" * LONGEST)
    _feed(spark, store, [_record(replace(_dialog(1), **texts), NOON)])
    (row,) = store.read(DialogSide)
    assert {name: getattr(row, name) for name in TOO_LONG} == texts


@pytest.mark.long
def test_events_with_an_error_that_name_a_dialog_are_kept(
    spark: SparkSession, store: Store
) -> None:
    ids = [str(uuid.UUID(int=number)) for number in range(5)]

    def event(at: int, **fields: object) -> Record:
        fields_of_event = {
            "event": 124,
            "at": NOON + at,
            "instance": "ServerA",
            "error": 8489,
            **fields,
        }
        return Record(b"c", encode_event(fields_of_event), NOON + at, EVENT)

    failed = {"conversation": ids[1], "from_initiator": True, "database": "D"}
    refused = {"event": 160, "error": 11224, "conversation": ids[2], "to_service": "Target"}
    records = [
        event(5, **failed),
        event(9, **failed),
        event(3, **failed),
        event(4, **refused),
        event(6, event=160, error=11218, conversation=ids[3]),
        event(7, error=0, conversation=ids[4]),
        event(8),
        event(8, conversation="c-5"),
        event(8, conversation="x" * 48_000),  # its index entry would be too large for PostgreSQL
        event(8, conversation="g" * 36),
    ]
    _feed(spark, store, records, 2)
    first, second = sorted(Situation(store).troubles(), key=lambda t: t.conversation)
    assert first == Trouble(
        "ServerA", "D", ids[1], True, 124, 8489, None, first_at=NOON + 5, last_at=NOON + 9
    )
    assert (second.error, second.to_service, second.is_initiator) == (11224, "Target", None)
