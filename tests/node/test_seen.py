"""What an application says again because it died is applied once."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from streams.errors import EventKind
from streams.protocol import Cause, Command, CommandKind, Source
from streams.protocol.seen import KEPT
from streams.wire import MalformedError
from streams.wire.commands import decode_cause, encode_cause
from streams.wire.records import command_record
from streams.wire.state_keys import SeenKey, decode_key

from .harness import Net, conversation
from .places import D1, TARGET, pair

D2 = conversation(2)
SOURCE = Source("shop", "billing", uuid.UUID(int=7), 0)


def apply_statement(net: Net, offset: int, n: int, body: bytes = b"x", **said: object) -> Command:
    """Say something on D1 because of a record; ``body`` is that of a SEND."""
    cause = Cause(said.pop("source", SOURCE), offset, n)  # type: ignore[arg-type]
    command = Command(
        D1,
        cause.public_id,
        CommandKind.SEND,
        "DatabaseA",
        issued_at=net.now,
        body=body,
        cause=cause,
    )
    command = command._replace(**said)  # type: ignore[arg-type]
    net["ServerA"].cmd.append(*command_record(command), net.now)
    return command


def begun() -> Net:
    """Return a net in which D1 was begun because of record 5."""
    net = pair()
    names = {"from_service": "InitiatorService", "to_service": "TargetService"}
    apply_statement(net, 5, 0, kind=CommandKind.BEGIN, body=None, **names)
    apply_statement(net, 5, 1, b"one")
    net.settle()
    return net


def arrived(net: Net) -> list[bytes]:
    return net["ServerB"].bodies(TARGET)


def details(net: Net) -> list[str]:
    """Return what events say of statements that were passed over."""
    found = [e["detail"] for e in net["ServerA"].events if e["event"] == EventKind.CONVERSATION]
    return [detail for detail in found if "skipped" in detail]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_said_again_counts_once(restarted: bool) -> None:
    """Also after a restart of the worker, and what comes after it counts."""
    net = begun()
    if restarted:
        net["ServerA"].restart_endpoint()
    names = {"from_service": "InitiatorService", "to_service": "TargetService"}
    apply_statement(net, 5, 0, kind=CommandKind.BEGIN, body=None, **names)
    apply_statement(net, 5, 1, b"one")
    apply_statement(net, 5, 2, b"two")
    apply_statement(net, 6, 0, b"three")
    net.settle()
    assert arrived(net) == [b"one", b"two", b"three"]
    assert details(net) == []


def test_within_one_transaction_too() -> None:
    net = begun()
    for _ in range(3):
        apply_statement(net, 6, 0, b"two")
    net.settle()
    assert arrived(net) == [b"one", b"two"]


def test_an_aborted_transaction_has_seen_nothing() -> None:
    net = begun()
    net["ServerA"].aborts = 1
    apply_statement(net, 6, 0, b"two")
    net.settle()
    assert arrived(net) == [b"one", b"two"]


@pytest.mark.parametrize(
    "other",
    [
        replace(SOURCE, application="other"),
        replace(SOURCE, agent="other"),
        replace(SOURCE, topic=uuid.UUID(int=8)),
        replace(SOURCE, partition=1),
    ],
)
def test_each_source_counts_for_itself(other: Source) -> None:
    """A topic that is made anew under its old name is another source, too."""
    net = begun()
    apply_statement(net, 0, 0, b"two", source=other)
    net.settle()
    assert arrived(net) == [b"one", b"two"]


def test_who_asks_is_answered_as_the_first_time() -> None:
    net = begun()
    for _ in range(2):
        apply_statement(net, 6, 0, conversation=D2, reply_to="me")  # no such conversation
        apply_statement(net, 6, 1, b"two", reply_to="me")
    net.settle()
    answers = net["ServerA"].results
    assert [(a.reply_to, a.number) for a in answers] == [("me", 8426), ("me", 0)] * 2
    assert len({a.command_id for a in answers}) == 2


def test_what_is_said_again_in_other_words_is_told() -> None:
    """The handler was not deterministic: what it said the first time counts."""
    net = begun()
    apply_statement(net, 5, 1, b"another one")
    net.settle()
    assert arrived(net) == [b"one"]
    [detail] = details(net)
    assert detail == f"SEND skipped: {SOURCE} has sent a different statement at 5, 1"


def test_time_and_who_asks_make_no_difference() -> None:
    net = begun()
    net.now += 1
    apply_statement(net, 5, 1, b"one", reply_to="another", command_id=uuid.UUID(int=1))
    net.settle()
    assert details(net) == []


def test_what_was_left_out_the_first_time_is_told() -> None:
    """It stands between two that were seen: whoever says it said less before."""
    net = begun()
    apply_statement(net, 7, 0, b"two")
    apply_statement(net, 6, 0, b"too late")
    net.settle()
    assert arrived(net) == [b"one", b"two"]
    assert len(details(net)) == 1


def test_so_many_are_remembered_and_the_highest_for_ever() -> None:
    net = begun()
    for offset in range(6, 6 + KEPT):
        apply_statement(net, offset, 0, b"%d" % offset)
    net.settle()
    [seen] = net["ServerA"].endpoint.seen.values()
    assert [said.offset for said in seen.said] == list(range(6, 6 + KEPT))
    apply_statement(net, 5, 1, b"whatever")
    net.settle()
    assert len(arrived(net)) == 1 + KEPT
    assert details(net) == [], "nobody knows any more what it was"


def test_without_a_cause_nothing_is_passed_over() -> None:
    net = begun()
    for _ in range(2):
        apply_statement(net, 0, 0, b"x", cause=None)
    net.settle()
    assert arrived(net) == [b"one", b"x", b"x"]


def test_the_sources_that_are_silent_for_longest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever may write statements may name any number of sources; each is kept in the state."""
    monkeypatch.setattr("streams.node.endpoint.committed.MOST_SOURCES", 3)
    net = begun()
    node = net["ServerA"]
    others = [replace(SOURCE, agent=f"agent{number}") for number in range(6)]
    for number, source in enumerate(others):
        apply_statement(net, number, 0, b"%d" % number, source=source)
        if number == 2:
            apply_statement(net, 6, 0, b"again")  # the first one is not silent
        node.transact()
    assert list(node.endpoint.seen) == [SOURCE, *others[4:]] or len(node.endpoint.seen) == 3
    assert others[0] not in node.endpoint.seen and others[5] in node.endpoint.seen
    kept = [raw for raw in node.state if isinstance(decode_key(raw), SeenKey)]
    assert len(kept) == 3
    node.restart_endpoint()
    assert len(node.endpoint.seen) == 3


