"""Design, clocks: two clusters on two real brokers, one of which is ten minutes ahead."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.protocol import Limits
from streams.wire.describe import Description
from tests.running import System, eventually
from tests.workers.estate import SUPPLIER, estate
from tests.workers.rig import pause

AHEAD = 600.0
"""Seconds: ten times what a copy may live."""
LIFETIME = 120
"""Seconds that the dialog may last: less than the clocks differ by."""


def ends_in(system: System, topic: str, by: float) -> tuple[float, float]:
    """Return in how many seconds the first message that came across expires, and its dialog.

    ``by``: how far the clock there is ahead of the machine's.
    """
    [copy] = system.records(topic, has_message)
    now = (time.time() + by) * 1000
    return (
        (copy["hop"]["expires_at"] - now) / 1000,
        (copy["message"]["dialog_expires_at"] - now) / 1000,
    )


def knows(system: System, ahead: float) -> None:
    """Wait until the workers know that the other cluster's clock is so many seconds ahead."""
    control = system.workers[0].process._control
    assert control is not None
    eventually(
        lambda: any(abs(s - ahead) < 1 for _, s in control.remote.differences()) or pause(),
        "the difference is known",
    )


def has_message(record: Description) -> bool:
    return "message" in record and "hop" in record


@pytest.mark.long
def test_copies_and_dialogs_live_as_long_in_a_cluster_whose_clock_differs(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """There every copy would have expired on its way, and the dialog too; back none ever would."""
    limits = Limits()
    with estate(kafka, unique, tmp_path / "seller", limits=limits, ahead=AHEAD) as both:
        topics = both.buyer.cluster.topics
        knows(both.buyer, AHEAD)
        knows(both.seller, -AHEAD)
        with both.buyer.client() as client, both.seller.client() as other:
            dialog = client.begin(
                "ServerA", "DatabaseA", "OrderService", "SupplierService", lifetime=LIFETIME
            )
            client.send(dialog, b"order")
            [order] = both.seller.received(*SUPPLIER, 1)
            copy, whole = ends_in(both.seller, topics.ingress("GatewayB", "buyer"), AHEAD)
            assert 0 < copy < limits.time_to_live / 1000 + 1
            assert 0 < whole < LIFETIME + 1
            other.send(order.conversation, b"answer")
            [answer] = both.buyer.received("ServerA", "DatabaseA", "OrderQueue", 1)
            assert (answer.conversation.id, answer.body) == (dialog.id, b"answer")
            copy, whole = ends_in(both.buyer, topics.ingress("GatewayA", "seller"), 0.0)
            assert 0 < copy < limits.time_to_live / 1000 + 1
            assert 0 < whole < LIFETIME + 1
