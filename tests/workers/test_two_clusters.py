"""Two Kafka clusters on two brokers, one of which goes away: what a gateway holds, how long."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from streams.errors import Number
from streams.protocol import Limits
from streams.topology import load, share_of
from streams.wire import decode_event
from tests.ports import reserved
from tests.running import eventually
from tests.workers.estate import AUDIT, SUPPLIER, bodies, estate
from tests.workers.rig import pause, rig

MEGABYTE = 1 << 20

ABROAD = """
instances:
  A:
    cluster: here
    endpoint: {{transport: {transport}}}
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services: {{InitiatorService: {{queue: InitiatorQueue, contracts: []}}}}
        routes: [{{name: R, service_name: TargetService, address: 'tcp://B:4022'}}]
  B: {{cluster: there}}
clusters: {{there: {{bootstrap.servers: '127.0.0.1:{port}'}}}}
"""


@pytest.mark.parametrize(("transport", "reported"), [("failover", 1), ("all", 0)])
def test_what_began_here_is_not_held(
    kafka: str, unique: str, tmp_path: Path, transport: str, reported: int
) -> None:
    """Its dialog keeps it and is told (9753); where it went to other addresses too, it is not."""
    file = tmp_path / "topology.yaml"
    with ExitStack() as stack:
        [port] = stack.enter_context(reserved(1))  # nothing listens there
        file.write_text(ABROAD.format(transport=transport, port=port), encoding="utf-8")
        here = share_of(load(tmp_path, time.time()), "here")
        made = stack.enter_context(rig(kafka, unique, here))
        made.endpoint(limits=Limits(retries=(60_000,)))
        forwarder = made.forwarder()
        with made.client() as client:
            dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
            client.send(dialog, b"body", wait=True)
        out = made.topics.out("A")
        made.until(out, 1)
        eventually(lambda: made.committed("forwarder", out) > 0 or pause(), "it is passed")
        forwarder.stop()
        events = map(decode_event, (m.value() for m in made.records(made.topics.event)))
        numbers = [e["error"] for e in events if e["instance"] == "A"]
        assert numbers.count(Number.TARGET_UNREACHABLE) == reported
        assert forwarder.worker.pending == (0, 0)


@pytest.mark.long
def test_a_cluster_that_goes_away_holds_up_nobody_and_costs_nothing(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held within 1 MB and the time to live (11288 to 11290), and all delivered in the end."""
    monkeypatch.setattr("streams.workers.control.heartbeat_schedule.HEARTBEAT", 0.2)
    monkeypatch.setattr("streams.node.liveness.far_presence.SILENCE", 2.0)
    with estate(kafka, unique, tmp_path) as both, both.buyer.client() as client:
        order, audit = both.begin(client, "SupplierService"), both.begin(client, "AuditService")
        client.send(order, b"first")
        assert bodies(both.seller, SUPPLIER, 1) == [b"first"]

        both.seller.stop()
        both.broker.kill()
        orders = [b"small", *(os.urandom(300_000) for _ in range(12))]
        client.send(order, orders[0], wait=True)
        [row, *_] = eventually(both.forwarded, "GatewayA has what the seller does not take")
        assert row["to_service_name"] == "SupplierService"
        assert both.dropped(Number.ALREADY_FORWARDING)["conversation"] == str(order.id)
        assert both.dropped(Number.NOT_DELIVERABLE_IN_TIME)["conversation"] == str(order.id)
        for body in orders[1:]:
            client.send(order, body, wait=True)
        client.send(audit, b"meanwhile", wait=True)
        assert bodies(both.buyer, AUDIT, 1) == [b"meanwhile"]
        assert both.dropped(Number.FORWARD_SIZE_EXCEEDED)["conversation"] == str(order.id)

        def held() -> int:
            """Copies whose time is over come again, so there may be none for a moment."""
            size = both.gateway().pending[1]
            assert size <= MEGABYTE
            return size or pause()

        eventually(held, "GatewayA holds copies")
        eventually(
            lambda: both.noted() or pause(), "what is held is noted, and its position is committed"
        )
        held_rows = eventually(both.forwarded, "what is held is seen")
        assert {row["conversation_id"] for row in held_rows} == {str(order.id)}

        both.broker.start()
        both.seller.start()
        assert bodies(both.seller, SUPPLIER, len(orders)) == orders
        waiting = "sys.transmission_queue"
        eventually(lambda: not both.view(waiting, "ServerA"), "everything is acknowledged")
        eventually(lambda: not both.forwarded(), "GatewayA holds nothing")
