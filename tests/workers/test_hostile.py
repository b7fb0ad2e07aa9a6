"""What is inbound is untrusted: rubbish on any topic is event 161, and everything else goes on."""

from __future__ import annotations

import json
import pkgutil
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from streams.errors import Number
from streams.kafka import KafkaError, deploy, read_catalog
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.node import Forwarder, Record
from streams.protocol import Ack, Claim, Command, CommandKind, Flag
from streams.wire import encode_catalog_object, encode_presence
from streams.wire.describe import Description
from streams.wire.frame_headers import encode_header, encode_journey, encode_parties
from streams.wire.packing import pack_long
from streams.wire.records import ack_record, command_record, message_record
from tests.running import System, eventually, running
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import pause
from tests.workers.rubbish import UNKNOWN, Raw, header, journey, now, parties, rubbish

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")

CORRUPTED = 161
LARGE = r"1,000,\d+ bytes, at most 131,072"


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as found:
        yield found


def inject(system: System, topic: str, records: list[Raw], **config: Any) -> None:
    producer = system.cluster.producer(**config)
    for key, value, headers in records:
        producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


def topics_of(system: System, *kinds: str) -> dict[str, str]:
    """Return topics with their instances: forwarders and endpoints of both directions."""
    instances = {"txq": "ServerB", "in": "ServerB"}
    of = {kind: instances.get(kind, "ServerA") for kind in kinds}
    return {system.cluster.topics.name(kind, instance): instance for kind, instance in of.items()}


def corrupted(system: System, topic: str, key: str, event: int = CORRUPTED) -> dict[str, Any]:
    """Return the event about the one record with this key; it has its coordinates."""
    [offset] = [r["offset"] for r in system.snapshot(topic) if r["key"] == key]
    [found] = system.events(event, lambda e: (e["topic"], e["offset"]) == (topic, offset))
    return found


def flows(system: System) -> None:
    """Demand that a dialog gets through both ways, and that no worker has failed."""
    with system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        client.send(dialog, b"question", wait=True)
        mine = system.received(*AT_B, "TargetQueue", 1)
        while mine[-1].conversation.id != dialog.id:  # what the injected frames have left
            mine += system.received(*AT_B, "TargetQueue", 1)
        client.send(mine[-1].conversation, b"answer", wait=True)
        [answer] = system.received(*AT_A, "InitiatorQueue", 1)
        assert (answer.body, answer.conversation.id) == (b"answer", dialog.id)
        client.end(dialog, wait=True)
        [ended] = system.received(*AT_B, "TargetQueue", 1)
        client.end(ended.conversation, wait=True)
    system.check()


def test_rubbish_is_told_with_its_coordinates_and_holds_nothing_up(system: System) -> None:
    topics, written = topics_of(system, "cmd", "out", "txq", "in", "ack"), rubbish()
    cmd = system.cluster.topics.cmd("ServerA")
    # Of an unknown schema there is none in cmd: nobody may pass over an accepted statement.
    of_cmd = [r for r in written if r[2] != [(n, UNKNOWN) for n, _ in r[2]]]
    for topic in topics:
        inject(system, topic, of_cmd if topic == cmd else written)
    flows(system)
    for topic, instance in topics.items():
        count = len(of_cmd if topic == cmd else written)
        reported = system.events(CORRUPTED, lambda e, at=topic: e["topic"] == at, count)  # type: ignore[misc]
        assert len({(e["partition"], e["offset"]) for e in reported}) == count
        assert {e["instance"] for e in reported} == {instance}
        # Of a command the header is looked at before the key, and none of these has a good one.
        numbers = {11235} if topic == cmd else {11235, 11271}
        assert {e["error"] for e in reported} == numbers
        assert all(e["detail"] for e in reported)


