"""Design, "Catalog": readers learn a writer's schema before anybody writes under it."""

from __future__ import annotations

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from streams.client import Conversation
from streams.errors import EventKind, SurroundingsError, UsageError
from streams.kafka import KafkaError, KafkaException, change_for, deploy, read_catalog
from streams.live.admin.skip import skip_statement
from streams.protocol import Command, CommandKind, Header, Journey, Limits, Parties
from streams.wire.evolution import schema_key, written_schemas
from streams.wire.partition import partition_of
from streams.wire.records import COMMAND, MESSAGE, ROUTE, Headers, command_record, message_record
from streams.wire.single_object import prefix_of
from streams.wire.state import Positions, encode_positions
from streams.wire.state_keys import POSITIONS_KEY, StateKey
from streams.workers import Control, Plan, Process
from tests.running import DEADLINE, eventually
from tests.workers.rig import Hook, HookedCluster, Rig, pair, pause, rig
from tests.workers.tomorrow import announce, newer, rewritten, under

PATIENT = Limits(retries=(60_000,))
ABOUT = ("A", "DatabaseA", "InitiatorService", "TargetService")
CORRUPTED = EventKind.CORRUPTED_MESSAGE
PARTIES = Parties("TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True)
A_CHUNK = StateKey("DatabaseA", uuid.UUID(int=1), True, 3).encode()


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine more time for the end of the catalog."""
    monkeypatch.setattr("streams.workers.control.catch_up.SOON", DEADLINE)


def frame(body: bytes) -> tuple[bytes, bytes | None, Headers]:
    """Return the first message of a dialog."""
    header = Header(uuid.uuid4(), "DEFAULT", 0, 0, 2**47)
    return message_record(uuid.uuid4(), PARTIES, header, Journey(9, 2**47, 0, 0), body)


def lagging(two: Rig) -> tuple[Control, threading.Event]:
    """Return a control that, once the event is set, reads on only when it is waited for."""
    lags = threading.Event()

    def poll(method: Any, timeout: float) -> Any:
        return method(timeout) if not lags.is_set() else pause() or None

    def get_watermark_offsets(method: Any, *where: Any, **options: Any) -> Any:
        lags.clear()
        return method(*where, **options)

    hooks: dict[str, Hook] = {"poll": poll, "get_watermark_offsets": get_watermark_offsets}
    cluster = HookedCluster(two.cluster.bootstrap, two.topics, hooks=hooks)
    control = two.controls["lagging",] = Control(cluster, ("A", "B"), timeout=DEADLINE)
    control.start()
    return control, lags


def stopped(two: Rig) -> SurroundingsError:
    """Return why an endpoint worker of A cannot go on."""
    failure = two.endpoint(limits=PATIENT).ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    return failure


def test_a_schema_that_is_announced_is_read_and_another_is_event_161(two: Rig) -> None:
    """Both come to a worker that runs; the one has been announced just before it was used."""
    control, lags = lagging(two)
    two.endpoint("B", limits=PATIENT, control=control)
    queue, inbox = two.topics.queue("B", "DatabaseB", "TargetQueue"), two.topics.inbox("B")
    two.produce(inbox, *frame(b"of today"))
    two.until(queue, 1)
    known, unknown = newer("Message"), newer("Message")
    key, value, headers = frame(b"nobody knows")
    two.produce(inbox, key, value, under(headers, MESSAGE, unknown))
    two.events(1, event=CORRUPTED)
    lags.set()
    announce(two, known)
    key, value, headers = frame(b"of tomorrow")
    two.produce(inbox, key, value, under(headers, MESSAGE, known))
    assert [m.value() for m in two.until(queue, 2)] == [b"of today", b"of tomorrow"]
    [reported] = two.events(1, event=CORRUPTED)
    assert (reported["topic"], reported["offset"]) == (inbox, 1)
    assert reported["detail"] == f"Message: unknown fingerprint {prefix_of(unknown)[2:].hex()}"


def test_a_forwarder_learns_schemas_too(two: Rig) -> None:
    control, lags = lagging(two)
    two.forwarder("A", control=control)
    known, unknown = newer("Route"), newer("Route")
    lags.set()
    out = two.topics.out("A")
    announce(two, known)
    for body, schema in ((b"nobody knows", unknown), (b"of tomorrow", known)):
        key, value, headers = frame(body)
        two.produce(out, key, value, under(headers, ROUTE, schema))
    [passed] = two.until(two.topics.txq("B"), 1)
    assert passed.value() == b"of tomorrow"
    [reported] = two.events(1, event=CORRUPTED)
    assert (reported["topic"], reported["offset"]) == (out, 0)


def test_workers_go_on_while_the_end_of_the_catalog_is_unknown(two: Rig) -> None:
    """A frame is reported, and a statement waits until its schema is known."""
    asked: list[str] = []

    def get_watermark_offsets(method: Any, where: Any, **options: Any) -> Any:
        if where.topic != two.topics.catalog or options.get("cached") or not is_out:
            return method(where, **options)
        asked.append(where.topic)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "no leader"))

    hooks: dict[str, Hook] = {"get_watermark_offsets": get_watermark_offsets}
    cluster, is_out = HookedCluster(two.cluster.bootstrap, two.topics, hooks=hooks), False
    control = two.controls["outage",] = Control(cluster, ("A",), timeout=DEADLINE)
    control.start()
    is_out = True
    workers = two.endpoint(limits=PATIENT, control=control), two.forwarder(control=control)
    for topic in (two.topics.inbox("A"), two.topics.txq("A")):
        key, value, headers = frame(b"nobody knows")
        two.produce(topic, key, value, under(headers, ROUTE, newer("Route")))
        two.events(1, event=CORRUPTED, topic=topic)
    schema = newer("Command")
    made = unreadable(two, schema)
    held_back(workers[0])
    announce(two, schema)
    held_back(workers[0], 0)
    with two.client() as client:
        client.send(Conversation("A", "DatabaseA", made.conversation), b"x", wait=True)
    assert len(asked) == 1 and [w.failure for w in workers] == [None, None]


def unreadable(two: Rig, schema: Any) -> Command:
    """Write a BEGIN in a schema that nobody has."""
    made = Command(
        uuid.uuid4(),
        uuid.uuid4(),
        CommandKind.BEGIN,
        "DatabaseA",
        from_service="InitiatorService",
        to_service="TargetService",
    )
    key, value, headers = command_record(made)
    two.produce(two.topics.cmd("A"), key, value, under(headers, COMMAND, schema))
    return made


def held_back(worker: Any, count: int = 1) -> None:
    """Wait until a worker holds back so many statements."""
    eventually(lambda: worker.worker.held_back == count or pause(), f"{count} held back")


@pytest.mark.long
def test_a_statement_in_an_unknown_schema_holds_back_only_what_is_behind_it(two: Rig) -> None:
    """Its application was promised that it is accepted: it is applied when it can be read."""
    schema, cmd = newer("Command"), two.topics.cmd("A")
    with two.client() as client:
        worker = two.endpoint(limits=PATIENT)
        before = client.begin(*ABOUT)
        made = unreadable(two, schema)
        held_back(worker)
        behind = client.begin(*ABOUT, wait=False)
        key, value, headers = frame(b"goes on")
        two.produce(two.topics.inbox("A"), key, value, under(headers, MESSAGE, newer("Message")))
        two.events(1, event=CORRUPTED, topic=two.topics.inbox("A"))  # its other inputs go on
        held_back(worker)
        end = two.committed("endpoint", cmd)
        announce(two, schema)
        held_back(worker, 0)
        for dialog in (made.conversation, before.id, behind.id):
            client.send(Conversation("A", "DatabaseA", dialog), b"x", wait=True)
    assert end == 1, "what is behind it was applied before it"
    assert not [m for m in two.records(two.topics.event) if b"cmd" in (m.value() or b"")]


def test_a_worker_that_takes_over_holds_it_back_too(two: Rig) -> None:
    unreadable(two, newer("Command"))
    first = two.endpoint(limits=PATIENT)
    held_back(first)
    first.stop()
    held_back(two.endpoint(limits=PATIENT))


def test_whose_schema_nobody_has_is_skipped_by_order(two: Rig) -> None:
    """It is told, and what is behind it goes on."""
    schema, cmd = newer("Command"), two.topics.cmd("A")
    worker = two.endpoint(limits=PATIENT)
    unreadable(two, schema)
    with two.client() as client:
        held_back(worker)
        behind = client.begin(*ABOUT, wait=False)
        end = "cmd.A/0@2"
        others = "cmd.A/0@9", "cmd.A/9@0", "in.A/0@0", "cmd.A", f"{cmd}/x@0"
        for place in ("cmd.A/0@1", end, *others):
            with pytest.raises(UsageError):
                skip_statement(two.cluster, place)
        version = skip_statement(two.cluster, "cmd.A/0@0")
        assert skip_statement(two.cluster, f"{cmd}/0@0") == version, "it is ordered already"
        client.send(behind, b"x", wait=True)
    [reported] = two.events(1, event=CORRUPTED)
    assert (reported["topic"], reported["partition"], reported["offset"]) == (cmd, 0, 0)
    unknown = f"Command: unknown fingerprint {prefix_of(schema)[2:].hex()}"
    assert reported["detail"] == f"{unknown}; skipped by 'hopline skip'"
    held_back(worker, 0)


def test_another_partition_of_the_same_worker_goes_on(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    with rig(kafka, unique, pair(tmp_path, partitions=2)) as made:
        worker = made.endpoint(limits=PATIENT)
        held = unreadable(made, newer("Command"))
        held_back(worker)
        other = 1 - partition_of(held.conversation, 2)
        free = next(k for k in iter(uuid.uuid4, None) if partition_of(k, 2) == other)
        with made.client() as client:
            client.begin(*ABOUT, conversation=free)
        held_back(worker)


def test_state_in_an_unknown_schema_stops_the_partition(two: Rig) -> None:
    schema, topic = newer("Positions"), two.topics.dialog("A")
    raw = rewritten(encode_positions(Positions()), schema)
    two.produce(topic, POSITIONS_KEY, raw, partition=0)
    failure = stopped(two)
    unknown = f"Positions: unknown fingerprint {prefix_of(schema)[2:].hex()}"
    assert failure.message == f"{topic}/0: {unknown}."
    assert "hopline apply" in failure.remedy
    announce(two, schema)
    two.endpoint(limits=PATIENT)
    with two.client() as client:
        client.begin("A", "DatabaseA", "InitiatorService", "TargetService")


@pytest.mark.parametrize(("key", "what"), [(POSITIONS_KEY, "Positions"), (A_CHUNK, "Chunk")])
def test_state_that_is_no_state_stops_the_partition(two: Rig, key: bytes, what: str) -> None:
    topic = two.topics.dialog("A")
    two.produce(topic, key, b"rubbish", partition=0)
    failure = stopped(two)
    assert failure.message.startswith(f"{topic}/0 cannot be decoded: {what}: ")


def test_apply_announces_what_this_version_writes_and_forgets_nothing(two: Rig) -> None:
    """Records under older schemas lie in topics: not even --prune removes one."""
    older = newer("Dialog")
    announce(two, older)
    deploy(two.cluster, two.topology, prune=True)
    objects = read_catalog(two.cluster).objects
    assert schema_key(older) in objects
    assert {key: json.loads(objects[key]) for key in written_schemas()} == written_schemas()
    assert not change_for(read_catalog(two.cluster), two.topology, prune=True), "it is done"


@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_no_worker_writes_what_is_not_announced(two: Rig, role: str) -> None:
    """The rig's catalog has no schemas: as after an upgrade without ``apply``."""
    process = Process(two.cluster, Plan((role,), ("A",)))
    with pytest.raises(SurroundingsError, match="does not have the schemas") as refused:
        process.run()
    assert "hopline apply" in refused.value.remedy
