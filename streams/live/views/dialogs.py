"""The views of dialogs, from the endpoint workers' committed state; workers need not be running."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Fetcher, headers_of, partitions_of
from streams.live.views.places import Asked, Row
from streams.node.views import conversation_endpoint, parked_messages, transmission_queue
from streams.protocol import Command, Dialog
from streams.protocol import Message as Frame
from streams.topology import Database, Instance, Role, home_of
from streams.wire import MalformedError
from streams.wire.records import read_command, read_message
from streams.workers.endpoint.bodies import fetch_record
from streams.workers.endpoint.restore import read_dialogs


def conversation_endpoints(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.conversation_endpoints``."""
    for place in asked.places:
        for dialog, _ in dialogs_of(asked.cluster, place.instance, place.databases):
            row = conversation_endpoint(place.instance.name, dialog, asked.now)
            if row is not None:
                yield row


def conversation_groups(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.conversation_groups``: the groups that have an endpoint."""
    seen: set[tuple[str, str, str]] = set()
    for row in conversation_endpoints(asked):
        key = (row["instance"], row["database"], row["conversation_group_id"])
        if key not in seen:
            seen.add(key)
            yield {
                "instance": row["instance"],
                "database": row["database"],
                "conversation_group_id": row["conversation_group_id"],
                "service_id": row["service_id"],
                "service_name": row["service_name"],
                "is_system": False,
            }


def transmission_queues(asked: Asked) -> Iterator[Row]:
    """Yield the rows of ``sys.transmission_queue``."""
    for place in asked.places:
        name = place.instance.name
        bodies: dict[tuple[str, int], _Bodies] = {}
        try:
            for dialog, lives_in in dialogs_of(asked.cluster, place.instance, place.databases):
                if lives_in not in bodies:
                    bodies[lives_in] = _Bodies(asked.cluster, *lives_in)
                stored = bodies[lives_in]
                conversation = dialog.conversation
                yield from transmission_queue(name, dialog, partial(stored.command, conversation))
                yield from parked_messages(name, dialog, partial(stored.frame, conversation))
        finally:
            for stored in bodies.values():
                stored.close()


def dialogs_of(
    cluster: Cluster, instance: Instance, databases: Sequence[Database]
) -> Iterator[tuple[Dialog, tuple[str, int]]]:
    """Yield the endpoints of databases, oldest first, with their partition.

    The result includes closed endpoints of a former broker id (NEW_BROKER, reference 1.5). A mirror
    has no endpoints; its principal has them.
    """
    found: list[tuple[Dialog, tuple[str, int]]] = []
    served = [d for d in databases if d.mirror is None or d.mirror.role is Role.PRINCIPAL]
    names = {database.name: home_of(instance.name, database) for database in served}
    for home in dict.fromkeys(names.values()):
        topic = cluster.topics.dialog(home)
        for partition in partitions_of(cluster, topic):
            try:
                dialogs = read_dialogs(cluster, topic, partition)
            except MalformedError as error:
                raise SurroundingsError(
                    f"{topic}/{partition} cannot be decoded: {error}"
                ) from error
            found += [
                (d, (home, partition)) for d in dialogs.values() if names.get(d.database) == home
            ]
    yield from sorted(found, key=lambda f: (f[0].created_at, f[0].conversation))


class _Bodies:
    """The bodies of one partition of ``cmd`` and ``in``, by position; ``None`` if deleted."""

    def __init__(self, cluster: Cluster, home: str, partition: int) -> None:
        topics = cluster.topics
        self._cmd = Fetcher(cluster, topics.cmd(home), partition)
        self._in = Fetcher(cluster, topics.inbox(home), partition)

    def command(self, conversation: uuid.UUID, position: int) -> Command | None:
        """Return a command."""
        with suppress(SurroundingsError, MalformedError):
            m = fetch_record(self._cmd, position, conversation)
            return read_command(m.key(), m.value(), headers_of(m), m.timestamp()[1])
        return None

    def frame(self, conversation: uuid.UUID, position: int) -> Frame | None:
        """Return a message frame."""
        with suppress(SurroundingsError, MalformedError):
            m = fetch_record(self._in, position, conversation)
            return read_message(m.key(), m.value(), headers_of(m))
        return None

    def close(self) -> None:
        """Close the readers."""
        self._cmd.close()
        self._in.close()
