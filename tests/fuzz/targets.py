"""What is fuzzed: every reader of files and every decoder, each with real inputs to begin with.

``attempt`` returns where an input was read, or refused as documented; anything that it raises is a
fault. So is what an answer cannot be printed as, and what a worker could not do with it next.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from streams.agents.note import Note
from streams.analysis.diagnose import diagnose, diagnoses_text
from streams.capture import CaptureReader, CaptureWriter, Kind, Metadata, Record, TimestampType
from streams.capture.foreign.log import LogColumns
from streams.capture.foreign.sources import Source as Foreign
from streams.capture.job import standing_of
from streams.capture.look import look, raw
from streams.capture.mask import rule_of
from streams.capture.restate import Restatement
from streams.capture.survey import survey
from streams.capture.where import condition_of
from streams.cli import main
from streams.cli.record_text import what
from streams.dashboard.address import Address
from streams.errors import HoplineError, InputError
from streams.kafka.catalog import VERSION_KEY, CatalogState, hash_of
from streams.live.folder import UpFolder
from streams.node import world_of
from streams.node.configuration import parse_missing_route
from streams.protocol import Command, CommandKind
from streams.resources import topologies_dir
from streams.routing import parse_address
from streams.schema import load as schema
from streams.services.classifiers import to_service_name
from streams.services.data_dependent import read_error
from streams.services.finders import find_by_jmespath, find_by_xpath, find_in_avro
from streams.settings import read_settings
from streams.topology import Topology, flatten
from streams.topology.snapshot import load_snapshot
from streams.topology.yaml_file.directory import load_offers
from streams.topology.yaml_file.suppressions import load_suppressions
from streams.wire import MalformedError, Topics
from streams.wire.codecs import (
    claims_in,
    decode_ack_value,
    decode_catalog_object,
    decode_event,
    decode_header,
    decode_journey,
    decode_parties,
    decode_presence,
    encode_ack,
    encode_catalog_object,
    encode_event,
    encode_header,
    encode_journey,
    encode_parties,
    period_in,
)
from streams.wire.describe import RawRecord, describe
from streams.wire.evolution import read_announcement, unannounced
from streams.wire.heartbeats import HeartbeatReader
from streams.wire.hop import Hop, first_copy, instant, visit
from streams.wire.metric import decode_metric
from streams.wire.place import place_of
from streams.wire.reading import decode_reading
from streams.wire.records import (
    command_record,
    conversation_of,
    priority_of,
    queue_record,
    read_ack,
    read_command,
    read_message,
    read_queued,
)
from streams.wire.shift import shifted
from streams.wire.single_object import Codec
from streams.wire.spans import spans_in
from streams.wire.state import (
    StateKey,
    decode_chunk,
    decode_dialog,
    decode_key,
    decode_positions,
    decode_request,
    decode_seen,
    encode_dialog,
    unpack_dialog,
)
from streams.wire.statements import decode_cause, decode_command, decode_result, encode_command
from tests.capture.foreign import test_damage
from tests.capture.foreign.reading import imported
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.properties import check_script
from tests.fuzz.yaml_files import try_scenario, try_topology
from tests.snapshots import NOW, csv_text, documents, endpoint, message, part
from tests.topology.build import shipped
from tests.wire.test_compatibility import examples

ROOT = Path(__file__).parents[2]
ID = uuid.UUID("6f1c2e6a-0c1d-4e5f-8a9b-0123456789ab")
TOPICS = Topics()
Attempt = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: ``seeds`` returns what it reads in earnest."""

    seeds: Callable[[], Sequence[bytes]]
    attempt: Attempt


# --- records: single values ----------------------------------------------------------------------


def _values(name: str) -> Callable[[], Sequence[bytes]]:
    """Return what returns a record of a schema, as it is written today and as it was before."""
    folder = ROOT / "tests" / "wire" / "fixtures"
    return lambda: [examples()[name], *(f.read_bytes() for f in folder.glob(f"{name}.*.bin"))]


def _malformed(read: Attempt) -> Attempt:
    def attempt(data: bytes) -> None:
        try:
            read(data)
        except MalformedError as error:
            assert str(error)

    return attempt


def _header(data: bytes) -> None:
    """Whatever is read can be written again, as a forwarder and an endpoint worker do."""
    encode_header(decode_header(data)._replace(sequence=1))


