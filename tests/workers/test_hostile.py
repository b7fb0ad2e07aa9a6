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


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as found:
        yield found


def inject(system: System, topic: str, records: list[Raw]) -> None:
    producer = system.cluster.producer()
    for key, value, headers in records:
        producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


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


@pytest.mark.parametrize(
    ("kind", "instance"),
    [
        ("cmd", "ServerA"),
        pytest.param("out", "ServerA", marks=pytest.mark.long),
        ("txq", "ServerB"),
        pytest.param("in", "ServerB", marks=pytest.mark.long),
        pytest.param("ack", "ServerA", marks=pytest.mark.long),
    ],
)
def test_rubbish_is_told_with_its_coordinates_and_holds_nothing_up(
    system: System, kind: str, instance: str
) -> None:
    topic = system.cluster.topics.name(kind, instance)
    records = rubbish()
    if kind == "cmd":  # an unknown schema: nobody may pass over a statement that was accepted
        records = [r for r in records if r[2] != [(n, UNKNOWN) for n, _ in r[2]]]
    inject(system, topic, records)
    flows(system)
    reported = system.events(CORRUPTED, lambda e: e["topic"] == topic, len(records))
    assert len({(e["partition"], e["offset"]) for e in reported}) == len(records)
    assert {e["instance"] for e in reported} == {instance}
    # Of a command the header is looked at before the key, and none of these has a good one.
    numbers = {11235} if kind == "cmd" else {11235, 11271}
    assert {e["error"] for e in reported} == numbers
    assert all(e["detail"] for e in reported)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "instance"), [("cmd", "ServerA"), ("txq", "ServerB"), ("presence", None)]
)
def test_a_record_that_no_client_could_inflate_stops_nobody(
    system: System, kind: str, instance: str | None
) -> None:
    """As zstd 90 MB of zeros are 3 kB; Kafka's client fails to read them, again and again."""
    topics = system.cluster.topics
    topic = topics.presence if instance is None else topics.name(kind, instance)
    reports: list[tuple[KafkaError | None, int | None]] = []
    producer = system.cluster.producer(
        compression_type="zstd", message_max_bytes=1_000_000_000, delivery_report_only_error=False
    )
    producer.produce(
        topic,
        key=b"k",
        value=bytes(90_000_000),
        on_delivery=lambda error, message: reports.append((error, message.offset())),
    )
    assert producer.flush(60) == 0
    [(error, offset)] = reports
    if error is None:  # stored as lz4, and read
        at = (topic, offset)
        [reported] = system.events(CORRUPTED, lambda e: (e["topic"], e["offset"]) == at, 1)
        assert reported["instance"] == instance
    else:
        assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    flows(system)


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
    key, route = str(uuid.uuid4()).encode(), encode_parties(parties(to_service="Nobody"))
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
@pytest.mark.parametrize("field", ["reply_to", "database"])
@pytest.mark.parametrize(
    ("length", "why"),
    [(100_000, "{} is out of bounds"), (1_000_050, r"1,000,\d+ bytes, at most 131,072")],
)
def test_a_statement_whose_refusal_is_too_large_is_told_and_passed_over(
    system: System, field: str, length: int, why: str
) -> None:
    cmd, conversation = system.cluster.topics.cmd("ServerA"), uuid.uuid4()
    said = Command(conversation, uuid.uuid4(), CommandKind.BEGIN, "DatabaseA")
    key, value, headers = command_record(said._replace(**{field: "x" * length}))
    producer = system.cluster.producer(message_max_bytes=1_045_000)
    producer.produce(cmd, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0
    flows(system)
    [reported] = system.events(CORRUPTED, lambda e: e["conversation"] == str(conversation), 1)
    assert reported["topic"] == cmd
    assert re.fullmatch(f"Command: {why.format(field)}", reported["detail"])


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "kind", "instance", "made", "event"),
    [
        ("streams.node.Forwarder.handle", "txq", "ServerB", frame, 161),
        (f"{ENDPOINT}bodies.read_command", "cmd", "ServerA", statement, 161),
        (f"{ENDPOINT}bodies.read_message", "in", "ServerB", frame, 160),
        (f"{ENDPOINT}inputs.read_ack", "ack", "ServerA", answer, 160),
    ],
)
def test_what_fails_for_no_known_reason_costs_only_itself(
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kind: str,
    instance: str,
    made: Callable[[bytes], Raw],
    event: int,
) -> None:
    """A worker that ended would read it again, and end again, with all that it works for."""
    bad, topic = str(uuid.uuid4()).encode(), system.cluster.topics.name(kind, instance)
    owner, _, method = name.rpartition(".")
    real = getattr(pkgutil.resolve_name(owner), method)

    def fail(first: Any, *rest: Any) -> Any:
        if bad == (rest[0].key if isinstance(first, Forwarder) else first):
            raise ZeroDivisionError("of course")
        return real(first, *rest)

    monkeypatch.setattr(name, fail)
    inject(system, topic, [made(bad)])
    flows(system)
    offset = next(r["offset"] for r in system.snapshot(topic) if r["key"] == bad.decode())
    [reported] = system.events(event, lambda e: (e["topic"], e["offset"]) == (topic, offset), 1)
    assert (reported["instance"], reported["partition"]) == (instance, 0)
    assert reported["error"] == Number.CORRUPTED_HEADER


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "instance"),
    [("cmd", "ServerA"), ("out", "ServerA"), ("txq", "ServerB"), ("in", "ServerB")],
)
def test_a_key_as_large_as_a_record_can_be_is_told(
    system: System, kind: str, instance: str
) -> None:
    topic = system.cluster.topics.name(kind, instance)
    producer = system.cluster.producer(message_max_bytes=1_045_000)
    headers = [
        ("sb-route", encode_parties(parties())),
        ("sb-message", encode_header(header())),
        ("sb-hop", encode_journey(journey())),
    ]
    producer.produce(topic, key=b"\xff" * 1_010_000, value=b"x", headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0
    flows(system)
    if kind in ("cmd", "in"):
        large = [r for r in system.snapshot(topic) if len(r["key"] or "") > 1_000_000]
        offset = large[0]["offset"]
        system.events(CORRUPTED, lambda e: (e["topic"], e["offset"]) == (topic, offset))
    else:  # not read, and too large to be passed on
        system.events(140, lambda e: (e["error"], e["topic"]) == (11292, topic))


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "instance"),
    [
        ("cmd", "ServerA"),
        ("out", "ServerA"),
        ("txq", "ServerB"),
        ("in", "ServerB"),
        ("ack", "ServerA"),
    ],
)
def test_a_header_whose_name_is_no_text_is_told(system: System, kind: str, instance: str) -> None:
    """Kafka takes it, and the client library has no way to say it."""
    topic = system.cluster.topics.name(kind, instance)
    headers = [(b"sb-route", encode_parties(parties())), (b"\xff\xfe", b"x")]
    key = str(uuid.uuid4()).encode()
    produce_raw(system.cluster.bootstrap, topic, key, b"x", headers)
    flows(system)
    [offset] = [r["offset"] for r in system.snapshot(topic) if r["key"] == key.decode()]
    [reported] = system.events(CORRUPTED, lambda e: (e["topic"], e["offset"]) == (topic, offset))
    assert reported["detail"] == "the name of a header is not UTF-8"


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


