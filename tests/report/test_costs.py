"""The account costs no more than its records, whatever places the records of others name."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import EventKind, Number
from streams.protocol import Cause, Command, CommandKind, Source
from streams.report import Accepted, Ending, Endings, EndpointKey, Fate, balance, record_reader
from streams.report.parts import Began, Dropped, Duplicate, Sent, is_dialog, is_shared
from streams.report.record_reader import Record, RecordReader
from streams.report.sites import Sites
from streams.wire import encode_event
from streams.wire.job import JOB
from streams.wire.records import command_record

DIALOG = uuid.UUID(int=7)
MANY = 100


class Counting(dict[EndpointKey, int]):
    """Acknowledgements of targets, by place; counts how often one was looked up."""

    lookups = 0

    def get(self, key: EndpointKey, default: int = 0) -> int:  # type: ignore[override]
        """Return the acknowledged number of a place."""
        self.lookups += 1
        return super().get(key, default)


@pytest.mark.parametrize("senders", [1, MANY])
def test_forged_places_of_targets_are_not_searched_for_each_message(senders: int) -> None:
    """Events may name any number of databases, and statements any number of messages."""
    places = [EndpointKey(f"B/D{n}", DIALOG, False) for n in range(MANY)]
    acknowledged = Counting(dict.fromkeys(places, 0))
    sent = [
        Accepted(EndpointKey(f"A/D{n % senders}", DIALOG, True), uuid.UUID(int=n + 1), n, b"x")
        for n in range(MANY)
    ]
    ledger = balance(sent, [], [], Endings(unaccepted=acknowledged))
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 1, Fate.LOST: MANY - 1}
    assert acknowledged.lookups <= 2 * MANY


def test_the_first_deaf_place_without_a_state_decides() -> None:
    """Later ones explain nothing more, and one with an EndDialog has received everything."""
    first, *others = (EndpointKey(f"B/D{n}", DIALOG, False) for n in range(3))
    sent = [Accepted(EndpointKey("A/D", DIALOG, True), uuid.UUID(int=1), 0, b"x")]
    ends = dict.fromkeys((first, *others), Ending.PLAIN)
    assert balance(sent, [], [], Endings(ends, end_dialogs={first})).outcomes == {
        Fate.PEER_ENDED: 1
    }
    assert balance(sent, [], [], Endings(ends, end_dialogs={first, *others})).lost


def statement(offset: int, kind: CommandKind, job: bytes = b"", **fields: object) -> Record:
    number = uuid.UUID(int=offset + 1)
    command = Command(DIALOG, number, kind, **{"database": "D", **fields})  # type: ignore[arg-type]
    key, _, headers = command_record(command)
    return Record("ssb.cmd.A", 0, offset, 0, key, [*headers, (JOB, job)], b"", b"", 0)


def test_long_names_of_others_are_cut() -> None:
    """A database may be named with 16,384 characters, and a header of a replay with 60,000."""
    reader = RecordReader(Sites("ssb."))
    ((_, sent),) = reader.read_record(statement(0, CommandKind.SEND, database="x" * 16_000))
    ((_, began),) = reader.read_record(statement(1, CommandKind.BEGIN, b"j" * 60_000))
    assert isinstance(sent, Sent)
    assert isinstance(began, Began)
    assert sent.place == "A/" + "x" * 510
    assert began.job == "j" * 512


def test_a_long_name_that_the_catalog_has_is_whole() -> None:
    """The state of its endpoints has the same place."""
    place = "A/" + "x" * 600
    reader = RecordReader(Sites("ssb.", brokers={"b": place}))
    ((_, sent),) = reader.read_record(statement(0, CommandKind.SEND, database="x" * 600))
    assert isinstance(sent, Sent)
    assert sent.place == place


def test_events_about_no_dialog_only_count_copies() -> None:
    """Any writer of events may write millions of them."""
    reader = RecordReader(Sites("ssb."))
    about = {"at": 1, "instance": "A", "database": "D", "conversation": "none", "sequence": 1}
    ended = {**about, "event": int(EventKind.CONVERSATION), "error": 8489}
    refused = {**about, "event": int(EventKind.MESSAGE_UNDELIVERABLE)}
    events = [
        ended,
        {**refused, "error": int(Number.CONTRACT_NOT_USABLE)},
        *[{**refused, "error": int(Number.DUPLICATE)}] * 2,
    ]
    parts = [
        part
        for offset, event in enumerate(events)
        for part in reader.read_record(
            Record("ssb.event", 0, offset, 0, b"", [], encode_event(event), b"", 0)
        )
    ]
    assert [type(part) for _, part in parts] == [Dropped, Duplicate, Duplicate]
    assert len({key for key, _ in parts}) == 3, "they are not all in one place in memory"
    assert not any(is_dialog(key) or is_shared(key) for key, _ in parts)


def test_sources_of_statements_are_remembered_as_its_endpoint_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to a number of them in each partition; the one that is silent for longest is forgotten."""
    monkeypatch.setattr(record_reader, "MOST_SOURCES", 2)
    reader = RecordReader(Sites("ssb."))
    causes = [Cause(Source("shop", f"agent{n}", uuid.UUID(int=7), 0), 4) for n in range(3)]
    said = [causes[0], causes[1], causes[0].following, causes[2], *causes]
    counted = [
        bool(list(reader.read_record(statement(offset, CommandKind.SEND, cause=cause))))
        for offset, cause in enumerate(said)
    ]
    assert counted == [True, True, True, True, False, True, False]
