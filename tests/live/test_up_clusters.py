"""``hopline up``, ``status`` and ``down`` of a topology that names two Kafka clusters."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from streams.client import Client, Conversation, Receiver
from streams.kafka import Cluster
from streams.wire import Topics
from tests.command import invoke
from tests.live.shown import gone, status
from tests.running import DEADLINE, eventually

Shown = dict[str, Any]


def up() -> str:
    done = invoke("up", "two_clusters", "--port", "0")
    assert done.exit_code == 0, done.stderr
    return done.stdout


def clusters() -> dict[str, Shown]:
    """Return the status of each cluster when all are well."""

    def are_running() -> Any:
        found: dict[str, Shown] = status()["clusters"]
        return found if {part["health"] for part in found.values()} == {"running"} else None

    found: dict[str, Shown] = eventually(are_running, "both run")
    return found


def pids(shown: dict[str, Shown]) -> dict[str, list[int]]:
    return {name: [w["pid"] for w in part["workers"]] for name, part in shown.items()}


def order(at: Shown, *bodies: bytes, on: Conversation | None = None) -> Conversation:
    """Send orders at the buyer."""
    with Client(Cluster(at["bootstrap"], Topics(at["prefix"])), timeout=DEADLINE) as client:
        on = on or client.begin("ServerA", "DatabaseA", "OrderService", "SupplierService")
        for body in bodies:
            client.send(on, body, wait=True)
        return on


def supplied(at: Shown, count: int) -> list[bytes]:
    """Receive orders at the seller."""
    cluster = Cluster(at["bootstrap"], Topics(at["prefix"]))
    found: list[bytes] = []
    with Receiver(cluster, "ServerB", "DatabaseB", "SupplierQueue", "ssb.test") as receiver:

        def enough() -> bool:
            found.extend(message.body for message in receiver.receive(0.5))
            return len(found) >= count

        eventually(enough, f"{count} orders")
        receiver.commit()
    return found


@pytest.mark.long
def test_two_clusters_are_started_used_mended_and_stopped(here: Path) -> None:
    """Each has a broker, workers and a supervisor of its own; a broker that has died comes back."""
    text = up()
    shown = clusters()
    assert list(shown) == ["buyer", "seller"]
    for name, served in (("buyer", 3), ("seller", 2)):
        assert f"two_clusters, cluster {name}: {served} instances, ready after" in text
        assert f"--bootstrap {shown[name]['bootstrap']} --prefix ssb." in text
    assert shown["buyer"]["bootstrap"] != shown["seller"]["bootstrap"]
    dialog = order(shown["buyer"], b"first")
    assert supplied(shown["seller"], 1) == [b"first"]

    assert up().count("was already running") == 2
    assert pids(clusters()) == pids(shown)
    seen = eventually(lambda: (found := invoke("status")).exit_code == 0 and found, "both run")
    lines = seen.stdout.splitlines()
    assert [line for line in lines if line.startswith("cluster ")] == [
        "cluster buyer",
        "cluster seller",
    ]
    assert max(map(len, seen.stdout.replace(str(here), "").splitlines())) <= 100

    os.kill(shown["seller"]["broker"]["pid"], signal.SIGKILL)
    assert gone(shown["seller"]["broker"]["pid"])

    def one_runs() -> Result | None:
        shown = invoke("status", "--timeout", "1")  # the other one may need longer for an answer
        return shown if "running: two_clusters" in shown.stdout else None

    broken = eventually(one_runs, "the other cluster runs")
    assert broken.exit_code == 1
    assert "broken: two_clusters" in broken.stdout
    order(shown["buyer"], b"second", on=dialog)
    up()
    mended = clusters()
    assert pids(mended)["buyer"] == pids(shown)["buyer"], "what runs stays"
    assert supplied(mended["seller"], 1) == [b"second"]

    ended = invoke("down", "--format", "json")
    assert json.loads(ended.stdout) == {"workers": True, "broker": True}
    for part in mended.values():
        assert all(gone(w["pid"]) for w in part["workers"])
        assert gone(part["broker"]["pid"]) and gone(part["keeper"]["pid"])
    assert invoke("status").stdout.startswith("stopped: ")
    assert invoke("down").stdout == f"No process of {here / '.hopline' / 'up'} is running.\n"
