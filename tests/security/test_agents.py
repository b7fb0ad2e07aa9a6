"""An agent that a topology states, as a user of its own: Faust, TLS and SCRAM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.client import Client, Receiver
from tests.running import DEADLINE, eventually
from tests.security.leaks import environment
from tests.security.secured import Secured
from tests.security.system import INITIATOR, TOPOLOGY, Guarded, guarded
from tests.workers.rig import pause

ROUTER = "agent.router.ServerB.DatabaseB"
SERVICES, ROUTE = "{TargetService: {queue: TargetQueue}}", "- {name: ToB,"
WITH_ROUTER = (
    TOPOLOGY.replace(
        SERVICES, SERVICES[:-1] + ", DataDependentRouting: {queue: RoutingQueue}}"
    ).replace(
        ROUTE,
        "- {name: ToRouter, service_name: DataDependentRouting, address: 'tcp://ServerB:4022'}\n"
        "          - {name: ToB,",
    )
    + "agents: {router: {runs: data-dependent-routing}}\n"
)


@pytest.fixture
def routed(secured: Secured, tmp_path: Path) -> Iterator[Guarded]:
    with guarded(secured, f"t{uuid.uuid4().hex[:12]}.", tmp_path, WITH_ROUTER) as made:
        made.work()
        yield made


def test_an_agent_answers_with_just_what_its_role_may(routed: Guarded, tmp_path: Path) -> None:
    """It reads its queue, keeps its table, and says statements; nothing is refused or unused."""
    log = tmp_path / "agent.log"
    variables = environment(routed.secured, ROUTER, routed.prefix, tmp_path)
    command = [sys.executable, "-m", "streams", "worker", "agents", "--topology", str(tmp_path)]
    with log.open("wb") as output:
        agent = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=output, stderr=output, cwd=tmp_path
        )
    try:
        eventually(lambda: b"agents: ready" in log.read_bytes() or pause() or agent.poll(), "ready")
        with Client(routed.cluster(INITIATOR), timeout=DEADLINE) as client:
            to = ("ServerA", "DatabaseA", "InitiatorService", "DataDependentRouting")
            dialog = client.begin(*to)
            body = b"<message><toServiceName>TargetService</toServiceName></message>"
            client.send(dialog, body, wait=True)
            queue = ("ServerB", "DatabaseB", "TargetQueue", "target-readers")
            target = "application.ServerB.DatabaseB.TargetService"
            with Receiver(routed.cluster(target), *queue) as receiver:
                [came] = eventually(lambda: receiver.receive(1.0) or agent.poll(), "it is routed")
            assert came.body == body
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(DEADLINE) == 0, log.read_text()
    finally:
        agent.kill()
    assert routed.secured.refused(ROUTER, routed.prefix) == set()
    assert routed.secured.unused(routed.roles[ROUTER]) == set()
    assert "geheim" not in log.read_text()
