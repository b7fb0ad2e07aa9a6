"""A worker's slot: its name across restarts, used by one process at a time.

A worker that restarts in its slot gets its partitions back immediately, because Kafka knows its
static member id (``group.instance.id``) and does not wait for a session timeout. The previous owner
is fenced in the group (an endpoint worker also by its transactional id), and its process exits.

Kafka's client considers itself fenced in three other cases: the group coordinator was unavailable
for longer than the session timeout while the worker waited for Kafka; Kafka aborted a transaction
that took too long; or another client has written a record with the worker's producer id. If no
other process sends heartbeats in the slot, the worker restarts its loop. Before that, it waits
until it has read three of its own heartbeats. This takes a few seconds, which limits the rate of
restarts.

If two processes were started with the same slot by mistake, they would fence each other forever. So
a process does not take a slot that has heartbeats, and it takes either all of its slots or none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import LOST, FencedError, KafkaError, KafkaException
from streams.node import CatalogView, SlotState, member_name
from streams.workers.control import Control

log = logging.getLogger("hopline.process")

UNNAMED = "0"
"""Slot of an endpoint worker without a named slot, because its transactions need a name."""
_LOOK = 0.05
_RETURNED = 3
"""Number of our heartbeats to read after a fence; by then, a rival has also written some."""
_RETURNED_WITHIN = 30.0
"""Seconds allowed for reading these heartbeats."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a role at an instance; without a ``name`` its worker is not a static member."""

    instance: str
    role: str
    name: str = ""

    @property
    def heartbeat_name(self) -> str:
        """Return the name of the slot's heartbeats; no instance has this name."""
        return f"{self.instance}/{self.role}/{self.name or UNNAMED}"

    def member(self, home: str, catalog: CatalogView) -> dict[str, Any]:
        """Return the properties of a static member of a home's group; none without a name.

        A static member does not leave the group when it stops, so its partitions wait for it until
        its session times out.
        """
        if not self.name:
            return {}
        return {"group_instance_id": member_name(self.name, home, catalog.partitions)}

    def hold(
        self,
        control: Control,
        stop: threading.Event,
        work: Callable[[], None],
        *,
        anew: bool = True,
    ) -> None:
        """Work in the slot and send heartbeats; report leaving when the work is done.

        If Kafka fences the worker although no other process uses the slot, the work starts again.
        Raises FencedError if another process uses the slot, or if ``anew`` is false.
        """
        control.add_heartbeat(self.heartbeat_name)
        while True:
            try:
                with self._fenced():
                    work()
                control.end_heartbeat(self.heartbeat_name)
                return
            except FencedError as error:
                if not anew or not self._is_alone(control, stop):
                    raise
                log.warning("%s No other process uses the slot; restarting.", error.message)

    def _is_alone(self, control: Control, stop: threading.Event) -> bool:
        """Return whether only our own heartbeats arrive in the slot."""
        name = self.heartbeat_name
        owners = control.slot_owners(name)
        until, wanted = time.monotonic() + _RETURNED_WITHIN, owners.last_heartbeat(name) + _RETURNED
        while owners.last_heartbeat(name) < wanted:
            if time.monotonic() > until or stop.wait(_LOOK):
                return False
        return not owners.has_rival(name)

    @contextmanager
    def _fenced(self) -> Iterator[None]:
        """Raise FencedError if Kafka's consumer reports that another process uses the name."""
        try:
            yield
        except KafkaException as error:
            if error.args[0].code() in LOST:
                raise self.lost(error.args[0]) from error
            raise

    def lost(self, cause: KafkaError) -> FencedError:
        """Return the error for a slot that another process owns according to Kafka."""
        return FencedError(
            f"The {self.role} of {self.instance} has lost slot {self.name or UNNAMED}: "
            f"{cause.str()}.",
            "Another process took the slot, or this process was suspended for too long. Restart "
            "it with its own --slot.",
        )


def refuse_taken(slots: Sequence[Slot], control: Control, stop: threading.Event) -> None:
    """Raise SurroundingsError if a process sends heartbeats in one of these slots.

    The decision is made only after ``presence`` was read to its end. The check then waits at most
    three seconds, or not at all if predecessors have sent no heartbeats for longer. There is no
    decision if ``stop`` is set.
    """
    if not slots:
        return
    control.catch_up_presence(time.monotonic(), stop)
    if stop.is_set():
        return
    names = [slot.heartbeat_name for slot in slots]
    owners = control.slot_owners(*names)
    until, is_over = time.monotonic() + owners.patience(names), False
    while True:
        found = {slot: owners.state(slot.heartbeat_name) for slot in slots}
        for slot, state in found.items():
            if state is SlotState.TAKEN:
                raise SurroundingsError(
                    f"Another process uses slot {slot.name or UNNAMED} of the {slot.role} of "
                    f"{slot.instance}: it sent a heartbeat just now.",
                    "Give each process its own --slot.",
                )
        if is_over or SlotState.OPEN not in found.values() or stop.wait(_LOOK):
            return
        if time.monotonic() > until:
            control.catch_up_presence(time.monotonic(), stop)  # delayed heartbeats may be read now
            is_over = True
