"""Performs the steps of a scenario on Kafka, and waits for what the simulator has shown."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from streams.kafka import Cluster, deploy, headers_of
from streams.node.liveness.presence import SILENCE
from streams.simulator import SECOND, Scenario, Step
from streams.simulator.scenario import (
    Begin,
    Crash,
    End,
    Move,
    Part,
    Send,
    Side,
    Sql,
    Statement,
    Timer,
)
from streams.simulator.statements import Statements
from streams.topology import Topology, apply_sql
from streams.wire import Topics
from streams.wire.records import MESSAGE, header_of, read_message
from tests.running import eventually
from tests.workers.rig import QUICK, Rig, Running, pause

from .applications import Player
from .moments import Moment, copy_of
from .seen import Onlooker, Seen


class CrashedError(Exception):
    """What a worker ends with where a scenario says that it crashes."""


def _crashed(*_: Any, **__: Any) -> Any:
    raise CrashedError


_CALLS = ("poll", "consume", "produce", "flush", "commit", "commit_transaction")
"""What a crashed worker does no more. Its group is told that it leaves, which saves ten seconds."""


class Stage:
    """A scenario's topology with workers for every instance, and its applications."""

    def __init__(self, rig: Rig, scenario: Scenario, seed: int) -> None:
        self._rig = rig
        self._topology = rig.topology
        self._limits = replace(scenario.limits, retries=QUICK.retries, recheck=QUICK.recheck)
        self._statements = Statements(seed)
        self._dialogs: dict[str, list[tuple[uuid.UUID, Begin]]] = {}
        self._workers: dict[tuple[Part, str], Running] = {}
        for name in rig.topology.instances:
            self._start(Part.INSTANCE, name)
        self._client = rig.client()
        self._players = [
            Player(application, rig.cluster, rig.topology, self._client)
            for application in scenario.applications
        ]
        self._onlooker = Onlooker(rig.cluster, rig.topology)

    def close(self) -> None:
        """End everything that does not end with the rig."""
        for player in self._players:
            player.close()
        self._onlooker.close()
        self._client.close()

    # --- steps -----------------------------------------------------------------------------------

    def play(self, moment: Moment, before: Moment | None) -> None:
        """Do what one moment says; ``before`` is what the simulator had done until then."""
        for step in moment.steps:
            self._play_step(step, before)
        self._client.flush()
        if moment.lasts > 1.2 * SILENCE * SECOND:
            self._notice([s.action for s in moment.steps if isinstance(s.action, Crash)])

    def _play_step(self, step: Step, before: Moment | None) -> None:
        match step.action:
            case Begin() as begin:
                self._begin(begin)
            case Send() | End() | Timer() | Move() as statement:
                for conversation, begin in self._dialogs[statement.dialog]:
                    self._say(statement, conversation, begin, before)
            case Sql(instance, database, text):
                self._change(instance, database, text)
            case Crash(part, name, up):
                if not up and before is not None:
                    self._wait_for_copies(name, before)
                (self._start if up else self._crash)(part, name)
            case other:
                raise AssertionError(f"this has no equivalent on Kafka: {other}")

    def _begin(self, begin: Begin) -> None:
        related = self._dialogs[begin.related][0][0] if begin.related else None
        made = self._dialogs[begin.dialog] = []
        for command in self._statements.begin(begin, _now(), related):
            made.append((command.conversation, begin))
            self._client.perform(begin.instance, command)

    def _say(
        self, said: Statement, conversation: uuid.UUID, begin: Begin, before: Moment | None
    ) -> None:
        initiator = said.side is Side.INITIATOR
        place = (begin.instance, begin.database) if initiator else said.at
        if place is None:
            assert before is not None, "nobody has received anything yet"
            place = next(
                (row["instance"], row["database"])
                for row in before.result.endpoints
                if row["conversation_id"] == str(conversation) and not row["is_initiator"]
            )
        for command in self._statements.commands(said, conversation, place[1], initiator, _now()):
            self._client.perform(place[0], command)

    def _change(self, instance: str, database: str, text: str) -> None:
        """Publish a change, and return when every worker lives by it."""
        self._topology = apply_sql(self._topology, instance, database, text, time.time())
        version = deploy(self._rig.cluster, self._topology, prune=True).version

        def known() -> bool:
            self._rig.check()
            return (
                all(v >= version for w in self._workers.values() for v in _versions(w)) or pause()
            )

        eventually(known, f"all workers at version {version}")

    # --- faults ----------------------------------------------------------------------------------

    def _start(self, part: Part, name: str) -> None:
        if part is not Part.FORWARDER:
            control = self._rig.control()
            worker = self._rig.endpoint(name, limits=self._limits, control=control)
            self._workers[Part.ENDPOINT, name] = worker
        if part is not Part.ENDPOINT:
            worker = self._rig.forwarder(name, control=self._rig.control(name))
            self._workers[Part.FORWARDER, name] = worker

    def _crash(self, part: Part, name: str) -> None:
        parts = (Part.ENDPOINT, Part.FORWARDER) if part is Part.INSTANCE else (part,)
        if Part.FORWARDER in parts:
            self._rig.controls.pop((name,)).stop()  # no heartbeats any more
        for each in parts:
            worker = self._workers.pop((each, name))
            self._rig.running.remove(worker)
            worker.hooks.update(dict.fromkeys(_CALLS, _crashed))
            assert isinstance(worker.ended(), CrashedError), worker.failure

    def _wait_for_copies(self, name: str, before: Moment) -> None:
        """Wait until a forwarder has read what it has by now in the simulator: it shall lose it."""
        topics, worker = self._rig.topics, self._workers[Part.FORWARDER, name].worker

        def read() -> bool:
            self._rig.check()
            txq = self._rig.records(topics.txq(name), stable=True)
            frames = [(m.key(), m.value(), headers_of(m)) for m in txq]
            copies = {copy_of(read_message(*f)) for f in frames if header_of(f[2], MESSAGE)}
            out = self._rig.records(topics.out(name), stable=True)
            return copies >= before.arrived(name) and worker.decided >= len(txq) + len(out)

        eventually(read, f"the copies at {name}")

    def _notice(self, crashes: list[Crash]) -> None:
        """Wait until every forwarder knows who is there and who is not."""
        for crash in crashes:
            if crash.part is not Part.ENDPOINT:
                others = [
                    c
                    for names, c in self._rig.controls.items()
                    if names not in ((), (crash.instance,))
                ]
                eventually(
                    lambda c=crash, o=others: (
                        all(control.reachable(c.instance) is c.up for control in o) or pause()
                    ),
                    f"everybody knows that {crash.instance} is {'up' if crash.up else 'down'}",
                )

    # --- what is to be seen ----------------------------------------------------------------------

    def wait_for(self, *wanted: Seen) -> None:
        """Return when Kafka shows what the simulator did: one of several things, if chance decides.

        What can no longer become so is told at once, all else after a while.
        """
        seen = Seen()

        def shown() -> bool:
            nonlocal seen
            self._rig.check()
            for player in self._players:
                player.turn()
            self._onlooker.read(0.05)
            acts = frozenset(act for player in self._players for act in player.acts)
            seen = Seen(self._onlooker.queues, seen.endpoints, acts)
            assert any(seen.begins(each) for each in wanted), seen.differences(wanted[0])
            if not any(seen.queues == each.queues for each in wanted):
                return False
            seen = replace(seen, endpoints=dict(self._onlooker.endpoints()))
            return any(seen.without_forgotten(each) == each for each in wanted)

        try:
            eventually(shown, "what the simulator has shown")
        except AssertionError as error:
            raise AssertionError(
                f"{error}\n{seen.without_forgotten(wanted[0]).differences(wanted[0])}"
            ) from None


def _versions(worker: Running) -> list[int]:
    """Return the versions of the catalog that a worker lives by."""
    if hasattr(worker.worker, "assignment"):
        return [owned.endpoint.catalog.version for owned in worker.worker.assignment.owned.values()]
    return [worker.worker._processor.catalog.version]


def _now() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def stage(
    bootstrap: str, prefix: str, topology: Topology, scenario: Scenario, seed: int = 0
) -> Iterator[Stage]:
    """Set a scenario up on a broker; everything ends with the block."""
    rig = Rig(Cluster(bootstrap, Topics(prefix)), topology)
    rig.settle()
    made = None
    try:
        made = Stage(rig, scenario, seed)
        yield made
    finally:
        if made is not None:
            made.close()
        rig.stop()
