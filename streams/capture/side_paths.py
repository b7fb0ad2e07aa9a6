"""Find the path of a dialog's messages from its records, instance by instance for each side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.errors import EventKind

_FORWARDED, _DROPPED = EventKind.FORWARDED_MESSAGE_SENT, EventKind.FORWARDED_MESSAGE_DROPPED
_ARRIVED = (6, 7, 8, 9, 12)
"""Subclasses of Broker:Conversation about a received message."""


@dataclass(slots=True)
class SidePath:
    """The instances on the path of one side's messages, ordered by their first records.

    ``drops`` contains the errors with which copies were dropped, and the places.
    """

    from_initiator: bool
    instances: list[str] = field(default_factory=list)
    drops: list[str] = field(default_factory=list)

    def meet(self, instance: str | None) -> None:
        """Add an instance on the path."""
        if instance and instance not in self.instances:
            self.instances.append(instance)


def side_paths(records: Iterable[Mapping[str, Any]]) -> tuple[SidePath, SidePath]:
    """Return the paths of the initiator's and of the target's messages.

    Records are described (:func:`streams.wire.describe.describe`), in time order. Several paths are
    merged into one list, each instance once, in the order of their first records.
    """
    both = SidePath(True), SidePath(False)
    for record in records:
        if record.get("kind") == "event" and record.get("event"):
            _event(record["event"], both)
        elif record.get("command"):
            command = record["command"]
            if command["kind"] == "SEND":
                both[not command["from_initiator"]].meet(record.get("instance"))
        elif record.get("message") and record.get("route"):
            _message(record, both[not record["route"]["from_initiator"]])
    return both


def _message(record: Mapping[str, Any], path: SidePath) -> None:
    for visit in (record.get("hop") or {}).get("path", ()):
        path.meet(visit["instance"])
    path.meet(record.get("instance"))


def _event(event: Mapping[str, Any], both: tuple[SidePath, SidePath]) -> None:
    initiator = event.get("from_initiator")
    if initiator is None:
        return
    kind, at = event["event"], event["instance"]
    if kind == EventKind.CONVERSATION:
        if event["subclass"] == 1:
            both[not initiator].meet(at)
        elif event["subclass"] in _ARRIVED and (event["subclass"] != 12 or not initiator):
            both[bool(initiator)].meet(at)  # the endpoint has received a message of the other side
        return
    if kind in (EventKind.MESSAGE_CLASSIFY, _FORWARDED, _DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        both[not initiator].meet(at)
    if kind in (_DROPPED, EventKind.MESSAGE_UNDELIVERABLE):
        drop = f"{event['error']} at {at}"
        if drop not in both[not initiator].drops:
            both[not initiator].drops.append(drop)
