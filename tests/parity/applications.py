"""Applications on Kafka that do what those of a scenario do: with ``Receiver`` and ``Client``."""

from __future__ import annotations

from streams.client import Client, Received, Receiver
from streams.kafka import Cluster
from streams.simulator.scenario import Application, Does
from streams.topology import Topology, queue_of


class Player:
    """One application, reading one queue; a turn at a time, in the thread of the test."""

    def __init__(
        self, application: Application, cluster: Cluster, topology: Topology, client: Client
    ) -> None:
        place = (application.instance, application.database)
        database = topology.instances[place[0]].database(place[1])
        queue = None if database is None else queue_of(database, application.service)
        assert queue is not None, application
        group = f"{cluster.topics.prefix}{'.'.join(place)}.{application.service}"
        self._receiver = Receiver(cluster, *place, queue.name, group)
        self._client, self._application = client, application
        self._replies = 0
        self.acts: set[tuple[str, str, int]] = set()

    def close(self) -> None:
        """Leave the group."""
        self._receiver.__exit__()

    def turn(self) -> None:
        """Receive what there is, and answer it; its commands are durable before it is committed."""
        while group := self._receiver.receive(0.02):
            for received in group:
                if received.frame.parties.to_service == self._application.service:
                    for does in self._application.does:
                        self._do(does, received)
        self._client.flush()
        self._receiver.commit()

    def _do(self, does: Does, received: Received) -> None:
        first = received.frame.header.sequence == 0
        if does is Does.END:
            if received.ends_dialog:
                self._client.end(received.conversation)
        elif received.ends_dialog:
            return
        elif does is Does.REPLY:
            self._reply(received)
        elif does is Does.ACT:
            if first:
                self._act(received)
        elif first:  # of a handshake
            self._reply(received)
        elif received.confirmed and received.frame.header.sequence == 1:
            self._act(received)

    def _reply(self, to: Received) -> None:
        limit = self._application.limit
        if limit is None or self._replies < limit:
            self._replies += 1
            said = self._application
            self._client.send(to.conversation, said.body.encode(), type=said.type)

    def _act(self, on: Received) -> None:
        said = self._application
        where = f"{said.instance}/{said.database}/{said.service}"
        self.acts.add((where, str(on.conversation.id), on.frame.header.sequence))
