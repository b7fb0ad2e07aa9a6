"""Hundreds of records that each fail alone cost their own time, and no member its partitions."""

from __future__ import annotations

import uuid
from itertools import count
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams.errors import Number
from streams.protocol import Dialog
from streams.wire.records import message_record
from streams.wire.state import encode_dialog
from tests.workers.rig import Rig
from tests.workers.rubbish import header, journey, parties

POISON = 300


def test_what_cannot_be_written_costs_only_itself(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where encoding fails nothing has been sent: the member goes on with what is left."""

    def fail(dialog: Dialog) -> bytes:
        if dialog.far_service == "Poison":
            raise ZeroDivisionError("of course")
        return encode_dialog(dialog)

    monkeypatch.setattr("streams.workers.endpoint.output.encode_dialog", fail)
    assigned: list[int] = []

    def assign(method: Any, places: Any) -> Any:
        assigned.append(len(places))
        return method(places)

    inbox, producer = two.topics.inbox("B"), two.cluster.producer()
    for number in range(2 * POISON):
        said = parties(from_service="Poison" if number % 2 else "InitiatorService")
        key, value, headers = message_record(uuid.uuid4(), said, header(), journey(), b"x")
        producer.produce(inbox, value, key, headers=headers)
    assert producer.flush(30) == 0
    two.endpoint("B", slot="0", hooks={"assign": assign})
    two.until(two.topics.queue("B", "DatabaseB", "TargetQueue"), POISON)
    two.events(POISON, error=Number.CORRUPTED_HEADER)
    assert assigned == [1]
    two.check()


def test_an_abort_that_comes_too_early_costs_a_client_and_no_slot(two: Rig) -> None:
    """Where a commit is not over yet the coordinator may hear of the abort first: no fencing."""
    calls, aborts = count(), []

    def flush(method: Any, *given: Any) -> Any:
        if next(calls) == 0:
            raise ZeroDivisionError("of course")
        return method(*given)

    def abort(method: Any, *given: Any) -> Any:
        aborts.append(given)
        raise KafkaException(KafkaError(KafkaError.INVALID_TXN_STATE, "too early", fatal=True))

    two.endpoint("A", slot="0", hooks={"flush": flush, "abort_transaction": abort})
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
        client.send(dialog, b"x", wait=True)
    two.until(two.topics.out("A"), 1)
    assert len(aborts) == 1
    two.check()
