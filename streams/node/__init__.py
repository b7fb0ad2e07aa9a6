"""What a forwarder and an endpoint worker do, without Kafka: used by workers and simulator alike.

``Forwarder`` decides records of ``out`` and ``txq``; ``Endpoint`` and ``Transaction`` run dialogs.
"""

from streams.node.endpoint import Endpoint
from streams.node.events import Event, event
from streams.node.forwarder import HELD, Copy, Forwarder, Outcome, Place, Record
from streams.node.holding import Holding
from streams.node.output import CommandResult, OutFrame, QueueMessage
from streams.node.ports import EnvelopeCodec, HopView
from streams.node.presence import SILENCE, Presence
from streams.node.transaction import Bodies, DialogKey, Transaction
from streams.node.world import Contract, MessageType, Service, World, world_of

__all__ = [
    "HELD",
    "SILENCE",
    "Bodies",
    "CommandResult",
    "Contract",
    "Copy",
    "DialogKey",
    "Endpoint",
    "EnvelopeCodec",
    "Event",
    "Forwarder",
    "Holding",
    "HopView",
    "MessageType",
    "OutFrame",
    "Outcome",
    "Place",
    "Presence",
    "QueueMessage",
    "Record",
    "Service",
    "Transaction",
    "World",
    "event",
    "world_of",
]
