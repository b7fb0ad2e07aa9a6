"""Captured messages under two topologies: each by its dialog, counted by its flow."""

from __future__ import annotations

import os
import random
import uuid
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from operator import add
from pathlib import Path

import pytest

from streams.analysis import find_paths, find_sender
from streams.analysis.diff import Change, Direction, remove
from streams.capture.dialogs import TalkReader, merge
from streams.capture.group import group
from streams.capture.judge import DialogRow, Judge, Standing, judge_captures, tally
from streams.capture.record import Record, TimestampType
from streams.errors import InputError
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from streams.wire.records import queue_record
from tests.capture.commands import begin, capture, records, send
from tests.topology.build import NOW, shipped, write
from tests.wire.values import type_for

TRAFFIC = topologies_dir() / "combined" / "traffic.avro"
FLOW = Direction("ServerA", "DatabaseA", "InitiatorService", "TargetService")


def judge(*left_out: str) -> Judge:
    """Return the judge of `combined` against itself without something."""
    old = new = shipped("combined")
    for name in left_out:
        new = remove(new, name)
    return Judge(old, new, NOW)


def rows(judge: Judge, *paths: Path) -> list[DialogRow]:
    return list(judge_captures(paths, judge))


def places(topology: Topology, row: DialogRow) -> tuple[str, ...]:
    """Return which databases take a dialog, as `hopline path --conversation` shows."""
    sender = find_sender(topology, FLOW.sender, FLOW.to)
    paths = find_paths(topology, sender, FLOW.to, NOW, conversation=uuid.UUID(row.conversation))
    return tuple(sorted({o.way.ending.at for o in paths.outcomes if o.way.ending.delivered}))


def test_every_message_of_the_shipped_traffic() -> None:
    """Each dialog goes where `path` sends it, before and after; no message is left out."""
    asked = judge("GatewayA", "GatewayB")
    found = rows(asked, TRAFFIC)
    assert len(found) == 2_000 and sum(row.messages for row in found) == 20_000
    assert [row.conversation for row in found] == sorted(row.conversation for row in found)
    for row in found[::50]:
        assert (row.before, row.after) == (places(asked.old, row), places(asked.new, row))
    by_place = Counter[tuple[tuple[str, ...], Change | None]]()
    for row in found:
        by_place[row.before, row.change] += row.messages
    assert set(by_place) == {(("ServerB/DatabaseB",), Change.STOPS), (("ServerC/DatabaseC",), None)}
    counted = tally(found)
    assert counted.flows[FLOW].messages == 20_000
    stopped = by_place[("ServerB/DatabaseB",), Change.STOPS]
    assert counted.flows[FLOW].changed == {Change.STOPS: stopped} and 9_000 < stopped < 11_000


def test_messages_of_a_dialog_belong_together_wherever_they_stand(tmp_path: Path) -> None:
    """SENDs before their BEGIN, in another file, of several dialogs at once."""
    one = capture(tmp_path / "1.avro", records([send(1), send(2), send(1)]))
    also = (uuid.UUID(int=2), uuid.UUID(int=1))
    two = capture(tmp_path / "2.avro", records([begin(1), begin(2), send(1, also=also)]))
    found = rows(judge(), one, two)
    assert [(uuid.UUID(r.conversation).int, r.messages) for r in found] == [(1, 3), (2, 2)]
    assert {r.standing for r in found} == {Standing.JUDGED}


def test_replies_are_judged_on_their_own_path(tmp_path: Path) -> None:
    """Replies go by the target's routes, and count for the flow of their dialog."""
    issued = [begin(1), send(1), send(1, at="ServerB", database="DatabaseB", from_initiator=False)]
    path = capture(tmp_path / "c.avro", records(issued))
    back = ("ServerB/DatabaseB/InitiatorRouteA", "ServerB/DatabaseB/InitiatorRouteB")
    replies = [r for r in rows(judge(*back), path) if not r.from_initiator]
    assert [(r.flow, r.before, r.after, r.change) for r in replies] == [
        (FLOW, ("ServerA/DatabaseA",), (), Change.STOPS)
    ]


def test_a_reply_goes_to_the_broker_id_that_began(tmp_path: Path) -> None:
    """Two databases have the initiator's service: the dialog's own one is answered."""
    home = "databases: {D: {broker_id: %s, services: [Asker], routes: [%s]}}"
    there = "{name: R, service_name: Teller, address: 'tcp://T:4022'}"
    back = ", ".join(
        f"{{name: To{n}, service_name: Asker, broker_instance: a{n}, address: 'tcp://A{n}:4022'}}"
        for n in (1, 2)
    )
    homes = "".join(f"  A{n}: {{{home % (f'a{n}', there)}}}\n" for n in (1, 2))
    yaml = (
        f"instances:\n{homes}  T: {{databases: {{D: {{services: [Teller], routes: [{back}]}}}}}}\n"
    )
    topology = load(write(tmp_path, yaml), NOW)
    parties = {"from_service": "Asker", "to_service": "Teller", "database": "D"}
    reply = {"at": "T", "database": "D", "from_initiator": False}
    issued = [x for n in range(9) for x in (begin(n, at="A2", **parties), send(n, **reply))]
    found = rows(Judge(topology, topology, NOW), capture(tmp_path / "c.avro", records(issued)))
    assert {row.before for row in found} == {("A2/D",)} and len(found) == 9


