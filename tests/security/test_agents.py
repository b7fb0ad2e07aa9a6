"""An agent that a topology states, as a user of its own: Faust, TLS and SCRAM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from streams.client import Client, Receiver
from streams.errors import EventKind
from streams.kafka import read_all
from streams.wire import decode_event
from tests.running import DEADLINE, eventually
from tests.security.leaks import environment
from tests.security.secured import Secured
from tests.security.system import INITIATOR, TARGET, TOPOLOGY, Guarded, guarded
from tests.workers.rig import pause

OWN = """
from streams.agents import hopline_app

app = hopline_app("target", instance="ServerB", database="DatabaseB", web_enabled=False)


@app.service("TargetService")
async def answer(dialog, message):
    await dialog.send(b"answered") if message.frame.header.sequence == 0 else None
"""
WITH_OWN = TOPOLOGY.replace("target-readers", "target") + "agents: {mine: {runs: 'mine:app'}}\n"
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


@pytest.fixture
def own(secured: Secured, tmp_path: Path) -> Iterator[Guarded]:
    (tmp_path / "mine.py").write_text(OWN)
    with guarded(secured, f"t{uuid.uuid4().hex[:12]}.", tmp_path, WITH_OWN) as made:
        made.work()
        yield made


@contextmanager
def answering(system: Guarded, user: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the topology's agents as a user; they end in order, and tell no password."""
    log = folder / "agent.log"
    variables = environment(system.secured, user, system.prefix, folder)
    command = [sys.executable, "-m", "streams", "worker", "agents", "--topology", str(folder)]
    with log.open("wb") as output:
        agent = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=output, stderr=output, cwd=folder
        )
    try:
        eventually(lambda: b"agents: ready" in log.read_bytes() or pause() or agent.poll(), "ready")
        yield agent
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(DEADLINE) == 0, log.read_text()
    finally:
        agent.kill()
    assert "geheim" not in log.read_text()


@pytest.mark.long
def test_an_agent_answers_with_just_what_its_role_may(routed: Guarded, tmp_path: Path) -> None:
    """It reads its queue, keeps its table, and says statements; nothing is refused or unused."""
    with (
        answering(routed, ROUTER, tmp_path) as agent,
        Client(routed.cluster(INITIATOR), timeout=DEADLINE) as client,
    ):
        to = ("ServerA", "DatabaseA", "InitiatorService", "DataDependentRouting")
        dialog = client.begin(*to)
        body = b"<message><toServiceName>TargetService</toServiceName></message>"
        client.send(dialog, body, wait=True)
        queue = ("ServerB", "DatabaseB", "TargetQueue", "target-readers")
        with Receiver(routed.cluster(TARGET), *queue) as receiver:
            [came] = eventually(lambda: receiver.receive(1.0) or agent.poll(), "it is routed")
        assert came.body == body
    assert routed.secured.refused(ROUTER, routed.prefix) == set()
    assert routed.secured.unused(routed.roles[ROUTER]) == set()


def test_an_agent_of_one_s_own_works_as_its_service_and_tells_that_it_runs(
    own: Guarded, tmp_path: Path
) -> None:
    tells = replace(own.roles["own-agent.mine"], name=TARGET)
    own.secured.grant([tells])
    with (
        answering(own, TARGET, tmp_path) as agent,
        Client(own.cluster(INITIATOR), timeout=DEADLINE) as client,
    ):
        parties = ("ServerA", "DatabaseA", "InitiatorService")
        client.send(client.begin(*parties, "TargetService"), b"question", wait=True)
        mine = ("ServerA", "DatabaseA", "InitiatorQueue", "initiator-readers")
        with Receiver(own.cluster(INITIATOR), *mine) as receiver:
            [came] = eventually(lambda: receiver.receive(1.0) or agent.poll(), "the answer")
        assert came.body == b"answered"
    events = read_all(own.cluster("observer"), own.topics.event)
    told = [decode_event(message.value()) for message in events]
    assert [e["subclass"] for e in told if e["event"] == EventKind.ACTIVATION] == [1, 2]
    assert own.secured.refused(TARGET, own.prefix) == set()
    assert own.secured.unused(tells) == set()