@pytest.mark.long
def test_a_record_that_no_client_could_inflate_stops_nobody(system: System) -> None:
    """As zstd 90 MB of zeros are 3 kB; Kafka's client fails to read them, again and again."""
    topics = topics_of(system, "cmd", "txq")
    reports: list[tuple[KafkaError | None, str | None, int | None]] = []
    producer = system.cluster.producer(
        compression_type="zstd", message_max_bytes=1_000_000_000, delivery_report_only_error=False
    )
    for topic in (*topics, system.cluster.topics.presence):
        producer.produce(
            topic,
            key=b"k",
            value=bytes(90_000_000),
            on_delivery=lambda error, m: reports.append((error, m.topic(), m.offset())),
        )
        assert producer.flush(60) == 0
    assert len(reports) == 3
    flows(system)
    for error, where, offset in reports:
        if error is None:  # stored as lz4, and read
            at = (where, offset)
            [reported] = system.events(CORRUPTED, lambda e, at=at: (e["topic"], e["offset"]) == at)  # type: ignore[misc]
            assert reported["instance"] == topics.get(where or "")
        else:
            assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE


@pytest.mark.long
def test_what_a_forwarder_need_not_read_is_told_by_the_endpoint(system: System) -> None:
    """A forwarder passes sb-message on as it is, and a key where every dialog goes one way."""
    route, hop = encode_parties(parties()), encode_journey(journey())
    inbox = system.cluster.topics.inbox("ServerB")
    before = {r["offset"] for r in system.snapshot(inbox)}
    bad = [("sb-route", route), ("sb-message", b"\xc3\x01rubbish"), ("sb-hop", hop)]
    good = [("sb-route", route), ("sb-message", encode_header(header())), ("sb-hop", hop)]
    inject(
        system,
        system.cluster.topics.out("ServerA"),
        [(str(uuid.uuid4()).encode(), b"x", bad), (b"\xff", b"x", good)],
    )
    reported = system.events(
        CORRUPTED, lambda e: e["topic"] == inbox and e["offset"] not in before, 2
    )
    assert {e["instance"] for e in reported} == {"ServerB"}
    flows(system)


@pytest.mark.long
def test_a_copy_that_fits_into_no_event_is_told_and_passed_over(system: System) -> None:
    """A fragment number of 41 bits, and no route: telling that would fail, at every restart."""
    topic = system.cluster.topics.txq("ServerB")
    key, route = (
        str(uuid.uuid4()).encode(),
        encode_parties(parties(to_service="Nobody", to_broker=None)),
    )
    whole, few = encode_header(header(fragment=1, fragments=3)), pack_long(1) + pack_long(3)
    assert whole.count(few) == 1
    bad = whole.replace(few, pack_long(2**40) + pack_long(2**41))
    hop = encode_journey(journey())
    inject(
        system, topic, [(key, b"x", [("sb-route", route), ("sb-message", bad), ("sb-hop", hop)])]
    )
    flows(system)
    [reported] = system.events(CORRUPTED, lambda e: "fragment is out" in e["detail"], 1)
    assert (reported["topic"], reported["instance"]) == (topic, "ServerB")


@pytest.mark.long
def test_a_statement_whose_refusal_is_too_large_is_told_and_passed_over(system: System) -> None:
    cmd, wanted = system.cluster.topics.cmd("ServerA"), dict[str, str]()
    for length, why in ((100_000, "{} is out of bounds"), (1_000_050, LARGE)):
        for field in ("reply_to", "database"):
            said = Command(uuid.uuid4(), uuid.uuid4(), CommandKind.BEGIN, "DatabaseA")
            wanted[str(said.conversation)] = f"Command: {why.format(field)}"
            record = command_record(said._replace(**{field: "x" * length}))
            inject(system, cmd, [record], message_max_bytes=1_045_000)
    flows(system)
    found = system.events(CORRUPTED, lambda e: e["conversation"] in wanted, len(wanted))
    assert {e["conversation"] for e in found} == wanted.keys()
    for reported in found:
        assert reported["topic"] == cmd
        assert re.fullmatch(wanted[reported["conversation"]], reported["detail"])


