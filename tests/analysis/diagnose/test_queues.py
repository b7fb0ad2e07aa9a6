"""Every cause of messages that stay in a queue: what has it, and a queue that is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.analysis.diagnose import QUEUES, Diagnoses, diagnose, diagnoses_text
from streams.topology.snapshot import load_snapshot
from tests.analysis.diagnose.test_causes import Change, b, both, off
from tests.snapshots import NOW, Document, documents, moment, write_json
from tests.topology.build import shipped

ACTIVE = {"is_activation_enabled": True, "activation_procedure": "[dbo].[Read]", "max_readers": 1}


def queue(messages: int, **more: Any) -> Change:
    """Put messages into TargetQueue, whose procedure is activated unless this says otherwise."""

    def change(found: dict[str, Document]) -> None:
        b(found)["service_queues"][1].update({**ACTIVE, **more})
        b(found)["queue_depths"] = [{"object_id": 1000, "messages": messages}]

    return change


def monitor(state: str, age: float = 86400, **more: Any) -> Change:
    """Add the monitor of TargetQueue; its times are local, an hour after UTC."""
    at = moment(NOW - age + 3600)
    row = {"database_id": 5, "queue_id": 1000, "state": state, "last_activated_time": at, **more}
    return lambda found: found["ServerB"]["dm_broker_queue_monitors"].append(row)


NO_ACTIVATION = {"is_activation_enabled": False, "activation_procedure": None}
TRIGGERS: dict[str, list[Change]] = {
    "queue-disabled": [
        queue(9, is_receive_enabled=False, is_enqueue_enabled=False),
        both(queue(9, is_receive_enabled=False), monitor("NOTIFIED")),
    ],
    "queue-broker-off": [both(queue(1), off("ServerB"))],
    "not-activated": [queue(1, is_activation_enabled=False), queue(1, max_readers=0)],
    "reader-does-not-receive": [
        both(queue(1), monitor("NOTIFIED")),
        both(queue(1, **NO_ACTIVATION), monitor("NOTIFIED", tasks_waiting=0)),
    ],
    "not-monitored": [queue(1)],
    "retained": [both(queue(100, is_retention_enabled=True), monitor("INACTIVE"))],
    "no-reader": [queue(100, **NO_ACTIVATION)],
}
READ: list[Change] = [
    both(queue(5000), monitor("RECEIVES_OCCURRING")),
    both(queue(5), monitor("NOTIFIED", age=60)),
    both(queue(5), monitor("NOTIFIED", tasks_waiting=1)),
    both(queue(5), monitor("NOTIFIED", last_activated_time=None)),
    both(queue(99, is_retention_enabled=True), monitor("INACTIVE")),
    both(queue(5), lambda found: found["ServerB"].pop("dm_broker_queue_monitors")),
    queue(99, **NO_ACTIVATION),
    queue(0, is_receive_enabled=False),
    both(queue(1, is_receive_enabled=False), lambda found: b(found).pop("queue_depths")),
]


def diagnosed(folder: Path, change: Change) -> Diagnoses:
    found = documents(shipped("two_brokers"))
    change(found)
    return diagnose(load_snapshot(write_json(folder, found)), NOW)


def test_every_cause_has_a_trigger() -> None:
    assert list(TRIGGERS) == [cause.code for cause in QUEUES]


EACH = [(code, n) for code, changes in TRIGGERS.items() for n in range(len(changes))]


@pytest.mark.parametrize(("code", "number"), EACH)
def test_unread_messages_are_explained(tmp_path: Path, code: str, number: int) -> None:
    found = diagnosed(tmp_path, TRIGGERS[code][number])
    [one] = found.found
    assert (one.cause.code, one.at, one.of) == (code, "ServerB/DatabaseB", "TargetQueue")
    assert one.evidence and one.sources
    assert found.good is not one.cause.bad
    answer = found.to_json()
    assert answer["diagnoses"][0]["rows"] == "unread"
    assert answer["summary"]["stuck"] == 0
    assert answer["summary"]["unread"] == (one.count if one.cause.bad else 0)
    assert f"{one.count} unread message" in diagnoses_text(found)


@pytest.mark.parametrize("number", range(len(READ)))
def test_a_queue_that_is_read_is_no_problem(tmp_path: Path, number: int) -> None:
    """Or the snapshot does not show whether it is read."""
    assert not diagnosed(tmp_path, READ[number]).found