def test_a_source_with_long_names_or_without_an_application_is_malformed() -> None:
    for source in (replace(SOURCE, application=""), replace(SOURCE, agent="x" * 1_025)):
        with pytest.raises(MalformedError):
            decode_cause(encode_cause(Cause(source, 1)))
    assert decode_cause(encode_cause(Cause(replace(SOURCE, agent="x" * 1_024), 1))).at == (1, 0)


def test_of_a_long_name_only_a_digest_is_kept() -> None:
    """10,000 sources with names of 1,024 emoji took 83 MB in each partition."""
    longest = Cause(Source("x" * 256, "\u20ac" * 85, SOURCE.topic, 0), 1)
    assert decode_cause(encode_cause(longest)) == longest
    long = [Source("x" * 257, "b", SOURCE.topic, 0), Source("a", "\u20ac" * 86, SOURCE.topic, 0)]
    long += [replace(each, application=each.application + "y") for each in long]
    long.append(replace(long[0], agent="\U0001f600" * 1_024))
    read = [decode_cause(encode_cause(Cause(each, 1))).source for each in long]
    assert len(set(read)) == len(long)
    assert max(len(name) for each in read for name in (each.application, each.agent)) == 40
    assert read[0] == replace(long[0], application=read[0].application)
    again = [decode_cause(encode_cause(Cause(each, 1))).source for each in read]
    assert again == read, "a statement that is written again has the same source"


def test_a_source_with_long_names_is_known_again() -> None:
    net = begun()
    source = replace(SOURCE, agent="\U0001f600" * 1_000)
    for body in (b"two", b"two", b"another two"):
        apply_statement(net, 7, 0, body, source=source)
    net.settle()
    net["ServerA"].restart_endpoint()
    apply_statement(net, 7, 0, b"two", source=source)
    net.settle()
    assert arrived(net) == [b"one", b"two"]
    assert len(details(net)) == 1
    assert max(map(len, net["ServerA"].state)) < 200