def frame(key: bytes) -> Raw:
    """Return a message frame with this key, which a forwarder cannot send by its fast path."""
    said = parties(to_service="NobodyElse"), header(), journey()
    return message_record(uuid.UUID(key.decode()), *said, b"x")


def statement(key: bytes) -> Raw:
    """Return a statement that asks for its result."""
    conversation = uuid.UUID(key.decode())
    kind = CommandKind.END
    return command_record(Command(conversation, uuid.uuid4(), kind, "DatabaseA", reply_to="me"))


def answer(key: bytes) -> Raw:
    """Return an acknowledgement with this key."""
    to = parties(to_broker="DatabaseA", from_broker="DatabaseB", from_initiator=False)
    return ack_record(uuid.UUID(key.decode()), to, Ack(0, -1, 0, 0, 0), journey())


ENDPOINT = "streams.workers.endpoint."


FAILS: list[tuple[str, str, Callable[[bytes], Raw], int]] = [
    ("streams.node.Forwarder.handle", "txq", frame, CORRUPTED),
    (f"{ENDPOINT}bodies.read_command", "cmd", statement, CORRUPTED),
    (f"{ENDPOINT}bodies.read_message", "in", frame, 160),
    (f"{ENDPOINT}inputs.read_ack", "ack", answer, 160),
]


