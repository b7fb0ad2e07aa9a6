"""Every kind of leaked dialog: what has it, and what a dialog at work looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.analysis.diagnose import LEAKS, Diagnoses, diagnose
from streams.topology.snapshot import load_snapshot
from tests.snapshots import (
    NOW,
    Document,
    broker_guid,
    documents,
    endpoint,
    guid,
    message,
    moment,
    part,
    write_json,
)
from tests.topology.build import shipped

DAY = 86400.0
TO_B = {"far_broker_instance": broker_guid("DatabaseB")}
"""An endpoint that was acknowledged by the target."""


def far(dialog: str, state: str = "CO", **more: object) -> Document:
    handle = {"conversation_handle": guid(f"far {dialog}"), "is_initiator": False}
    return endpoint(dialog, state, **handle, **more)  # type: ignore[arg-type]


TRIGGERS: dict[str, tuple[list[Document], list[Document]]] = {
    "endpoints-expired": ([endpoint("d", "CO", lifetime=moment(NOW - 5))], []),
    "endpoints-in-error": ([endpoint("d", "ER", 2 * DAY, **TO_B)], []),
    "not-ended-here": ([endpoint("d", "DI", 2 * DAY, **TO_B)], []),
    "end-not-acknowledged": ([endpoint("d", "DO", 2 * DAY, **TO_B)], [far("d")]),
    "closed-not-purged": ([endpoint("d", "CD", 9, security_timestamp=moment(NOW - DAY))], []),
    "never-used": ([endpoint("d", "SO", 2 * DAY, send_sequence=0)], []),
    "first-message-incomplete": ([endpoint("d", "SI", 2 * DAY)], []),
    "other-side-gone": ([endpoint("d", "CO", 2 * DAY, **TO_B)], []),
    "other-side-closed": ([endpoint("d", "CO", 9, **TO_B)], [far("d", "CD")]),
    "never-acknowledged": ([endpoint("d", "CO", 2 * DAY)], []),
    "never-ended": (
        [endpoint(f"d{n}", "CO", 9 * DAY, **TO_B) for n in range(100)],
        [far(f"d{n}") for n in range(100)],
    ),
}
AT_WORK: list[tuple[list[Document], list[Document]]] = [
    ([endpoint("d", "CO", 30 * DAY, **TO_B)], [far("d")]),
    ([endpoint("d", "CO", 60)], []),
    ([endpoint("d", "DI", 60, **TO_B)], []),
    ([endpoint("d", "SO", 60, send_sequence=0)], []),
    ([endpoint("d", "CD", 9, security_timestamp=moment(NOW + 900))], []),
    ([endpoint(f"d{n}", "CO", 9 * DAY, **TO_B) for n in range(99)],
     [far(f"d{n}") for n in range(99)]),
    ([endpoint("d", "ER", 2 * DAY, is_system=True)], []),
]  # fmt: skip


def diagnosed(folder: Path, here: list[Document], there: list[Document]) -> Diagnoses:
    found = documents(shipped("two_brokers"))
    part(found["ServerA"], "DatabaseA")["conversation_endpoints"] = here
    part(found["ServerB"], "DatabaseB")["conversation_endpoints"] = there
    return diagnose(load_snapshot(write_json(folder, found)), NOW)


def test_every_leak_has_a_trigger() -> None:
    assert list(TRIGGERS) == [cause.code for cause in LEAKS]


@pytest.mark.parametrize("code", TRIGGERS)
def test_a_leak_is_found(tmp_path: Path, code: str) -> None:
    found = diagnosed(tmp_path, *TRIGGERS[code])
    leaks = [d for d in found.found if d.at == "ServerA/DatabaseA"]
    assert [(d.cause.code, d.count) for d in leaks] == [(code, len(TRIGGERS[code][0]))]
    assert (leaks[0].of, leaks[0].to) == ("InitiatorService", "TargetService")
    assert leaks[0].evidence and not found.good


@pytest.mark.parametrize("number", range(len(AT_WORK)))
def test_a_dialog_at_work_is_none(tmp_path: Path, number: int) -> None:
    assert not diagnosed(tmp_path, *AT_WORK[number]).found


def test_the_cause_of_a_closed_endpoint_is_in_its_timestamp(tmp_path: Path) -> None:
    """1900-01-01: it was never set, so nothing removes the endpoint before its lifetime is over."""
    one = endpoint("d", "CD", 2 * DAY, security_timestamp="1900-01-01T00:00:00")
    [found] = diagnosed(tmp_path, [one], []).found
    assert found.cause.code == "closed-not-purged"
    assert "was never set" in found.evidence[1]


def test_thousands_are_one_line(tmp_path: Path) -> None:
    here = [endpoint(f"d{n}", "DI", 60 + n, **TO_B) for n in range(1200)]
    [one] = diagnosed(tmp_path, here, []).found
    assert (one.cause.code, one.count, one.oldest, len(one.conversations)) == (
        "not-ended-here", 1200, 1259.0, 3
    )  # fmt: skip


def test_an_unknown_age_counts_only_in_numbers(tmp_path: Path) -> None:
    """A LIFETIME of its own hides when a dialog began."""
    one = {"lifetime": moment(NOW + 600)}
    assert not diagnosed(tmp_path / "1", [endpoint("d", "DI", **one)], []).found
    many = [endpoint(f"d{n}", "DI", **one) for n in range(100)]
    assert [d.cause.code for d in diagnosed(tmp_path / "2", many, []).found] == ["not-ended-here"]


def test_a_database_that_was_cut_short_proves_no_absence(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    inside = part(found["ServerA"], "DatabaseA")
    inside["conversation_endpoints"] = [endpoint("d", "CO", 2 * DAY, **TO_B)]
    counts = [{"view_name": "conversation_endpoints", "row_count": 20000}]
    part(found["ServerB"], "DatabaseB")["row_counts"] = counts
    assert not diagnose(load_snapshot(write_json(tmp_path, found)), NOW).found


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("state", ["CO", "CD"])
def test_a_copy_of_the_far_database_does_not_hide_the_far_side(
    tmp_path: Path, order: int, state: str
) -> None:
    """A restored backup has the same broker id, and older dialogs or none."""
    found = documents(shipped("two_brokers"))
    inside = part(found["ServerA"], "DatabaseA")
    inside["conversation_endpoints"] = [endpoint("d", "CO", 2 * DAY, **TO_B)]
    b = found["ServerB"]
    copy = {**part(b, "DatabaseB"), "database_name": "Copy"}
    copy["conversation_endpoints"] = [far("d", "CD")] if state == "CD" else []
    part(b, "DatabaseB")["conversation_endpoints"] = [far("d")]
    row = {**b["databases"][1], "name": "Copy", "database_id": 7, "is_broker_enabled": False}
    b["databases"][1:] = [b["databases"][1], row][::order]
    b["in_database"].append(copy)
    diagnoses = diagnose(load_snapshot(write_json(tmp_path / "1", found)), NOW)
    assert {d.at for d in diagnoses.found} <= {"ServerB/Copy"}
    part(b, "DatabaseB")["conversation_endpoints"] = []
    copy["conversation_endpoints"] = []
    [one] = diagnose(load_snapshot(write_json(tmp_path / "2", found)), NOW).found
    assert one.cause.code == "other-side-gone"


def test_a_queue_that_nobody_reads_is_evidence(tmp_path: Path) -> None:
    """The EndDialog messages are still in it."""
    found = documents(shipped("two_brokers"))
    inside = part(found["ServerA"], "DatabaseA")
    inside["conversation_endpoints"] = [endpoint("d", "DI", 2 * DAY, **TO_B)]
    inside["queue_depths"] = [{"object_id": 1000, "messages": 1200}]
    found["ServerA"]["dm_broker_queue_monitors"] = [
        {"database_id": 5, "queue_id": 1000, "state": "NOTIFIED"}
    ]
    [one] = diagnose(load_snapshot(write_json(tmp_path, found)), NOW).found
    assert one.evidence[-1] == (
        "queue InitiatorQueue holds 1,200 messages that no reader has received; its monitor is "
        "NOTIFIED"
    )


def test_messages_of_a_dialog_in_error_are_reported_with_it(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    inside = part(found["ServerA"], "DatabaseA")
    inside["conversation_endpoints"] = [endpoint("d", "ER", 2 * DAY, **TO_B)]
    inside["transmission_queue"] = [message("d", "TargetService")] * 2
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert [(d.cause.code, d.count) for d in diagnoses.found] == [
        ("dialog-in-error", 2), ("endpoints-in-error", 1)
    ]  # fmt: skip
    assert "2 of the first dialog's messages" in diagnoses.found[1].evidence[1]