ODD_FRAMES = [
    pytest.param({"enqueued_at": 2**62}, {}, {}, id="enqueued in a distant future"),
    pytest.param({"enqueued_at": -(2**62)}, {}, {}, id="enqueued before time"),
    pytest.param({"dialog_expires_at": -(2**62)}, {}, {}, id="expired before time"),
    pytest.param({"dialog_expires_at": 2**63 - 1}, {}, {}, id="expires never"),
    pytest.param({"sequence": 2**61}, {}, {}, id="a sequence number out of reach"),
    pytest.param({"fragment": 7, "fragments": -1}, {}, {}, id="impossible fragments"),
    pytest.param({"flags": Flag.END}, {}, {}, id="an end that is the first message"),
    pytest.param({"type": "\x00\ud7ff" * 100}, {}, {}, id="a strange type"),
    pytest.param({}, {"attempt": 2**31 - 1, "first_hop": -7}, {}, id="a strange attempt"),
    pytest.param({}, {"hops_remaining": -5}, {}, id="no hops to spend"),
    pytest.param({}, {"path": (("x" * 2_000, -1),) * 50}, {}, id="a long path"),
    pytest.param({}, {}, {"from_broker": ""}, id="from no broker"),
    pytest.param({}, {}, {"to_broker": "", "locked": True}, id="to no broker"),
    pytest.param({}, {}, {"to_service": "é" * 3_000}, id="to a long service"),
    pytest.param({}, {}, {"contract": ""}, id="no contract"),
    pytest.param({}, {}, {"from_initiator": False}, id="a reply to nothing"),
]