@pytest.mark.long
def test_what_fails_for_no_known_reason_costs_only_itself(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that ended would read it again, and end again, with all that it works for."""
    bad = {name: str(uuid.uuid4()).encode() for name, *_ in FAILS}

    def failing(real: Callable[..., Any], key: bytes) -> Callable[..., Any]:
        def fail(first: Any, *rest: Any) -> Any:
            if key == (rest[0].key if isinstance(first, Forwarder) else first):
                raise ZeroDivisionError("of course")
            return real(first, *rest)

        return fail

    for name, kind, made, _ in FAILS:
        monkeypatch.setattr(name, failing(pkgutil.resolve_name(name), bad[name]))
        [topic] = topics_of(system, kind)
        inject(system, topic, [made(bad[name])])
    flows(system)
    for name, kind, _, event in FAILS:
        [(topic, instance)] = topics_of(system, kind).items()
        reported = corrupted(system, topic, bad[name].decode(), event)
        assert (reported["instance"], reported["partition"]) == (instance, 0)
        assert reported["error"] == Number.CORRUPTED_HEADER


@pytest.mark.long
def test_a_key_as_large_as_a_record_can_be_is_told(system: System) -> None:
    topics = topics_of(system, "cmd", "out", "txq", "in")
    headers = [
        ("sb-route", encode_parties(parties())),
        ("sb-message", encode_header(header())),
        ("sb-hop", encode_journey(journey())),
    ]
    for topic in topics:
        inject(system, topic, [(b"\xff" * 1_010_000, b"x", headers)], message_max_bytes=1_045_000)
    flows(system)
    not_read = topics_of(system, "out", "txq")  # and too large to be passed on
    for topic in not_read:
        system.events(140, lambda e, at=topic: (e["error"], e["topic"]) == (11292, at))  # type: ignore[misc]
    for topic in topics.keys() - not_read:
        large = [r for r in system.snapshot(topic) if len(r["key"] or "") > 1_000_000]
        at = (topic, large[0]["offset"])
        system.events(CORRUPTED, lambda e, at=at: (e["topic"], e["offset"]) == at)  # type: ignore[misc]


@pytest.mark.long
def test_a_header_whose_name_is_no_text_is_told(system: System) -> None:
    """Kafka takes it, and the client library has no way to say it."""
    headers = [(b"sb-route", encode_parties(parties())), (b"\xff\xfe", b"x")]
    topics, key = topics_of(system, "cmd", "out", "txq", "in", "ack"), str(uuid.uuid4())
    for topic in topics:
        produce_raw(system.cluster.bootstrap, topic, key.encode(), b"x", headers)
    flows(system)
    for topic in topics:
        assert corrupted(system, topic, key)["detail"] == "the name of a header is not UTF-8"


@pytest.mark.long
def test_held_copies_with_rubbish_for_a_key_are_told_before_they_are_held(
    kafka: str, unique: str
) -> None:
    with holding(kafka, unique) as chain:
        good, later = (str(uuid.uuid4()).encode() for _ in range(2))
        eventually(lambda: hold(chain, good) or outcomes(chain, 140, 11290), "a copy held too long")
        hold(chain, b"\xff")
        hold(chain, later)
        eventually(lambda: outcomes(chain, CORRUPTED, 11271), "the key to be told")

        def went_on() -> bool:
            """Tell whether the one behind was held for too long, or was too old to be held."""
            copies = (*outcomes(chain, 140, 11290), *outcomes(chain, 140, 11291))
            return later.decode() in {copy["conversation"] for copy in copies}

        eventually(went_on, "the forwarder to go on")
        chain.check()


@pytest.mark.long
def test_a_held_copy_that_fails_costs_only_itself(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, bad, good = Forwarder.release, *(str(uuid.uuid4()).encode() for _ in range(2))

    def fail(forwarder: Forwarder, record: Record, now: int) -> Any:
        if record.key == bad:
            raise ZeroDivisionError("of course")
        return release(forwarder, record, now)

    monkeypatch.setattr(Forwarder, "release", fail)
    with holding(kafka, unique) as chain:

        def both() -> list[Description]:
            hold(chain, bad)
            hold(chain, good)
            return outcomes(chain, CORRUPTED, 11235) and outcomes(chain, 140, 11290)

        dropped = eventually(both, "one is told, and the other held too long")
        assert {copy["conversation"] for copy in dropped} == {good.decode()}
        [told, *_] = outcomes(chain, CORRUPTED, 11235)
        assert (told["topic"], told["instance"]) == (chain.cluster.topics.txq("SQL2"), "SQL2")
        assert told["detail"] == "it cannot be processed: ZeroDivisionError"


@contextmanager
def holding(kafka: str, prefix: str) -> Iterator[System]:
    """Run a forwarder whose next hop sends no heartbeat."""
    with running(kafka, prefix, "forwarding_chain", start=False) as chain:
        chain.start("SQL2", roles=("forwarder",))
        yield chain


def hold(chain: System, key: bytes) -> None:
    """Write a frame with this key that the forwarder buffers for a second."""
    there = parties(to_service="//sqltalk/rcvTweetService", to_broker=None)
    headers = [
        ("sb-route", encode_parties(there)),
        ("sb-message", encode_header(header())),
        ("sb-hop", encode_journey(journey(expires_at=now() + 1_000))),
    ]
    inject(chain, chain.cluster.topics.txq("SQL2"), [(key, b"x", headers)])


def outcomes(chain: System, number: int, error: int) -> list[Description]:
    """Return the events with these numbers; raise the failure of a worker that has failed."""
    chain.check()
    events = (r.get("event", {}) for r in chain.snapshot(chain.cluster.topics.event))
    return [e for e in events if (e.get("event"), e.get("error")) == (number, error)]


def test_keys_that_balance_nothing_are_told_by_the_forwarder(kafka: str, unique: str) -> None:
    """Where the dialog's id chooses among broker ids, a key that is none cannot be routed."""
    with running(kafka, unique, "load_balanced") as balanced:
        headers = [
            ("sb-route", encode_parties(parties(to_broker=None))),
            ("sb-message", encode_header(header())),
            ("sb-hop", encode_journey(journey())),
        ]
        out = balanced.cluster.topics.out("ServerA")
        inject(balanced, out, [(b"\xff", b"x", headers), (None, b"x", headers)])
        reported = balanced.events(CORRUPTED, lambda e: e["topic"] == out, 2)
        assert [e["offset"] for e in reported] == [0, 1]
        balanced.check()


ODD_FRAMES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"enqueued_at": 2**62}, {}, {}),
    ({"enqueued_at": -(2**62)}, {}, {}),
    ({"dialog_expires_at": -(2**62)}, {}, {}),
    ({"dialog_expires_at": 2**63 - 1}, {}, {}),
    ({"sequence": 2**61}, {}, {}),
    ({"fragment": 7, "fragments": -1}, {}, {}),
    ({"flags": Flag.END}, {}, {}),
    ({"type": "\x00\ud7ff" * 100}, {}, {}),
    ({}, {"attempt": 2**31 - 1, "first_hop": -7}, {}),
    ({}, {"hops_remaining": -5}, {}),
    ({}, {"path": (("x" * 2_000, -1),) * 50}, {}),
    ({}, {}, {"from_broker": ""}),
    ({}, {}, {"to_broker": "", "locked": True}),
    ({}, {}, {"to_service": "é" * 3_000}),
    ({}, {}, {"contract": ""}),
    ({}, {}, {"from_initiator": False}),
]