def _hop(data: bytes) -> None:
    hop, block = Hop(data), visit("ServerA", 1)
    first_copy(data, instant(0), block, begun=True, spend=True)
    if hop.hops_remaining > 0 and not hop.expired(0):
        decode_journey(hop.edited("ServerA", 1, block, spend=True))
    encode_journey(decode_journey(data))


def _ack(data: bytes) -> None:
    found = decode_ack_value(data, ID)
    if type(found).__name__ == "Ack":
        encode_ack(found)  # type: ignore[arg-type]


def _command(data: bytes) -> None:
    found = decode_command(data, ID, b"body", 1)
    encode_command(found)
    json.dumps(found._asdict(), default=str).encode("utf-8", "surrogatepass")


_READER = HeartbeatReader()


def _presence(data: bytes) -> None:
    found = decode_presence(data)
    claims_in(found), period_in(found)
    assert _READER.read(data[-1:], data).instance == found["instance"]


def _dialog(data: bytes) -> None:
    """What is read twice is the same, and can be written."""
    found = decode_dialog(data, ID)
    assert unpack_dialog(data, ID, {}) == found
    encode_dialog(found)


def _reading(data: bytes) -> None:
    assert decode_reading(data).when


def _catalog_object(data: bytes) -> None:
    version, body = decode_catalog_object(data)
    encode_catalog_object(version, body)


def _small_texts(data: bytes) -> None:
    """Names of topics, addresses, spans, notes: texts without a form of their own."""
    text = data.decode("utf-8", "replace")
    place_of(text, TOPICS), parse_address(text), spans_in(text), Note.decode(text)
    read_announcement(data), priority_of([("sb-priority", data)])
    try:
        standing_of(1, text, "plan", "job")
    except HoplineError as error:
        assert str(error).encode()
    for read in (decode_key, conversation_of, StateKey.decode):
        try:
            read(data)
        except MalformedError:
            continue


def _texts() -> list[bytes]:
    note = json.dumps({"plan": "plan", "refused": 1, "began": 2})
    known = [
        "ssb.cmd.A",
        "ssb.queue.A.B.C%20D",
        "tcp://ServerB:4022",
        "1-3 7",
        f"{ID} r2",
        note,
        str(ID),
    ]
    keys = [f"D/{ID}/initiator/3", "positions", f"seen/app/agent/{ID}/1", "D/request/S"]
    return [text.encode() for text in (*known, *keys)]


# --- records: all of one, on every topic ---------------------------------------------------------

_KINDS = (
    "cmd.A", "out.A", "txq.A", "in.A", "ack.A", "queue.A.B.C", "event", "result.A", "dialog.A",
    "presence", "catalog", "metric", "reading.A", "nothing",
)  # fmt: skip


def _records() -> list[bytes]:
    """Return records of all topics: topic, key, value, then names and values of headers."""
    made, key = examples(), str(ID).encode()
    frame = [("sb-route", made["Route"]), ("sb-message", made["Message"]), ("sb-hop", made["Hop"])]
    group, parties, header, journey = (
        uuid.UUID(int=5), decode_parties(made["Route"]), decode_header(made["Message"]),
        decode_journey(made["Hop"]),
    )  # fmt: skip
    queued = queue_record(group, ID, parties, header, journey, b"<a/>")
    command = command_record(Command(ID, group, CommandKind.BEGIN, "D", to_service="T", body=b"x"))
    ack = [("sb-route", made["Route"]), ("sb-hop", made["Hop"])]
    about = StateKey("D", ID, True)
    found: list[tuple[str, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]] = [
        ("cmd.A", *command),
        ("cmd.A", key, b"x", [("sb-command", made["Command"]), ("sb-cause", made["Cause"])]),
        *((topic, key, b"<a/>", frame) for topic in ("out.A", "txq.A", "in.A")),
        ("ack.A", key, made["Ack"], ack),
        ("txq.A", key, made["Ack"], ack),
        ("ack.A", key, made["Status"], []),
        ("queue.A.B.C", *queued),
        ("event", key, made["Event"], []),
        ("result.A", key, made["Result"], []),
        ("dialog.A", about.encode(), made["Dialog"], []),
        ("dialog.A", about._replace(chunk=3).encode(), made["Chunk"], []),
        ("dialog.A", b"positions", made["Positions"], []),
        ("presence", b"I", made["Presence"], [("sb-schemas", made["Presence"][2:10])]),
        ("catalog", b"A//instance/A", made["CatalogObject"], []),
        ("metric", b"k", made["Metric"], []),
        ("reading.A", b"t/1/readers", made["Reading"], []),
    ]
    return [
        joined([topic.encode(), key or b"", value or b"", *(
            raw or b"" for name, one in headers for raw in (name.encode(), one)
        )])
        for topic, key, value, headers in found
    ]  # fmt: skip


