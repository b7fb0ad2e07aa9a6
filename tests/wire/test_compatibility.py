"""Readers of today read what writers of every day before wrote.

``fixtures/<schema>.<fingerprint>.bin`` is one record of each schema as it was written under that
fingerprint, ``fixtures/<schema>.<fingerprint>.avsc`` the writer's schema. A schema that changes
gets a new pair beside the old ones (``python -m tests.wire.test_compatibility --write``); the old
ones stay, and go red where a change breaks their readers: those are records that lie in topics.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import avro.schema
import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

import streams.wire as c
from streams.protocol import (
    ERROR,
    Ack,
    Cause,
    Chunk,
    Claim,
    Command,
    CommandKind,
    Dialog,
    Flag,
    Header,
    Journey,
    Parties,
    Request,
    Seen,
    SeenStatement,
    Source,
    State,
    Status,
)
from streams.schema import load
from streams.wire import commands
from streams.wire import state as s
from streams.wire.id_secret import encode_secret
from streams.wire.metric import encode_metric
from streams.wire.reading import Reading, reading_record
from streams.wire.single_object import Codec, prefix_of

FIXTURES = Path(__file__).parent / "fixtures"
ID = uuid.UUID("6f1c2e6a-0c1d-4e5f-8a9b-0123456789ab")


def examples() -> dict[str, bytes]:
    """Return one record of every schema, no field of it at its default."""
    dialog = Dialog(
        ID, "D", "B1", True, State.CO, "S", "T", "B2", "C", ID, ID, 1, 2,
        locked=True, send_sequence=70, acknowledged=(3, 1), transmitted=(65, 2), received=(4, 3),
        held={(6, 0): (11, 1), (9, 4): (12, 5)}, partial=[8, 9, 10], parked=[(3, 7), (-1, 0)],
        timer_at=9, priority=7, confirmed=True, refusal=9615, deaf_from=4, discarded_from=3,
        error_epoch=1, attempt=2, retry_at=5, first_hop=1, unheard=2, status=9750, status_at=6,
        peer_closed=True, closed_at=7, forget_at=8, suspect=(66, 1),
    )  # fmt: skip
    command = Command(
        ID, ID, CommandKind.END, "D", False, 1, "reply", "S", "T", "B2", "C", 60, ID, "type",
        42, "text", True, None, 0, ID, 30, (ID,),
    )  # fmt: skip
    flags = Flag.ERROR | Flag.SKIPS
    event = {
        "event": 160, "subclass": 1, "at": 1, "instance": "I", "database": "D", "error": 11218,
        "conversation": str(ID), "from_initiator": True, "sequence": 3, "message_id": str(ID),
        "attempt": 1, "from_service": "S", "to_service": "T", "from_broker": "B1",
        "to_broker": "B2", "next_hop": "N", "hops_remaining": 15, "state": "CO", "topic": "t",
        "partition": 1, "offset": 2, "detail": "because", "fragment": 1, "sent_at": 4,
        "first_hop": 2, "left_at": 5, "path": "I>J",
        "route": "R1, R2",
    }  # fmt: skip
    return {
        "Route": c.encode_parties(Parties("T", "B2", "S", "B1", "C", True, True)),
        "Message": c.encode_header(Header(ID, ERROR, 3, 1, 2, flags, 1, 2)),
        "Hop": c.encode_journey(Journey(15, 2, 1, 1, 2, (("I", 1), ("J", 2)))),
        "Ack": c.encode_ack(
            Ack(3, 9, 1, 2, 5, True, held=(((5, 0), (6, 2)), ((9, 1), (9, 1))), next_fragment=1)
        ),
        "Status": c.encode_status(Status(ID, "D", True, 9770, 1, 2, "S", "B", 3)),
        "Command": commands.encode_command(command),
        "Cause": commands.encode_cause(Cause(Source("app", "agent", ID, 3), 70, 2)),
        "Result": commands.encode_result(commands.ResultRecord(ID, ID, 8429, "no")),
        "Event": c.encode_event(event),
        "Metric": encode_metric(
            "event_windows", "k", "events", 3, {"count": 2, "p50": 2.5, "cause": "retry"}
        ),
        "Presence": c.encode_presence("I", "r", 1, 2, (Claim("B", True, 3),), 4),
        "CatalogObject": c.encode_catalog_object(1, "{}"),
        "Dialog": s.encode_dialog(dialog),
        "Chunk": s.encode_chunk(Chunk.of([(1, 1), (2, 3), (300, 1)])),
        "Positions": s.encode_positions(s.Positions(1, 2, 3)),
        "Request": s.encode_request(Request("S", 2, 3, ID, 4)),
        "Seen": s.encode_seen(Seen((SeenStatement(69, 1, -5, 8429), SeenStatement(70, 2, 9, 0)))),
        "Reading": reading_record(Reading("readers", "ssb.queue.I.D.Q", ID, 1, 70, 3))[1],
        "Secret": encode_secret(bytes(range(32))),
    }


def written() -> list[Path]:
    """Return every record that was ever checked in."""
    return sorted(FIXTURES.glob("*.bin"))


def fixture(name: str) -> Path:
    """Return where a record of today's schema is checked in."""
    return FIXTURES / f"{name}.{prefix_of(load(name))[2:].hex()}.bin"


@pytest.mark.parametrize("name", sorted(examples()))
def test_todays_record_is_checked_in(name: str) -> None:
    """A schema that has changed needs a new fixture, and the old one stays."""
    assert fixture(name).is_file(), "python -m tests.wire.test_compatibility --write"
    assert fixture(name).read_bytes() == examples()[name]


@pytest.mark.parametrize("path", written(), ids=lambda path: path.stem)
def test_readers_of_today_read_the_records_of_all_days(path: Path) -> None:
    """A record under an older fingerprint is read by today's schema, once it is announced."""
    name = path.stem.split(".")[0]
    schema = json.loads(path.with_suffix(".avsc").read_text(encoding="utf-8"))
    codec = Codec(name)
    assert codec.announce(schema) == path.read_bytes()[:10]
    record = codec.decode(path.read_bytes())
    assert set(record) == {field["name"] for field in load(name)["fields"]}


@pytest.mark.parametrize("path", written(), ids=lambda path: path.stem)
def test_the_apache_library_agrees(path: Path) -> None:
    """Today's schema can read, and be read by, every schema that was ever used.

    Both ways, because a rolling upgrade has old readers beside new writers.
    """
    old = avro.schema.parse(path.with_suffix(".avsc").read_text(encoding="utf-8"))
    new = avro.schema.parse(json.dumps(load(path.stem.split(".")[0])))
    for reader, writer in ((new, old), (old, new)):
        verdict = ReaderWriterCompatibilityChecker().get_compatibility(reader, writer)
        assert verdict.compatibility is SchemaCompatibilityType.compatible, verdict.messages


def main(arguments: list[str]) -> int:
    """Check in a record of every schema that has none yet."""
    for name, raw in examples().items():
        if "--write" in arguments:
            fixture(name).write_bytes(raw)
            text = json.dumps(load(name), indent=1) + "\n"
            fixture(name).with_suffix(".avsc").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
