"""Predict which statements of a replay the endpoint workers will reject, by error number.

The code of the endpoint worker decides (:mod:`streams.node.endpoint`), with the catalog of the
target topology. Each dialog's first message arrives immediately in the databases to which the
routing core sends it, so that the target's statements can be judged. No other message is delivered
and no time passes, so rejections due to the other side's END or to an expired lifetime are not
predicted.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping

from streams.capture.record import Record
from streams.errors.refusals import Refusal, Refusals
from streams.node import Endpoint, Transaction, catalog_of
from streams.protocol import (
    DEFAULT,
    Command,
    CommandKind,
    DialogKey,
    Header,
    Journey,
    Limits,
    Message,
    Parties,
)
from streams.topology import Topology, homes_of
from streams.wire import MalformedError, Topics
from streams.wire.place import place_of
from streams.wire.records import is_moved, read_command

__all__ = ["predict_refusals"]

_ALWAYS = 1 << 47
"""An expiry time, in epoch milliseconds, that is later than that of any message."""
_FIRST = uuid.UUID(int=0)


def predict_refusals(
    records: Iterable[Record],
    prefix: str,
    topology: Topology,
    places: Mapping[str, Collection[str]],
    now: int,
) -> Refusals:
    """Return the rejections of commands in order; ``now`` is in epoch milliseconds.

    ``places`` are the databases (``instance/database``) that a dialog's first message may reach, by
    conversation id. Records other than commands of the topology's instances are skipped.
    """
    predictor = _Predictor(topology, places, now)
    topics, homes = Topics(prefix), homes_of(topology)
    for record in records:
        place = place_of(record.topic, topics)
        if place is None or place.kind != "cmd" or place.instance not in homes:
            continue
        headers = list(record.headers)
        if is_moved(headers):
            continue
        try:
            command = read_command(record.key, record.value, headers, record.timestamp)
        except MalformedError:
            continue  # this yields event 161, not a rejected statement
        # A replay issues every statement anew, so no statement counts as repeated.
        predictor.take(homes[place.instance], command._replace(cause=None), record.timestamp)
    return predictor.refusals


class _Unread:
    """The source of earlier bodies, which is never used, because nothing is transmitted."""

    def commands(self, positions: Collection[int]) -> Mapping[int, Command]:
        raise AssertionError(f"commands at {positions}")

    def messages(self, positions: Collection[int]) -> Mapping[int, Message]:
        raise AssertionError(f"messages at {positions}")


class _Predictor:
    def __init__(self, topology: Topology, places: Mapping[str, Collection[str]], now: int) -> None:
        self.refusals = Refusals()
        self._catalog, self._places, self._now = catalog_of(topology, 0), places, now
        self._databases = {
            f"{name}/{database}": (name, database)
            for name, instance in topology.instances.items()
            for database in instance.databases
        }
        self._open: dict[str, Transaction] = {}

    def take(self, instance: str, command: Command, at: int) -> None:
        """Execute a statement in the never-ending transaction of its instance."""
        tx = self._transaction(instance)
        tx.command(0, command)
        number = next((e["error"] for e in tx.events if e.get("error")), 0)
        about = command.conversation, command.from_initiator
        for conversation in (command.conversation, *command.also):
            _clear(tx, (command.database, conversation, command.from_initiator))
        if number:
            place, kind = f"{instance}/{command.database}", command.kind.value
            self.refusals.note(number, Refusal(at, *about, command.command_id, place, kind))
        elif command.kind is CommandKind.SEND and command.from_initiator:
            for conversation in (command.conversation, *command.also):
                self._deliver(tx, conversation, command)

    def _deliver(self, sender: Transaction, conversation: uuid.UUID, command: Command) -> None:
        """Put a dialog's first message into the databases that it may reach."""
        own = sender.machines[command.database, conversation, True].dialog
        for place in self._places.get(str(conversation), ()):
            instance, database = self._databases[place]
            tx = self._transaction(instance)
            if (database, conversation, False) in tx.machines:
                continue
            broker = tx.endpoint.here.databases[database].broker_id
            parties = Parties(
                own.far_service, broker, own.service, own.broker_id, own.contract,
                from_initiator=True,
            )  # fmt: skip
            header = Header(_FIRST, command.type or DEFAULT, 0, self._now, own.expires_at)
            journey = Journey(1, _ALWAYS, 0, self._now)
            tx.message(0, Message(conversation, parties, header, journey, command.body or b""))
            _clear(tx, (database, conversation, False))

    def _transaction(self, instance: str) -> Transaction:
        if instance not in self._open:
            endpoint = Endpoint(instance, self._catalog, Limits())
            self._open[instance] = endpoint.begin(_Unread(), self._now, timers=False, opens=False)
        return self._open[instance]


def _clear(tx: Transaction, key: DialogKey) -> None:
    """Drop the output for a dialog, because only its state is needed."""
    tx.events.clear()
    tx.results.clear()
    machine = tx.machines.get(key)
    if machine is not None:
        machine.effects.clear()
