"""``hopline failover``: the errors, also where no worker takes the role over."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.kafka import Consumer, read_catalog
from streams.live.admin import failover
from streams.live.admin.failover import Moved
from streams.protocol import Claim
from streams.resources import topologies_dir
from streams.topology import load, pairs_of
from streams.wire import encode_presence
from tests.command import hopline
from tests.running import DEADLINE, System, running


@pytest.fixture(scope="module")
def idle(kafka: str) -> Iterator[System]:
    """Return the mirrored topology without workers: nobody claims anything."""
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "mirrored", start=False) as system:
        yield system


@pytest.mark.parametrize(
    ("pair", "to", "message"),
    [
        ("Oders", "Partner2", "There is no mirrored pair 'Oders'. Did you mean 'Orders'?"),
        (
            "Orders",
            "ServerA",
            "ServerA is not a partner of Orders. Choose one of: Partner1, Partner2.",
        ),
        (
            "Orders",
            "partner1",
            "Partner1 is already the principal of Orders. Other partners",
        ),
    ],
)
def test_wrong_use_changes_nothing(idle: System, pair: str, to: str, message: str) -> None:
    """Exit code 2, with what would be right."""
    before = read_catalog(idle.cluster).version
    code, out, err = hopline("failover", pair, "--to", to, *idle.options, columns=200)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert read_catalog(idle.cluster).version == before


def test_a_partner_that_does_not_claim_is_bad_news(kafka: str, unique: str) -> None:
    """The catalog is changed; nothing would be sent to it."""
    with running(kafka, unique, "mirrored", start=False) as system:
        words = ("failover", "orders", "--to", "partner2", "--timeout", "0.5", *system.options)
        code, out, _ = hopline(*words)
        assert code == 1
        assert out.startswith("Orders: Partner1 > Partner2, epoch 1, catalog version 2\n")
        assert "hopline worker forwarder --instance Partner2" in out
        again = (*words[:3], "Partner1", *words[4:], "--format", "json")
        code, out, _ = hopline(*again)
        assert (code, json.loads(out)) == (
            1,
            {
                "pair": "Orders",
                "before": "Partner2",
                "now": "Partner1",
                "epoch": 2,
                "version": 3,
                "claimed": False,
            },
        )


class _Heartbeats:
    """A consumer of these heartbeats, then of none."""

    def __init__(self, values: list[bytes]) -> None:
        self._left = list(values)

    def poll(self, _: float) -> Any:
        if not self._left:
            return None
        value = self._left.pop(0)
        return SimpleNamespace(error=lambda: None, value=lambda: value)


@pytest.mark.parametrize("claims", [True, False])
def test_one_heartbeat_that_denies_the_role_does_not_end_the_wait(claims: bool) -> None:
    """It may be forged, or written before the worker has read the catalog."""
    topology = load(topologies_dir() / "mirrored", 0.0)
    pair = pairs_of(topology)["Orders"]
    target = next(i for i in pair.partners if i.name == "Partner2")
    [broker] = {d.broker_id for d in pair.databases_of(target)}

    def beat(principal: bool, epoch: int) -> bytes:
        claim = Claim(broker, principal=principal, epoch=epoch)
        return encode_presence("Partner2", "f" * 32, 1, 0, (claim,), 1.0)

    consumer = _Heartbeats([beat(False, 99), beat(claims, 1)])
    moved = Moved("Orders", "Partner1", "Partner2", 1, 2)
    within = DEADLINE if claims else 0.2
    assert failover._claims(cast(Consumer, consumer), moved, pair, target, within) is claims
