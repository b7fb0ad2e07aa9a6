"""What the next transaction of a partition takes on, without Kafka."""

from __future__ import annotations

import uuid
from typing import Any

from streams.node import Endpoint, catalog_of
from streams.protocol import Dialog, State
from streams.resources import topologies_dir
from streams.topology import load
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.partition import Partition

ID = uuid.UUID(int=1)
KEY = ("DatabaseA", ID, True)
RETRY = 1_000
"""When the dialog's retry is due, in epoch milliseconds."""


def restored(backlog: int) -> Partition:
    """Return a partition after a restart: a retry is due, and ``ack`` is read up to 5."""
    topology = load(topologies_dir() / "two_brokers", 0.0)
    endpoint = Endpoint("ServerA", catalog_of(topology, 1))
    endpoint.advance(0)
    dialog = Dialog(
        conversation=ID,
        database="DatabaseA",
        broker_id=topology.instances["ServerA"].databases["DatabaseA"].broker_id,
        is_initiator=True,
        state=State.CO,
        service="InitiatorService",
        far_service="TargetService",
        far_broker=None,
        contract="DEFAULT",
        group=ID,
        handle=ID,
        created_at=0,
        expires_at=10**9,
        retry_at=RETRY,
    )
    endpoint.restore(KEY, dialog)
    unread: Any = None  # bodies: nothing is read here
    positions = {"cmd": 0, "in": 0, "ack": 5}
    return Partition(0, endpoint, unread, positions, {"ack": backlog}, Allowance(1_000))


def test_a_timer_waits_for_the_backlog() -> None:
    """What waits there may be the acknowledgement that makes the retry needless."""
    assert restored(backlog=6).take_work(RETRY, 100).due == []
    assert restored(backlog=5).take_work(RETRY, 100).due == [KEY]
