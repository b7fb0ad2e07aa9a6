"""Any record may stand in `presence`: it takes little memory, and ends no thread."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable

import pytest

from streams.kafka import Message
from streams.node import KafkaClock
from streams.node.liveness.slot_owners import MOST_NAMES
from streams.protocol import Claim
from streams.wire import MalformedError, encode_presence
from streams.wire.heartbeats import HeartbeatReader, claims_that_fit
from streams.workers.control.heartbeats import Heartbeats

NOW = 1_790_000_000_000
MEGABYTE = 1 << 20
TINY = Claim("", True, 0)
"""A claim of three bytes."""


def message(name: str, claims: int = 0, count: int = 1, period: float = 1.0) -> Message:
    """Return a heartbeat with many claims, as a consumer returns it."""
    value = encode_presence(name, "r", count, NOW + count, [TINY] * claims, period)
    return Message(key=name.encode(), value=value, timestamp=(2, NOW + count))


def reader(*instances: str) -> Heartbeats:
    """Return a reader whose catalog has these instances."""
    heartbeats = Heartbeats("Me", "me", KafkaClock())
    heartbeats.expect(instances, len(instances))
    return heartbeats


def kept(read: Callable[[], object]) -> int:
    """Return how many bytes remain in memory after reading."""
    gc.collect()
    tracemalloc.start()
    try:
        read()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


INSTANCES = tuple(f"Instance{number:02}" for number in range(100))


def claiming(claims: int) -> list[Message]:
    """Return a heartbeat of each instance with as many claims."""
    value = encode_presence("Instance??", "r", 1, NOW, [TINY] * claims)
    return [
        Message(key=name, value=value.replace(b"Instance??", name), timestamp=(2, NOW))
        for name in (instance.encode() for instance in INSTANCES)
    ]


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize(("claims", "most"), [(330_000, 1), (1_000, 10), (150, 10), (16, 1)])
def test_the_claims_of_a_hundred_heartbeats_take_little_memory(
    claims: int, most: float, follows: bool
) -> None:
    """Those of 1 MB have 330,000 each, which took two gigabytes."""
    heartbeats, messages = reader(*INSTANCES), claiming(claims)
    assert claims != 330_000 or len(messages[0]) > 0.9 * MEGABYTE

    def read() -> None:
        for each in messages:
            heartbeats.read(each, 100.0)
        if follows:
            for name in INSTANCES:
                heartbeats.claims(name)

    assert kept(read) < most * MEGABYTE
    assert len(heartbeats.claims("Instance07") or ()) == (claims if claims <= 1_000 else 0)


@pytest.mark.parametrize("claims", [330_000, 20_000, 150, 16])
def test_names_that_the_catalog_does_not_have_claim_nothing(claims: int) -> None:
    heartbeats, messages = reader("Other"), claiming(claims)

    def read() -> None:
        for each in messages:
            heartbeats.read(each, 100.0)
        heartbeats._note_all()

    assert kept(read) < MEGABYTE / 2
    assert not heartbeats._claims


@pytest.mark.long
def test_names_without_end_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats of a minute are remembered for ten, and a flood has thousands each second."""
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    heartbeats = reader("You")
    heartbeats.follow("Mine/endpoint/a")
    for name in ("You", "Mine/endpoint/a"):
        heartbeats.read(message(name, 1), 100.0)
    long = "x" * 420

    def read() -> None:
        for number in range(5 * MOST_NAMES):
            heartbeats.read(message(f"{long}{number}", 1, number, 60.0), 100.0)

    assert kept(read) < 60 * MEGABYTE
    owners = heartbeats.slot_owners()
    assert len(owners) <= MOST_NAMES
    assert owners.last_heartbeat("Mine/endpoint/a") == 0
    assert heartbeats.claims("Mine/endpoint/a") == heartbeats.claims("You") == (TINY,)