def _parsed(data: bytes) -> tuple[str, bytes | None, bytes | None, list[tuple[str, bytes | None]]]:
    topic, key, value, *rest = (*parts_of(data), b"", b"", b"")
    names, values = rest[:-3:2], rest[1:-3:2]
    headers = [
        (n.decode("utf-8", "replace"), v or None) for n, v in zip(names, values, strict=False)
    ]
    name = topic.decode("utf-8", "replace")
    return f"ssb.{name}", key or None, value or None, headers


def _record(data: bytes) -> None:
    """Read a record as everything does that reads topics, and print it."""
    topic, key, value, headers = _parsed(data)
    reads: tuple[Callable[[], object], ...] = (
        lambda: read_command(key, value, headers, 1),
        lambda: read_message(key, value, headers, 1),
        lambda: read_queued(value, headers),
        lambda: read_ack(key, value, headers),
    )
    for read in reads:
        try:
            read()
        except MalformedError:
            continue
    shifted(headers, 2**40)
    unannounced(headers, value, read_announcement(b"12345678"))
    for kind in (topic, *(f"ssb.{kind}" for kind in _KINDS)):
        found = describe(RawRecord(kind, 0, 1, 2, key, value, tuple(headers)), TOPICS)
        json.dumps(found, ensure_ascii=False).encode()
        assert what(found).encode()
        kept = Record(kind, 0, 1, 2, TimestampType.CREATE_TIME, key, tuple(headers), value)
        seen = look(kept, TOPICS)
        assert json.dumps([*seen, seen.time])
        Restatement("job", new=True).apply(kept, 1, 1)


# --- the catalog ---------------------------------------------------------------------------------


class _Message:
    def __init__(self, key: str, value: bytes | None) -> None:
        self._key, self._value = key.encode("utf-8", "surrogatepass"), value

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes | None:
        return self._value


def _catalogs() -> list[bytes]:
    return [
        json.dumps(flatten(shipped(n))).encode() for n in ("local", "combined", "mirrored", "hub")
    ]


