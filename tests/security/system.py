"""A system whose every part is a user of its own, and may do what its role may and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from streams.client import Client, Exchange, Receiver
from streams.kafka import Cluster, deploy, read_all, read_begins, read_catalog
from streams.protocol import Limits
from streams.topology import Topology, load
from streams.wire import Topics, decode_event
from streams.wire.acl import Role, roles_of
from streams.workers import ROLES, Plan, Process
from tests.running import DEADLINE, WorkerThread, eventually
from tests.security.leaks import Done, environment, run
from tests.security.secured import Secured

TOPOLOGY = """
instances:
  ServerA:
    address: tcp://ServerA:4022
    databases:
      DatabaseA:
        broker_id: DatabaseA
        queues: {InitiatorQueue: {group: initiator-readers}}
        services: {InitiatorService: {queue: InitiatorQueue}}
        routes:
          - {name: ToB, service_name: TargetService, address: 'tcp://ServerB:4022'}
          - {name: Astray, service_name: Nowhere, address: 'tcp://ServerB:4022'}
  ServerB:
    address: tcp://ServerB:4022
    databases:
      DatabaseB:
        broker_id: DatabaseB
        queues: {TargetQueue: {group: target-readers}}
        services: {TargetService: {queue: TargetQueue}}
        routes: [{name: ToA, service_name: InitiatorService, address: 'tcp://ServerA:4022'}]
"""
INITIATOR = "application.ServerA.DatabaseA.InitiatorService"
TARGET = "application.ServerB.DatabaseB.TargetService"


@dataclass
class Guarded:
    """The system: its roles by name, and its workers."""

    secured: Secured
    prefix: str
    folder: Path
    topology: Topology
    roles: dict[str, Role]
    workers: list[WorkerThread] = field(default_factory=list)

    def cluster(self, user: str) -> Cluster:
        """Return the cluster as a user sees it."""
        return self.secured.as_user(user, self.prefix)

    @property
    def topics(self) -> Topics:
        """Return the names of the topics."""
        return Topics(self.prefix)

    def work(self, keep: float | None = None) -> None:
        """Start all workers as their roles' users; topics keep what is done with for ``keep``."""
        for instance in self.topology.instances:
            for role in ROLES:
                cluster = self.cluster(f"{role}.{instance}")
                read_catalog(cluster)  # as the command does to learn the instances
                plan = Plan((role,), (instance,), keep=keep)
                process = Process(cluster, plan, limits=Limits(), timeout=DEADLINE)
                self.workers.append(WorkerThread(process))

    def rest(self) -> None:
        """Stop all workers; raises what one has failed with."""
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.process.stop()
        for worker in workers:
            worker.stop()

    def check(self) -> None:
        """Raise what a worker has failed with."""
        for worker in self.workers:
            if worker.failure is not None:
                raise worker.failure

    def talk(self) -> None:
        """Hold a dialog: a message, an answer in one transaction with it, ENDs of both sides."""
        with Client(self.cluster(INITIATOR), timeout=DEADLINE) as client:
            here = ("ServerA", "DatabaseA", "InitiatorService", "TargetService")
            dialog = client.begin(*here)
            client.send(dialog, b"question", wait=True)
            there = ("ServerB", "DatabaseB", "TargetQueue", "target-readers")
            with Exchange(self.cluster(TARGET), *there, name=f"{TARGET}.1") as exchange:
                [asked] = eventually(lambda: exchange.receive(1.0), "the question arrives")
                assert asked.body == b"question"
                exchange.send(asked.conversation, b"answer")
                exchange.commit()
            with Client(self.cluster(TARGET), timeout=DEADLINE) as client_there:
                client_there.end(asked.conversation, wait=True)
            mine = ("ServerA", "DatabaseA", "InitiatorQueue", "initiator-readers")
            with Receiver(self.cluster(INITIATOR), *mine) as receiver:
                found: list[bytes] = []

                def both() -> bool:
                    self.check()
                    found.extend(message.body for message in receiver.receive(1.0))
                    return len(found) == 2

                eventually(both, "answer and END arrive")
                assert found[0] == b"answer"
                receiver.commit()
            client.end(dialog, wait=True)
            for service, refuses in (("Nobody", "ServerA"), ("Nowhere", "ServerB")):
                astray = client.begin("ServerA", "DatabaseA", "InitiatorService", service)
                client.send(astray, b"x", wait=True)
                eventually(partial(self._tells, refuses, service), f"{refuses} refuses it")
                client.end(astray, cleanup=True, wait=True)

    def _tells(self, instance: str, service: str) -> bool:
        """Tell whether an instance has told of a copy for a service that it did not pass on."""
        self.check()
        events = map(
            decode_event, (m.value() for m in read_all(self.cluster("observer"), self.topics.event))
        )
        return any(e["instance"] == instance and e["to_service"] == service for e in events)

    def trimmed(self) -> bool:
        """Tell whether every topic of messages was shortened, so all of them were done with."""
        self.check()
        topics = self.topics
        wanted = [
            make(instance)
            for instance in self.topology.instances
            for make in (topics.cmd, topics.inbox, topics.ack, topics.out, topics.txq)
        ]
        wanted += [topics.queue("ServerA", "DatabaseA", "InitiatorQueue"),
                   topics.queue("ServerB", "DatabaseB", "TargetQueue")]  # fmt: skip
        return all(begin > 0 for begin in read_begins(self.cluster("observer"), wanted).values())


@contextmanager
def guarded(secured: Secured, prefix: str, folder: Path, text: str = TOPOLOGY) -> Iterator[Guarded]:
    """Apply the topology as ``apply``."""
    (folder / "topology.yaml").write_text(text, encoding="utf-8")
    topology = load(folder, time.time())
    roles = {role.name: role for role in roles_of(topology, Topics(prefix))}
    secured.add_users(roles)
    secured.grant(roles.values())
    system = Guarded(secured, prefix, folder, topology, roles)
    deploy(system.cluster("apply"), topology)
    try:
        yield system
    except BaseException:
        for worker in system.workers:
            worker.process.stop()
        raise
    system.rest()


def as_user(system: Guarded, user: str, folder: Path, *words: str) -> Done:
    """Run a command as a user of the system; it must not print a password."""
    done = run(folder, environment(system.secured, user, system.prefix, folder), *words)
    done.demand_silence()
    return done