@pytest.mark.long
def test_well_formed_nonsense_stops_nobody(system: System) -> None:
    topics = system.cluster.topics
    for in_header, in_journey, in_parties in ODD_FRAMES:
        hop = journey(**in_journey)
        frame = message_record(
            uuid.uuid4(), parties(**in_parties), header(**in_header), hop, b"odd"
        )
        to = {"to_broker": "DatabaseA", "from_broker": "DatabaseB", **in_parties}
        odd = Ack(2**62, 2**62, 2**31 - 1, -9, -1, True)
        ack = ack_record(uuid.uuid4(), parties(**to), odd, hop)
        for topic in (topics.out("ServerA"), topics.txq("ServerB"), topics.inbox("ServerB")):
            inject(system, topic, [frame])
        for topic in (topics.out("ServerA"), topics.txq("ServerA"), topics.ack("ServerA")):
            inject(system, topic, [ack])
    flows(system)


@pytest.mark.long
def test_a_frame_that_grows_too_large_on_its_way_is_dropped_and_told(system: System) -> None:
    """Whoever produces with larger limits than ours fills a record to the brim: 11292."""
    topics, key = topics_of(system, "out", "txq"), dict[str, str]()
    for topic in topics:
        record = message_record(uuid.uuid4(), parties(), header(), journey(), bytes(1_010_000))
        inject(system, topic, [record], message_max_bytes=1_040_000)
        key[topic] = record[0].decode()
    flows(system)
    for topic, instance in topics.items():
        reported = corrupted(system, topic, key[topic], event=140)
        assert (reported["error"], reported["instance"]) == (11292, instance)
        assert (reported["conversation"], reported["partition"]) == (key[topic], 0)


@pytest.mark.long
def test_a_frame_that_is_larger_than_any_fragment_is_refused_and_told(system: System) -> None:
    record = message_record(uuid.uuid4(), parties(), header(), journey(), bytes(1_010_000))
    topic = system.cluster.topics.inbox("ServerB")
    inject(system, topic, [record], message_max_bytes=1_040_000)
    flows(system)
    [reported] = system.events(160, lambda e: e["conversation"] == record[0].decode())
    assert reported["error"] == Number.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("enqueued_at", [2**62, 1, -(2**62)])
def test_a_message_from_another_time_is_delivered_now(system: System, enqueued_at: int) -> None:
    """Kafka refuses a record from the future: its time is clamped, not the message refused."""
    conversation = uuid.uuid4()
    frame = message_record(
        conversation, parties(), header(enqueued_at=enqueued_at), journey(), b"when?"
    )
    inject(system, system.cluster.topics.inbox("ServerB"), [frame])
    queue = system.cluster.topics.queue(*AT_B, "TargetQueue")
    [queued] = system.records(queue, lambda r: r["conversation"] == str(conversation))
    assert queued["message"]["enqueued_at"] == enqueued_at
    assert 0 < queued["timestamp"] <= now()


