"""What the transport does with two addresses, on Kafka: FAILOVER, ALL and SEEDED (U-19)."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

from streams.protocol import Limits
from streams.routing import pick_broker
from streams.topology import load
from tests.workers.rig import Rig, eventually, pause, rig

PATIENT = Limits(retries=(60_000,))
TWO_GATEWAYS = """
instances:
  A:
    endpoint: {{transport: {transport}}}
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services: {{InitiatorService: {{queue: InitiatorQueue, contracts: []}}}}
        routes:
          - {{name: R1, service_name: TargetService, broker_instance: DatabaseB, address: 'tcp://G1:4022'}}
          - {{name: R2, service_name: TargetService, broker_instance: DatabaseB, address: 'tcp://G2:4022'}}
  G1: {{endpoint: {{forwarding: true}}}}
  G2: {{endpoint: {{forwarding: true}}}}
"""
DIALOGS = tuple(uuid.UUID(int=n) for n in range(1, 9))
GATEWAYS = ("G1", "G2")


@pytest.fixture
def arrived(
    request: pytest.FixtureRequest, kafka: str, unique: str, tmp_path: Path
) -> dict[str, list[uuid.UUID]]:
    """Return the dialogs of what each gateway gets, when each dialog sends two messages."""
    text = TWO_GATEWAYS.format(transport=request.param)
    (tmp_path / "topology.yaml").write_text(text, encoding="utf-8")
    with rig(kafka, unique, load(tmp_path, time.time())) as made:
        made.endpoint(limits=PATIENT)
        with made.client() as client:
            for id_ in DIALOGS:
                services = ("InitiatorService", "TargetService")
                dialog = client.begin("A", "DatabaseA", *services, conversation=id_)
                for _ in range(2):
                    client.send(dialog, b"body", wait=True)
        out = made.topics.out("A")
        end = 1 + max(m.offset() or 0 for m in made.until(out, 2 * len(DIALOGS)))
        made.forwarder()
        eventually(lambda: made.committed("forwarder", out) >= end or pause(), "all are passed on")
        return {g: _dialogs(made, g) for g in GATEWAYS}


def _dialogs(made: Rig, gateway: str) -> list[uuid.UUID]:
    keys = (m.key() for m in made.records(made.topics.txq(gateway)))
    return [uuid.UUID(key.decode()) for key in keys if isinstance(key, bytes)]


TWICE = sorted([*DIALOGS, *DIALOGS])
Arrived = dict[str, list[uuid.UUID]]


@pytest.mark.long
@pytest.mark.parametrize("arrived", ["failover"], indirect=True)
def test_failover_takes_the_first_address_for_a_first_copy(arrived: Arrived) -> None:
    assert (sorted(arrived["G1"]), arrived["G2"]) == (TWICE, [])


@pytest.mark.long
@pytest.mark.parametrize("arrived", ["all"], indirect=True)
def test_all_sends_every_message_to_every_address(arrived: Arrived) -> None:
    assert (sorted(arrived["G1"]), sorted(arrived["G2"])) == (TWICE, TWICE)


@pytest.mark.parametrize("arrived", ["seeded"], indirect=True)
def test_seeded_spreads_dialogs_and_each_stays_with_its_address(arrived: Arrived) -> None:
    for n, gateway in enumerate(GATEWAYS):
        mine = [id_ for id_ in DIALOGS if pick_broker(1 << 16, id_) % 2 == n]
        assert 0 < len(mine) < len(DIALOGS)
        assert sorted(arrived[gateway]) == sorted([*mine, *mine])
