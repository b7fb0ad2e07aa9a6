"""Clients choose ids and numbers, but not which keys of dictionaries have equal hashes.

Python gives the hashes of text and bytes a random key, but not those of integers and tuples.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from itertools import count, islice

from streams.node import Record
from streams.node.endpoint import effects_to_records
from streams.node.endpoint.groups import Groups
from streams.protocol import DEFAULT, Flag, Header, Journey, Parties
from streams.routing import Origin
from streams.wire import encode_journey
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of, message_record

from .harness import START
from .test_forwarder import COPY, DIALOG, forwarder

_1, _2, _5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
"""The factors of a tuple's hash (xxHash)."""
_ALL = 2**64


def numbers() -> Iterator[tuple[int, int]]:
    """Yield (sequence, fragment) pairs whose tuples have equal hashes."""
    end = 12345
    for fragment in count():
        left = (end - fragment * _2) * pow(_1, -1, _ALL) % _ALL
        left = (left >> 31 | left << 33) % _ALL
        sequence = (left - _5) * pow(_2, -1, _ALL) % _ALL
        if sequence < 2**61 - 1:
            yield sequence, fragment


def test_ids_of_groups() -> None:
    groups, ids = Groups(), [uuid.UUID(int=5 + n * sys.hash_info.modulus) for n in range(50)]
    for number, one in enumerate(ids):
        groups.add(("D", uuid.UUID(int=number), True), one)
    assert len({hash(one.int) for one in ids}) == 1
    assert len({hash(key) for key in groups._databases["D"]._first}) == 50


def test_numbers_of_buffered_fragments() -> None:
    chosen, gateway = list(islice(numbers(), 20)), forwarder("Gate")

    def key(sequence: int, fragment: int) -> tuple[object, ...]:
        part = (fragment, 2**31 - 1)
        header = Header(uuid.UUID(int=5), DEFAULT, sequence, START, START, Flag.NONE, *part)
        parties = Parties("One", None, "Initiator", "A", DEFAULT, True)
        key, _, headers = message_record(DIALOG, parties, header, COPY, b"")
        route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
        assert route is not None and hop is not None
        message = header_of(headers, MESSAGE)
        return gateway.hold_key(Record(Origin.OUTSIDE, key, route, hop, 100, False, message))

    assert len({hash(number) for number in chosen}) == 1
    assert len({hash(key(*number)) for number in chosen}) == 20


class Counted(int):
    """A number that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int(self) == other


def journeys(hops: int) -> Iterator[Journey]:
    """Yield journeys of retries whose tuples have equal hashes."""
    wanted = _turned(12345 * pow(_1, -1, _ALL), 33)
    for attempt in count():
        before = _5
        for value in (hops, 7, attempt):
            before = _turned(before + value * _2, 31) * _1 % _ALL
        sent_at = (wanted - before) * pow(_2, -1, _ALL) % _ALL
        if sent_at < 2**61 - 1:
            yield Journey(Counted(hops), 7, attempt, sent_at)


def _turned(number: int, by: int) -> int:
    number %= _ALL
    return (number << by | number >> (64 - by)) % _ALL


def test_journeys_of_copies() -> None:
    """A cache that a sender fills with equal hashes has 64 entries: seven comparisons for each."""
    chosen = list(islice(journeys(9), 1_000))
    assert len({hash(journey) for journey in chosen}) == 1
    for use in (encode_journey, lambda journey: effects_to_records._arrived(journey, ("B", 2))):
        Counted.compared = 0
        for journey in chosen:
            use(journey)
        assert 0 < Counted.compared < 1_000 * len(chosen)