def _catalog(data: bytes) -> None:
    """Publish objects under a hash that fits: workers use them, or keep the version before."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(found, dict):
        return
    state = CatalogState()
    bodies = {key: json.dumps(value) for key, value in found.items()}
    for key, body in bodies.items():
        state.read(_Message(key, _object(body)))  # type: ignore[arg-type]
    body = json.dumps({"number": 7, "hash": _hash(state), "objects": len(state.objects)})
    if state.read(_Message(VERSION_KEY, _object(body))):  # type: ignore[arg-type]
        assert state.topology is not None
        try:
            world = world_of(state.topology, 7)
        except Exception:  # as the worker's control does: it keeps the version before
            return
        _use(world)


def _object(body: str) -> bytes | None:
    try:
        return encode_catalog_object(7, body)
    except (ValueError, UnicodeEncodeError):
        return b"none"


def _hash(state: CatalogState) -> str:
    try:
        return hash_of(state.objects)
    except UnicodeEncodeError:
        return ""


def _use(world: Any) -> None:
    """Ask a world what workers ask of it, for every service that it has."""
    for instance in world.instances.values():
        TOPICS.txq(instance.name).encode()
    for (instance, database, service), found in list(world.services.items())[:20]:
        world.priority(instance, database, "DEFAULT", service, "S")
        TOPICS.queue(instance, database, found.queue).encode()
        assert found.partitions > 0


def _announced(data: bytes) -> None:
    """Read a record under a schema that somebody announces: schema, then bytes without a prefix."""
    text, *bodies = parts_of(data) or [data]
    codec = Codec("Presence")
    try:
        prefix = codec.announce(json.loads(text))
    except (MalformedError, ValueError, RecursionError):
        return
    for body in (*bodies, b"\x02" * 100_000, b"\x00" * 1_000):
        try:
            codec.decode(prefix + body)
        except MalformedError:
            continue


def _announcements() -> list[bytes]:
    body = examples()["Presence"][10:]
    newer = schema("Presence") | {"fields": [
        *schema("Presence")["fields"],
        {"name": "map", "type": {"type": "map", "values": "long"}, "default": {}},
        {"name": "deep", "type": {"type": "record", "name": "A", "fields": [
            {"name": "b", "type": ["null", {"type": "array", "items": "double"}]}]}},
    ]}  # fmt: skip
    texts = [json.dumps(one).encode() for one in (schema("Presence"), newer, schema("Dialog"))]
    return [joined([text, body, body + b"\x00" * 4]) for text in texts]


# --- files ---------------------------------------------------------------------------------------


@cache
def _folder() -> Path:
    """Return a folder for files, of this process."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-")
    _KEPT.append(made)
    return Path(made.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _documented(read: Attempt) -> Attempt:
    """Return what takes an error of ours, which can be printed, for an answer."""

    def attempt(data: bytes) -> None:
        try:
            read(data)
        except HoplineError as error:
            assert error.message and str(error).encode()

    return attempt


def _globbed(*patterns: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        return [path.read_bytes() for path in found if path.is_file()][:400]

    return seeds


@cache
def _combined() -> Topology:
    return shipped("combined")


def _settings(data: bytes) -> None:
    read_settings(data.decode("utf-8", "replace"), "hopline.toml")


def _toml_seeds() -> list[bytes]:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    found = [block.split("```")[0].encode() for block in text.split("```toml\n")[1:]]
    assert len(found) > 1
    return [*found, b"".join(found)]


def _yaml_seeds() -> list[bytes]:
    grown = json.loads((Path(__file__).parent / "yaml_corpus.json").read_text("utf-8"))
    return [*_globbed("topologies/*/*.yaml", "topologies/*/scenarios/*.yaml")(), *(
        text.encode("utf-8", "surrogatepass") for text in grown[:300]
    )]  # fmt: skip


def _around(data: bytes) -> None:
    """Read suppressions and a directory."""
    for read in (load_suppressions, load_offers):
        try:
            read(_file("some.yaml", data))
        except InputError as error:
            assert str(error).encode()


def _around_seeds() -> list[bytes]:
    rows = "- {code: TA-12, subject: 'A/*', reason: known, until: 2031-01-31}\n- {code: X}\n"
    return [rows.encode(), (ROOT / "topologies/dynamic_routing/directory.yaml").read_bytes()]


def _snapshot(name: str) -> Attempt:
    def read(data: bytes) -> None:
        path = _file(f"{name}-{'snapshot'}/{name}", data)
        found = diagnose(load_snapshot(path.parent), NOW)
        diagnoses_text(found).encode()
        json.dumps(found.to_json(), ensure_ascii=False).encode()

    return _documented(read)


@cache
def _document() -> dict[str, Any]:
    found = documents(shipped("two_brokers"))["ServerA"]
    inside = part(found, "DatabaseA")
    inside["transmission_queue"] = [message("d", "TargetService", "x")]
    inside["conversation_endpoints"] = [endpoint("d")]
    return found


def _csvs(view: str) -> Callable[[], list[bytes]]:
    rows = [message("d", "TargetService", "x"), message("e", "Nobody", "y")]
    ends = [endpoint("d"), endpoint("e", "DI")]
    made = {"transmission_queue": rows, "conversation_endpoints": ends}[view]
    named = [{"database_name": "DatabaseA", **row} for row in made]
    return lambda: [csv_text(view, named, d).encode("utf-8-sig") for d in ",;\t"]


def _captures() -> list[bytes]:
    """Return captures of one record of every kind, in each of the codecs."""
    from streams.capture import codec as packing

    rows = []
    for n, data in enumerate(_records()):
        topic, key, value, headers = _parsed(data)
        at = 1_767_600_000_000 + n
        rows.append(Record(topic, 0, n, at, TimestampType.CREATE_TIME, key, tuple(headers), value))
    found = []
    for codec in packing.Codec:
        path = _folder() / f"made-{codec.value}.avro"
        with CaptureWriter(path, Metadata(Kind.CAPTURED, "ssb.", "x", 1), codec=codec) as writer:
            for row in rows:
                writer.write(row)
        found.append(path.read_bytes())
    return found


def _capture(data: bytes) -> None:
    """Read a capture as `inspect` does, with its damage and without."""
    path = _file("capture.avro", data)
    for salvage in (False, True):
        try:
            reader = CaptureReader(path, salvage=salvage)
            topics = Topics(reader.metadata.prefix)
            found = []
            for row in reader:
                found.append(look(row, topics))
                json.dumps(describe(raw(row), topics), ensure_ascii=False).encode(
                    "utf-8", "replace"
                )
            survey(found)
            json.dumps(reader.losses, default=str), reader.lost
        except HoplineError as error:
            assert str(error).encode()


def _manifest_seeds() -> list[bytes]:
    counts = {"records": 1, "first": 1, "last": 2}
    part = {"file": "part.avro", "counts": counts, "size": 5, "sha256": "0" * 64}
    plain = {
        "hopline.capture": 1, "kind": "captured", "prefix": "ssb.", "topology": "x", "created": 1,
        "schemas": [], "complete": True, "parts": [part], "positions": {"t": {"0": 5}},
        "gaps": [{"topic": "t", "partition": 0, "begin": 1, "end": 2}],
        "recording": {"asked": {}, "topics": {"t": str(ID)}},
    }  # fmt: skip
    return [json.dumps(plain).encode()]


def _manifest(data: bytes) -> None:
    from streams.capture.manifest import MANIFEST

    folder = _file(f"folder/{MANIFEST}", data).parent
    for one in CaptureReader(folder, salvage=True):
        look(one, TOPICS)


def _up_folder(data: bytes) -> None:
    """What a running system has noted in its folder; what cannot be read says nothing."""
    folder = UpFolder(_folder() / "up")
    for path in (folder.system_file, folder.workers_file, folder.kafka / "broker.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    from streams.embedded.state import DataDir

    folder.system(), folder.workers(), DataDir(folder.kafka).recorded()


def _up_seeds() -> list[bytes]:
    system = {
        "keeper": 1, "bootstrap": "b", "prefix": "ssb.", "topology": "t", "instances": ["A"],
        "embedded": True, "started": 1.0, "folder": "", "agents": {"a": "b"},
    }  # fmt: skip
    workers = {"workers": [{"role": "endpoint", "pid": 1, "started": 1.0}]}
    broker = {"pid": 1, "port": 2, "cluster": "c", "started": 1.0}
    return [json.dumps(one).encode() for one in (system, workers, broker)]


def _foreign(log: LogColumns | None = None) -> Attempt:
    def read(data: bytes) -> None:
        path = _file("foreign", data)
        records, report = imported(
            _folder(), Foreign(path, "ServerA"), log=log, ends=log is not None
        )
        assert all(record.timestamp >= 0 for record in records)
        json.dumps(report.to_json()).encode()

    return _documented(read)


_LOG = LogColumns("order_id", "at", "payload", "type", None, 0)


def _logs() -> list[bytes]:
    text = (ROOT / "docs" / "examples" / "shop.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))[:12]
    table = "".join(text.splitlines(keepends=True)[:13])
    lines = "\n".join(json.dumps(row) for row in rows)
    return [table.encode(), table.encode("utf-16"), json.dumps(rows).encode(), lines.encode()]


def _parquet() -> list[bytes]:
    import pyarrow
    from pyarrow import parquet

    rows = list(csv.DictReader(io.StringIO(_logs()[0].decode())))
    found = []
    for codec in ("none", "snappy", "zstd"):
        out = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(rows), out, compression=codec)
        found.append(out.getvalue())
    return found


def _masks(data: bytes) -> None:
    """A rule, then bodies: a rule is refused, a body that it cannot read is a ValueError."""
    found = (*parts_of(data), b"<a b='c'>Ada</a>", b'{"a": [{"b": "Ada"}]}')
    rule, bodies = found[0], found[1:]
    made = rule_of(rule.decode("utf-8", "replace"))
    for body in bodies:
        try:
            assert isinstance(made.apply(body).body, bytes)
        except ValueError:
            continue


def _mask_seeds() -> list[bytes]:
    bodies = [b"<a><b c='d'>Ada 4711</b></a>", b'{"a": {"b": ["Ada", {"c": 1}]}}', b"card 4111"]
    rules = ["/a/b", "//b/@c", "*=//b", "$.a.b[*]", "Order=$.a..c", "~[0-9]{4}", "X=~(\\w+) (\\d+)"]
    return [joined([rule.encode(), *bodies]) for rule in rules]


def _where(data: bytes) -> None:
    row = Record("ssb.event", 0, 1, 2, TimestampType.CREATE_TIME, b"k", (("x", None),), b"v")
    condition_of(data.decode("utf-8", "replace"))(look(row, TOPICS), row)


def _bodies(data: bytes) -> None:
    """Bodies of messages, as agents and the services that come with Hopline read them."""
    parse_missing_route(data), read_error(data), to_service_name(data)
    avro = _file("body.avsc", json.dumps(schema("Presence")).encode())
    for find in _finders(avro):
        try:
            find(data)
        except Exception as error:  # of a body that is not read: the router answers with an error
            assert not isinstance(error, (MemoryError, SystemError))


@cache
def _finders(avro: Path) -> tuple[Callable[[bytes], str | None], ...]:
    return (
        find_by_xpath("//b/@c", {}), find_by_jmespath("a.b[0].c"), find_in_avro("instance", avro),
    )  # fmt: skip


def _body_seeds() -> list[bytes]:
    missing = (
        b'<MissingRoute xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/BrokerConfiguration/'
        b'MissingRoute"><SERVICE_NAME>S</SERVICE_NAME></MissingRoute>'
    )
    error = (
        b'<?xml version="1.0"?><Error xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error">'
        b"<Code>-8429</Code><Description>no</Description></Error>"
    )
    plain = [b"<message><toServiceName>S</toServiceName></message>", b'{"a": {"b": [{"c": "S"}]}}']
    return [
        missing,
        error,
        *plain,
        examples()["Presence"],
        *_globbed("topologies/*/queries/*.xml")(),
    ]


# --- the dashboard -------------------------------------------------------------------------------


def _address(data: bytes) -> None:
    """Show every page at an address; an address is what anybody may type."""
    address = Address.of(data.decode("utf-8", "surrogateescape").replace("\n", ""))
    str(address).encode("utf-8", "surrogateescape"), address.span.words, address.span.bounds(NOW_MS)
    for page in _pages():
        page(replace(address, path=address.path or "/"))


NOW_MS = 1_800_000_000_000


@cache
def _pages() -> tuple[Callable[[Address], object], ...]:
    from functools import partial

    from streams.dashboard.context import Context
    from streams.dashboard.figures import Figures
    from streams.dashboard.header import header_of
    from streams.dashboard.network import network_of
    from streams.dashboard.pages import PAGES
    from streams.dashboard.slow import Slow
    from streams.store import Store
    from tests.dashboard.rows import ROWS, UNTIL

    url = f"sqlite:///{_folder()}/monitor.sqlite"
    with Store.open(url) as store:
        store.write("deliveries", "run", 0, ROWS)
        store.reach({"deliveries": UNTIL})
    looked = Store.look(url).__enter__()
    network = network_of(topologies_dir() / "combined", None)
    network.begin()
    now = lambda: NOW_MS  # noqa: E731
    context = Context(Figures(looked, now, 0), network, None, Slow(now, lambda _: 1), now)
    views = [partial(page.view, context) for page in PAGES]
    headers = [partial(header_of, context, PAGES, page) for page in PAGES]
    return (*views, *headers)


def _addresses() -> list[bytes]:
    return [
        b"/?last=5m", b"/?from=2026-11-21T13%3A27%3A00Z&until=2026-11-21T13%3A32%3A00Z",
        b"/topology?find=Server&show=trouble&around=2&instance=ServerA&view=sys.routes",
        b"/topology?link=ServerA>GatewayA&ask=ServerA/DatabaseA/InitiatorService&to=TargetService",
        b"/dialog?id=6f1c2e6a-0c1d-4e5f-8a9b-0123456789ab&page=2&row=3&list=longest",
        b"http://127.0.0.1:8090/dialog/6f1c2e6a?from=0001-01-01T00:00:00Z&until=9999-12-31",
    ]  # fmt: skip


def _request(data: bytes) -> None:
    """Ask the dashboard for a page: query, path and headers are the request's."""
    from tests.dashboard.test_access import ask

    query, path, host, origin, cookie, *_ = (*parts_of(data), b"", b"", b"", b"", b"")
    said = {"host": host, "origin": origin, "cookie": cookie}
    headers = {n: v.decode("latin-1").encode("utf-8", "replace").decode() for n, v in said.items()}
    told = ask(
        "token", query=query.decode("latin-1"), path=path.decode("utf-8", "replace"), **headers
    )
    assert told["status"] in (200, 303, 401, 403)


def _requests() -> list[bytes]:
    hosts = (b"127.0.0.1:8090", b"", b"hopline_token=token; a=b")
    return [joined([b"token=token&last=5m", b"/topology", *hosts]), joined([b"", b"/", *hosts])]


# --- commands on files: whatever they say, they end in order -------------------------------------


def _command_line(*words: str, name: str) -> Attempt:
    """Return what runs a command on the input as a file: only click's own exit may come out."""

    def attempt(data: bytes) -> None:
        path = _file(name, data)
        done = CliRunner().invoke(main, [word.format(path) for word in words])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception

    return attempt


TARGETS: Mapping[str, Target] = {
    "route": Target(_values("Route"), _malformed(lambda d: encode_parties(decode_parties(d)))),
    "message": Target(_values("Message"), _malformed(_header)),
    "hop": Target(_values("Hop"), _malformed(_hop)),
    "ack": Target(lambda: [*_values("Ack")(), *_values("Status")()], _malformed(_ack)),
    "command": Target(_values("Command"), _malformed(_command)),
    "cause": Target(_values("Cause"), _malformed(decode_cause)),
    "result": Target(_values("Result"), _malformed(decode_result)),
    "event": Target(_values("Event"), _malformed(lambda d: encode_event(decode_event(d)))),
    "presence": Target(_values("Presence"), _malformed(_presence)),
    "catalog_object": Target(_values("CatalogObject"), _malformed(_catalog_object)),
    "dialog": Target(_values("Dialog"), _malformed(_dialog)),
    "chunk": Target(_values("Chunk"), _malformed(decode_chunk)),
    "positions": Target(_values("Positions"), _malformed(decode_positions)),
    "request": Target(_values("Request"), _malformed(lambda d: decode_request(d, "S"))),
    "seen": Target(_values("Seen"), _malformed(decode_seen)),
    "reading": Target(_values("Reading"), _malformed(_reading)),
    "metric": Target(_values("Metric"), _malformed(decode_metric)),
    "names_and_notes": Target(_texts, _small_texts),
    "record": Target(_records, _record),
    "catalog": Target(_catalogs, _catalog),
    "announced_schema": Target(_announcements, _announced),
    "tsql": Target(_globbed("tests/fuzz/corpus/*", "tests/topology/scripts/*.sql"), check_script),
    "topology_yaml": Target(_yaml_seeds, lambda d: try_topology(d.decode("utf-8", "replace"))),
    "scenario_yaml": Target(
        _yaml_seeds, lambda d: try_scenario(d.decode("utf-8", "replace"), _combined())
    ),
    "other_yaml": Target(_around_seeds, _around),
    "hopline_toml": Target(_toml_seeds, _documented(_settings)),
    "snapshot_json": Target(lambda: [json.dumps(_document()).encode()], _snapshot("A.json")),
    "snapshot_csv": Target(_csvs("transmission_queue"), _snapshot("transmission_queue.csv")),
    "snapshot_endpoints": Target(
        _csvs("conversation_endpoints"), _snapshot("conversation_endpoints.csv")
    ),
    "capture": Target(_captures, _capture),
    "capture_manifest": Target(_manifest_seeds, _documented(_manifest)),
    "up_folder": Target(_up_seeds, _up_folder),
    "import_recordings": Target(lambda: list(test_damage.FILES.values()), _foreign()),
    "import_log": Target(_logs, _foreign(_LOG)),
    "import_parquet": Target(_parquet, _foreign(_LOG)),
    "mask": Target(_mask_seeds, _documented(_masks)),
    "where": Target(
        lambda: [b"kind = 'event' AND error = 28007", b"size > 10 OR time LIKE '2026%'",
                 b"headers LIKE '%x%' AND substr(body, 1, 2) = 'v'"],
        _documented(_where),
    ),
    "message_body": Target(_body_seeds, _bodies),
    "dashboard_address": Target(_addresses, _address),
    "dashboard_request": Target(_requests, _request),
    "inspect_command": Target(
        _captures, _command_line("inspect", "{}", "--salvage", name="i.avro")
    ),
    "inspect_records": Target(
        _captures, _command_line("inspect", "{}", "--records", "--salvage", name="r.avro")
    ),
    "import_command": Target(
        lambda: list(test_damage.FILES.values()),
        _command_line("capture", "import", "{}", "--output", "{}.out", name="foreign.txt"),
    ),
}  # fmt: skip
"""By name. What reads whole folders or several kinds at once comes last."""