def test_headers_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client keeps a record's headers, of up to a megabyte, as long as the record."""
    heartbeats = reader()
    for number in range(100):
        each = message(f"Name{number}")
        each.set_headers([("x", bytes(number * 10_000))])
        heartbeats.read(each, 100.0)
    assert not any(isinstance(part, Message) for unread in heartbeats._unread.values()
                   for part in (*unread, *unread[0]))  # fmt: skip


def test_claims_of_former_instances_are_forgotten() -> None:
    """A catalog may have other instances in each version."""
    heartbeats = reader()
    for version in range(50):
        names = [f"Version{version}Instance{number}" for number in range(10)]
        heartbeats.expect(names, 10)
        for name in names:
            heartbeats.read(message(name, 200), 100.0)
        assert len(heartbeats._claims) <= 11
    assert heartbeats.claims(names[0]) == (TINY,) * 200


def test_the_largest_honest_heartbeat_is_read_whether_followed_or_not() -> None:
    claims = claims_that_fit(
        Claim(f"01234567-89ab-cdef-0123-{number:012}", True, number) for number in range(1_000)
    )
    value = encode_presence("You", "r" * 32, 1, NOW, claims, 60)
    for follows in (True, False):
        heartbeats = reader("You")
        if follows:
            heartbeats.follow("You")
        heartbeats.read(Message(key=b"You", value=value, timestamp=(2, NOW)), 100.0)
        assert heartbeats.claims("You") == claims
        assert len(claims) == 1_000


@pytest.mark.parametrize("key", [b"x", b"Me", b"\xff", b""])
def test_a_heartbeat_counts_only_under_its_own_key(
    key: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Compaction and the limits are by key."""
    heartbeats = reader("You")
    value = encode_presence("You", "r", 1, NOW, [TINY])
    heartbeats.read(Message(key=key, value=value, timestamp=(2, NOW)), 100.0)
    heartbeats._note_all()
    assert heartbeats.claims("You") is None
    assert len(heartbeats.slot_owners()) == 0
    assert "its key is not its name" in caplog.text


def test_a_record_that_is_no_heartbeat_is_logged_by_its_place(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No matter what reading it raises; the record's content is not in the log."""
    heartbeats = reader("You")
    for key, value in ((b"Me", b"junk"), (b"You", b"junk" * 1_000), (b"Me", None)):
        assert heartbeats.read(Message(key=key, value=value, timestamp=(2, NOW)), 100.0) is None
    skipped = "presence: the record at offset None is skipped"
    assert caplog.messages == [f"{skipped}: Presence: not in Avro single-object encoding"]
    caplog.clear()

    def fail(*_: object) -> object:
        raise ZeroDivisionError("content of the record")

    with monkeypatch.context() as patch:
        patch.setattr(HeartbeatReader, "read", fail)
        assert heartbeats.read(message("Me"), 100.0) is None
        heartbeats.read(message("You"), 100.0)
        assert heartbeats.claims("You") is None
    assert caplog.messages == [f"{skipped}: ZeroDivisionError"]
    assert heartbeats.read(message("Me", count=2), 101.0) == 1.0


def test_small_records_under_any_number_of_keys_are_read_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heartbeats, read = reader(), list[bytes]()

    def fail(_: object, key: bytes, __: object) -> object:
        read.append(key)
        raise MalformedError("not a heartbeat")

    monkeypatch.setattr(HeartbeatReader, "read", fail)
    for number in range(10_001):
        key = str(number).encode()
        heartbeats.read(Message(key=key, value=b"junk", timestamp=(2, NOW)), 100.0)
    assert len(read) > 10_000
    read.clear()
    for odd, value in ((b"x" * 1_000, b"junk"), (b"x", b"junk" * 1_000), (None, b"junk")):
        heartbeats.read(Message(key=odd, value=value, timestamp=(2, NOW)), 100.0)
    assert not heartbeats._unread and not read, "large ones of unknown names are ignored"
