"""Dumps of views: dialogs as they were, and the messages that waited."""

from __future__ import annotations

import csv
import uuid
from pathlib import Path
from typing import Any

from streams.capture.foreign.homes import Homes
from streams.capture.foreign.sources import Source
from streams.protocol import END_DIALOG
from tests.capture.foreign.reading import commands, imported, left

ONE, HERE, THERE = uuid.UUID(int=0x11), uuid.UUID(int=0xA), uuid.UUID(int=0xB)
SENDER = {
    "conversation_handle": HERE, "conversation_id": ONE, "is_initiator": 1, "service_id": 65_536,
    "service_contract_id": 65_537, "far_service": "TargetService", "far_broker_instance": "",
    "send_sequence": 5, "state": "CO",
}  # fmt: skip
RECEIVER = SENDER | {
    "conversation_handle": THERE, "is_initiator": 0, "service_name": "TargetService",
    "far_service": "InitiatorService", "send_sequence": 0,
}  # fmt: skip


def unsent(sequence: int, **more: object) -> dict[str, Any]:
    return {
        "conversation_handle": HERE, "to_service_name": "TargetService",
        "from_service_name": "InitiatorService", "enqueue_time": f"2026-01-05 09:00:0{sequence}",
        "message_sequence_number": sequence, "message_type_name": "Order", "is_end_of_dialog": 0,
        "is_conversation_error": 0, "message_body": f"0x3{sequence}", "transmission_status": "",
    } | more  # fmt: skip


def queued(sequence: int) -> dict[str, Any]:
    return {
        "status": 1, "queuing_order": sequence, "conversation_handle": THERE,
        "message_sequence_number": sequence, "service_name": "TargetService",
        "message_type_name": "Order", "message_body": f"0x3{sequence}",
        "message_enqueue_time": f"2026-01-05 09:00:0{sequence}",
    }  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def dumps(folder: Path) -> list[Source]:
    """Message 2 has arrived and is not acknowledged, 3 and 4 have not; 0 and 1 were read."""
    names = [{"name": "InitiatorService", "service_id": 65_536, "service_queue_id": 1}]
    contracts = [{"name": "OrderContract", "service_contract_id": 65_537}]
    end = unsent(4, is_end_of_dialog=1, message_type_name=END_DIALOG, message_body="")
    return [
        Source(write(folder / "a.csv", [SENDER]), "ServerA"),
        Source(write(folder / "b.csv", [unsent(2), unsent(3), end]), "ServerA"),
        Source(write(folder / "y.csv", contracts), "ServerA"),
        Source(write(folder / "z.csv", names), "ServerA"),
        Source(write(folder / "d.csv", [RECEIVER]), "ServerB"),
        Source(write(folder / "e.csv", [queued(2)]), "ServerB"),
    ]


def test_waiting_messages_become_sends(tmp_path: Path) -> None:
    records, report = imported(tmp_path, *dumps(tmp_path), homes=Homes(None, "DatabaseA"))
    assert report.good, report.left
    statements = [(c.kind.value, c.from_initiator, c.type, c.body) for c in commands(records)]
    assert statements == [
        ("BEGIN", True, None, None),
        ("SEND", True, "Order", b"2"),
        ("SEND", True, "Order", b"3"),
        ("END", True, None, None),
    ]
    begin = commands(records)[0]
    assert (begin.from_service, begin.to_service) == ("InitiatorService", "TargetService")
    assert (begin.contract, begin.conversation) == ("OrderContract", ONE)
    assert {kind: one.count for kind, one in report.noted.items()} == {
        "a message waiting on both sides: imported once": 1,
        "a message received before the dump": 2,
        "a dialog that began earlier: it starts at its first action": 1,
    }


def test_a_message_without_its_endpoint_is_counted(tmp_path: Path) -> None:
    records, report = imported(tmp_path, Source(write(tmp_path / "q.csv", [queued(2)]), "ServerB"))
    assert not records
    assert left(report) == {"a message whose endpoint is not in the dump": 1}


def test_of_two_copies_the_senders_counts_because_it_states_the_place(tmp_path: Path) -> None:
    """The target's reply waits in its transmission queue, and has arrived at the initiator."""
    reply = unsent(1, conversation_handle=THERE)
    arrived = queued(1) | {"conversation_handle": HERE, "message_enqueue_time": "2026-01-05 09:00"}
    sender = SENDER | {"service_name": "InitiatorService"}
    sources = [
        Source(write(tmp_path / "a.csv", [sender]), "ServerA"),
        Source(write(tmp_path / "b.csv", [RECEIVER]), "ServerB"),
        Source(write(tmp_path / "c.csv", [arrived]), "ServerA"),
    ]
    homes = Homes(None, "Shop")
    _, report = imported(tmp_path, *sources, homes=homes)
    assert left(report) == {"a SEND of a target whose location is unknown": 1}
    sources.append(Source(write(tmp_path / "d.csv", [reply]), "ServerB"))
    records, report = imported(tmp_path, *sources, homes=homes)
    assert report.good, report.left
    begin, send = commands(records)
    assert (begin.from_initiator, send.from_initiator) == (True, False)
    assert [record.topic for record in records] == ["ssb.cmd.ServerA", "ssb.cmd.ServerB"]