def test_of_two_begins_the_first_counts(tmp_path: Path) -> None:
    """A second BEGIN under the same id is refused; only the first one's broker id is meant."""
    first, second = begin(1, to_broker="DatabaseB"), begin(1, to_broker="DatabaseC")
    first, second = (
        (at, command._replace(issued_at=n)) for n, (at, command) in enumerate((first, second))
    )
    for issued in ([first, second, send(1)], [second, send(1), first]):
        [row] = rows(judge(), capture(tmp_path / "c.avro", records(issued)))
        assert row.before == ("ServerB/DatabaseB",)
        assert row.flow == replace(FLOW, broker="DatabaseB")


def test_what_cannot_be_judged_is_counted(tmp_path: Path) -> None:
    """No BEGIN, an instance that nobody has, bytes that are no command: reported, never raised."""
    made = records([send(1), begin(2, at="Nobody"), send(2, at="Nobody"), begin(3), send(3)])
    broken = replace(made[-1], headers=(("sb-command", b"nonsense"),))
    no_key = replace(made[-1], key=b"no id")
    other = replace(made[-1], topic="ssb.out.ServerA")
    path = capture(tmp_path / "c.avro", [*made, broken, no_key, other])
    assert tally(rows(judge(), path)).to_json() == {
        "messages": 5, "judged": 1, "unknown_sender": 1, "no_begin": 1, "unreadable": 2,
        "arrived": 0, "elsewhere": 0,
    }  # fmt: skip


def arrived(conversation: int, at: str, *, from_initiator: bool = True, flags: int = 0) -> Record:
    """Return a message in the queue of a database."""
    service, database, queue = at.split("/")
    parties = Parties("To", None, "From", "B", "DEFAULT", from_initiator)
    kind = type_for(Flag(flags), "DEFAULT")
    header = Header(uuid.UUID(int=9), kind, 0, 0, 0, Flag(flags))
    dialog = uuid.UUID(int=conversation)
    key, value, headers = queue_record(dialog, dialog, parties, header, Journey(9, 0, 0, 0), b"x")
    topic = Topics("ssb.").queue(service, database, queue)
    return Record(topic, 0, 0, 0, TimestampType.CREATE_TIME, key, tuple(headers), value)


def test_the_prediction_is_held_against_what_has_arrived(tmp_path: Path) -> None:
    """Each side's messages, where the capture has their queue; an EndDialog is no message."""
    issued = [begin(1), send(1), send(1), begin(2), send(2)]
    issued.append(send(1, at="ServerB", database="DatabaseB", from_initiator=False))
    reply = arrived(1, "ServerA/DatabaseA/InitiatorQueue", from_initiator=False)
    [one, two] = [
        next(iter(r.before)) for r in rows(judge(), capture(tmp_path / "b.avro", records(issued)))
        if r.from_initiator
    ]  # fmt: skip
    there = [arrived(1, f"{one}/TargetQueue"), arrived(1, f"{one}/TargetQueue", flags=Flag.END)]
    wrong = "ServerC/DatabaseC" if two == "ServerB/DatabaseB" else "ServerB/DatabaseB"
    right = [*records(issued), *there, reply, arrived(2, f"{two}/TargetQueue")]
    counted = tally(rows(judge(), capture(tmp_path / "c.avro", right)))
    assert (counted.arrived, counted.elsewhere) == (3, 0)
    moved = [*records(issued), *there, reply, arrived(2, f"{wrong}/TargetQueue")]
    counted = tally(rows(judge(), capture(tmp_path / "d.avro", moved)))
    assert (counted.arrived, counted.elsewhere) == (3, 1)
    assert counted.plus(counted).to_json()["elsewhere"] == 2


def test_prefix_and_long_names() -> None:
    """Topics carry the capture's own prefix; a long name is found by its hash."""
    long = "Server" * 60
    asked = TalkReader.of("other.", {"ServerA": "ServerA", long: long})
    for name in ("ServerA", "SQL01\\PROD", long):
        [record] = records([begin(1, at=name)], prefix="other.")
        [(_, talk)] = asked.read(record.topic, record.key, record.headers)
        assert talk.begin is not None and talk.begin.instance == name
    [foreign] = records([begin(1)])
    assert not list(asked.read(foreign.topic, foreign.key, foreign.headers))


def test_a_damaged_capture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.avro"
    path.write_bytes(TRAFFIC.read_bytes()[:-100])
    with pytest.raises(InputError):
        rows(judge(), path)


# --- Grouping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [1, 3, 1_000])
def test_grouping_is_the_same_with_any_memory(keys: int) -> None:
    """Whatever is spilled, every key comes once, in order, with all that it has."""
    chance = random.Random(keys)
    items = [(f"{chance.randrange(40)}", chance.randrange(9)) for _ in range(500)]
    sums = Counter[str]()
    for key, value in items:
        sums[key] += value
    assert list(group(items, add, keys=keys)) == sorted(sums.items())


def test_grouping_opens_few_files() -> None:
    """However many runs there are, a process may open so many files only."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:  # so that two hundred are free, whatever else is open
        some = [stack.enter_context(open(os.devnull)) for _ in range(200)]
        highest = max(each.fileno() for each in some)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    try:
        found = list(group(((f"{n:03}", 1) for n in range(500)), add, keys=1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(found) == 500


def test_talks_merge_in_any_order() -> None:
    """Spark brings the parts of a dialog together in whatever order."""
    asked = judge().talk_reader("ssb.")
    parts = [
        talk
        for record in records([begin(1), send(1), begin(1), send(1), send(1, at="ServerB")])
        for _, talk in asked.read(record.topic, record.key, record.headers)
    ]
    chance, whole = random.Random(3), None
    for _ in range(20):
        chance.shuffle(parts)
        total = parts[0]
        for part in parts[1:]:
            total = merge(total, part)
        assert whole in (None, total)
        whole = total