@pytest.mark.long
@pytest.mark.parametrize(("in_header", "in_journey", "in_parties"), ODD_FRAMES)
def test_well_formed_nonsense_stops_nobody(
    system: System,
    in_header: dict[str, object],
    in_journey: dict[str, object],
    in_parties: dict[str, object],
) -> None:
    frame = message_record(
        uuid.uuid4(), parties(**in_parties), header(**in_header), journey(**in_journey), b"odd"
    )
    ack = ack_record(
        uuid.uuid4(),
        parties(**{"to_broker": "DatabaseA", "from_broker": "DatabaseB", **in_parties}),
        Ack(2**62, 2**62, 2**31 - 1, -9, -1, True),
        journey(**in_journey),
    )
    topics = system.cluster.topics
    for topic in (topics.out("ServerA"), topics.txq("ServerB"), topics.inbox("ServerB")):
        inject(system, topic, [frame])
    for topic in (topics.out("ServerA"), topics.txq("ServerA"), topics.ack("ServerA")):
        inject(system, topic, [ack])
    flows(system)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "instance"), [("out", "ServerA"), ("txq", "ServerB")])
def test_a_frame_that_grows_too_large_on_its_way_is_dropped_and_told(
    system: System, kind: str, instance: str
) -> None:
    """Whoever produces with larger limits than ours fills a record to the brim: 11292."""
    key, value, headers = message_record(
        uuid.uuid4(), parties(), header(), journey(), bytes(1_010_000)
    )
    producer = system.cluster.producer(message_max_bytes=1_040_000)
    topic = system.cluster.topics.name(kind, instance)
    producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0
    flows(system)
    conversation = key.decode()
    [reported] = system.events(140, lambda e: e["conversation"] == conversation)
    [offset] = [r["offset"] for r in system.snapshot(topic) if r["key"] == conversation]
    assert (reported["error"], reported["instance"]) == (11292, instance)
    assert (reported["topic"], reported["partition"], reported["offset"]) == (topic, 0, offset)


@pytest.mark.long
def test_a_frame_that_is_larger_than_any_fragment_is_refused_and_told(system: System) -> None:
    key, value, headers = message_record(
        uuid.uuid4(), parties(), header(), journey(), bytes(1_010_000)
    )
    producer = system.cluster.producer(message_max_bytes=1_040_000)
    topic = system.cluster.topics.inbox("ServerB")
    producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0
    flows(system)
    [reported] = system.events(160, lambda e: e["conversation"] == key.decode())
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
@pytest.mark.parametrize(
    "changes",
    [
        {"lifetime": 2**62},
        {"lifetime": -(2**62)},
        {"from_service": None, "to_service": None},
        {"to_service": "x" * 100_000},
        {"to_broker": "x" * 100_000},
        {"database": ""},
        {"database": "\x00/../"},
        {"contract": ""},
    ],
)
def test_statements_without_sense_are_refused_and_stop_nobody(
    system: System, changes: dict[str, object]
) -> None:
    command = Command(
        uuid.uuid4(),
        uuid.uuid4(),
        CommandKind.BEGIN,
        "DatabaseA",
        from_service="InitiatorService",
        to_service="TargetService",
    )
    begin = command._replace(**changes)  # type: ignore[arg-type]
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
