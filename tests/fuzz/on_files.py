"""Fuzz every reader of files, and the commands that read them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from click.testing import CliRunner

from streams.capture import (
    CaptureOrigin,
    CaptureReader,
    CaptureWriter,
    Metadata,
    Record,
    TimestampType,
)
from streams.capture.conditions import condition_of
from streams.capture.foreign.log import LogColumns
from streams.capture.foreign.sources import Source as Foreign
from streams.capture.look import look, raw
from streams.capture.manifest import MANIFEST, Gap, Manifest, Part, Recording, encoded
from streams.capture.mask import rule_of
from streams.capture.record import Counts
from streams.capture.survey import survey
from streams.cli import main
from streams.errors import HoplineError, InputError
from streams.live.local.folder import UpFolder
from streams.node.endpoint.route_requests import parse_missing_route
from streams.schema import load as schema
from streams.services.classifiers import to_service_name
from streams.services.data_dependent import read_error
from streams.services.finders import find_by_jmespath, find_by_xpath, find_in_avro
from streams.settings import read_settings
from streams.topology import Topology
from streams.topology.yaml_file.directory import load_offers
from streams.topology.yaml_file.suppressions import load_suppressions
from streams.wire import Topics
from streams.wire.describe import describe
from tests.capture.foreign import test_damage
from tests.capture.foreign.reading import imported
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.on_records import parsed, records
from tests.fuzz.properties import check_script
from tests.fuzz.target import (
    ID,
    ROOT,
    TOPICS,
    Attempt,
    Target,
    documented_or,
    file_of,
    folder,
    globbed,
)
from tests.fuzz.yaml_files import try_scenario, try_topology
from tests.topology.build import shipped
from tests.wire.test_compatibility import examples

# --- files ---------------------------------------------------------------------------------------


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
    return [*globbed("topologies/*/*.yaml", "topologies/*/scenarios/*.yaml")(), *(
        text.encode("utf-8", "surrogatepass") for text in grown[:300]
    )]  # fmt: skip


def _around(data: bytes) -> None:
    """Read suppressions and a directory."""
    for read in (load_suppressions, load_offers):
        try:
            read(file_of("some.yaml", data))
        except InputError as error:
            assert str(error).encode()


def _around_seeds() -> list[bytes]:
    rows = "- {code: TA-12, subject: 'A/*', reason: known, until: 2031-01-31}\n- {code: X}\n"
    return [rows.encode(), (ROOT / "topologies/dynamic_routing/directory.yaml").read_bytes()]


def _captures() -> list[bytes]:
    """Return captures of one record of every kind, in each of the codecs."""
    from streams.capture import codec as packing

    rows = []
    for n, data in enumerate(records()):
        topic, key, value, headers = parsed(data)
        at = 1_767_600_000_000 + n
        rows.append(Record(topic, 0, n, at, TimestampType.CREATE_TIME, key, tuple(headers), value))
    found = []
    for codec in packing.Codec:
        path = folder() / f"made-{codec.value}.avro"
        with CaptureWriter(
            path, Metadata(CaptureOrigin.CAPTURED, "ssb.", "x", 1), codec=codec
        ) as writer:
            for row in rows:
                writer.write(row)
        found.append(path.read_bytes())
    return found


def _capture(data: bytes) -> None:
    """Read a capture as `inspect` does, with its damage and without."""
    path = file_of("capture.avro", data)
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
    part = Part("part.avro", Counts(), 5, "0" * 64)
    places = {"ssb.cmd.A": {0: 5}}
    recording = Recording("cluster", {"instances": "A"}, {"ssb.cmd.A": str(ID)}, places, places)
    metadata = Metadata(CaptureOrigin.CAPTURED, "ssb.", "x", 1)
    whole = Manifest(metadata, (part,), places, True, recording, (Gap("ssb.cmd.A", 0, 1, 2),))
    return [encoded(whole).encode(), encoded(Manifest(metadata)).encode()]


def _manifest(data: bytes) -> None:
    where = file_of(f"folder/{MANIFEST}", data).parent
    for one in CaptureReader(where, salvage=True):
        look(one, TOPICS)


def _up_folder(data: bytes) -> None:
    """What a running system has noted in its folder; what cannot be read says nothing."""
    up = UpFolder(folder() / "up")
    for path in (up.system_file, up.workers_file, up.kafka / "broker.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    from streams.embedded.state import DataDir

    up.system(), up.workers(), DataDir(up.kafka).recorded()


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
        path = file_of("foreign", data)
        records, report = imported(
            folder(), Foreign(path, "ServerA"), log=log, ends=log is not None
        )
        assert all(record.timestamp >= 0 for record in records)
        json.dumps(report.to_json()).encode()

    return documented_or(read)


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


_SHORT = 16


def _masks(data: bytes) -> None:
    """A rule, then bodies: a rule is refused, a body that it cannot read is a ValueError."""
    found = (*parts_of(data), b"<a b='c'>Ada</a>", b'{"a": [{"b": "Ada"}]}')
    rule, bodies = found[0], found[1:]
    text = rule.decode("utf-8", "replace")
    made = rule_of(text)
    if "~" in text:  # whoever gives an expression that takes years may stop it
        bodies = tuple(body[:_SHORT] for body in bodies)
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
    avro = file_of("body.avsc", json.dumps(schema("Presence")).encode())
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
        *globbed("topologies/*/queries/*.xml")(),
    ]


# --- commands on files: whatever they say, they end in order -------------------------------------


def _command_line(*words: str, name: str) -> Attempt:
    """Return what runs a command on the input as a file: only click's own exit may come out."""

    def attempt(data: bytes) -> None:
        path = file_of(name, data)
        runner = CliRunner(env={"HOPLINE_TRACEBACK": "1"})  # an unexpected error comes out, too
        done = runner.invoke(main, [word.format(path) for word in words])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception

    return attempt


TARGETS: Mapping[str, Target] = {
    "tsql": Target(globbed("tests/fuzz/corpus/*", "tests/topology/scripts/*.sql"), check_script),
    "topology_yaml": Target(_yaml_seeds, lambda d: try_topology(d.decode("utf-8", "replace"))),
    "scenario_yaml": Target(
        _yaml_seeds, lambda d: try_scenario(d.decode("utf-8", "replace"), _combined())
    ),
    "other_yaml": Target(_around_seeds, _around),
    "hopline_toml": Target(_toml_seeds, documented_or(_settings)),
    "capture": Target(_captures, _capture),
    "capture_manifest": Target(_manifest_seeds, documented_or(_manifest)),
    "up_folder": Target(_up_seeds, _up_folder),
    "import_recordings": Target(lambda: list(test_damage.FILES.values()), _foreign()),
    "import_log": Target(_logs, _foreign(_LOG)),
    "import_parquet": Target(_parquet, _foreign(_LOG)),
    "mask": Target(_mask_seeds, documented_or(_masks)),
    "where": Target(
        lambda: [b"kind = 'event' AND error = 28007", b"size > 10 OR time LIKE '2026%'",
                 b"headers LIKE '%x%' AND substr(body, 1, 2) = 'v'"],
        documented_or(_where),
    ),
    "message_body": Target(_body_seeds, _bodies),
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