@pytest.mark.long
def test_statements_without_sense_are_refused_and_stop_nobody(system: System) -> None:
    changes: list[dict[str, Any]] = [
        {"lifetime": 2**62},
        {"lifetime": -(2**62)},
        {"from_service": None, "to_service": None},
        {"to_service": "x" * 100_000},
        {"to_broker": "x" * 100_000},
        {"database": ""},
        {"database": "\x00/../"},
        {"contract": ""},
    ]
    for change in changes:
        command = Command(
            uuid.uuid4(),
            uuid.uuid4(),
            CommandKind.BEGIN,
            "DatabaseA",
            from_service="InitiatorService",
            to_service="TargetService",
        )
        begin = command._replace(**change)
        send = begin._replace(command_id=uuid.uuid4(), kind=CommandKind.SEND, body=b"x")
        end = begin._replace(command_id=uuid.uuid4(), kind=CommandKind.END, error_code=-(2**31))
        topic = system.cluster.topics.cmd("ServerA")
        inject(system, topic, [command_record(c) for c in (begin, send, end)])
    flows(system)


@pytest.mark.long
def test_rubbish_in_the_catalog_leaves_the_last_good_version_in_place(system: System) -> None:
    topics = system.cluster.topics
    inject(
        system,
        topics.catalog,
        [
            (b"\xff", b"rubbish", []),
            (b"version", b"rubbish", []),
            (b"version", encode_catalog_object(7, "{"), []),
            (b"version", encode_catalog_object(7, "[]"), []),
            (b"version", encode_catalog_object(7, '{"hash": "another"}'), []),
        ],
    )
    inject(
        system,
        topics.presence,
        [(b"ServerB", b"rubbish", []), (b"ServerB", encode_presence("", "", -1, -1), [])],
    )
    flows(system)
    changed = replace(system.topology.instances["ServerA"], aliases=("changed",))
    instances = {**system.topology.instances, "ServerA": changed}
    deploy(system.cluster, replace(system.topology, instances=instances))
    flows(system)


@pytest.mark.long
def test_hostile_heartbeats_and_announcements_end_nothing(kafka: str, unique: str) -> None:
    """Each announced schema makes all heartbeats of the cluster longer, after a restart as well."""
    with running(kafka, unique, "two_brokers") as hit:
        topics, claim = hit.cluster.topics, Claim("", True, 0)
        names = ("ServerA", "ServerB", "ServerA/endpoint/0", "x" * 1_000, "x" * 16_000)
        beats = [
            (name.encode(), encode_presence(name, "x" * long, 7, now(), [claim] * claims, 60.0), [])
            for name in names
            for claims in (0, 10, 310_000)
            for long in (1, 16_000)
        ]
        odd = [(b"ServerB", value, []) for value in (None, b"", b"\xc3\x01", bytes(900_000))]
        headers = [("sb-schemas", bytes(900_000)), ("sb-ingress", b"[" * 50_000)]
        inject(hit, topics.presence, [*beats, *odd, (b"ServerB", beats[0][1], headers)])
        flows(hit)
        body = '{"namespace": "hopline.envelope"}'
        forged = {f"//schema/Forged.{number:016x}": body for number in range(130_000)}
        state = read_catalog(hit.cluster)
        number = state.version + 1
        closing = {"number": number, "hash": hash_of({**state.objects, **forged})}
        records: list[Raw] = [
            (key.encode(), encode_catalog_object(number, text), []) for key, text in forged.items()
        ]
        version = encode_catalog_object(number, json.dumps(closing))
        inject(hit, topics.catalog, [*records, (VERSION_KEY.encode(), version, [])])

        def is_used() -> bool:
            hit.check()
            return {worker.process.catalog_version for worker in hit.workers} == {number} or pause()

        eventually(is_used, "all processes use the version")
        flows(hit)
        for worker in list(hit.workers):
            hit.workers.remove(worker)
            worker.stop()
        hit.start()
        flows(hit)
