"""The logic of forwarders and endpoint workers, without Kafka; shared by workers and simulator.

``Forwarder`` decides about records of ``out`` and ``txq``; ``Endpoint`` and ``Transaction`` run
dialogs.
"""

from streams.node.catalog_view import CatalogView, Contract, MessageType, Service, catalog_of
from streams.node.endpoint.bodies import Bodies, TooMuchError, UnreadableError
from streams.node.endpoint.dialogs import Dialogs
from streams.node.endpoint.endpoint import Endpoint, Taken
from streams.node.endpoint.flows import PROBES, UNLIMITED
from streams.node.endpoint.moving import Moves, moves_of
from streams.node.endpoint.outgoing import CommandResult, OutFrame, QueueMessage
from streams.node.endpoint.retention import RetentionFloor, TrimPoint
from streams.node.endpoint.route_requests import (
    BeginNotice,
    Configuration,
    MissingRoute,
    TryAgain,
    parse_missing_route,
)
from streams.node.endpoint.transaction import Transaction
from streams.node.events import event
from streams.node.forwarder.decide import Forwarder
from streams.node.forwarder.holding import Holding, forward_size
from streams.node.forwarder.lane import Lane
from streams.node.forwarder.outcome import HELD, Copy, Outcome, Place, Record
from streams.node.forwarder.ports import EnvelopeCodec, HopView, Roles
from streams.node.liveness.far_presence import FarPresence
from streams.node.liveness.kafka_clock import KafkaClock
from streams.node.liveness.precedence import member_name
from streams.node.liveness.presence import EACH_SECOND, SILENCE, Presence, period_of
from streams.node.liveness.slot_owners import (
    FRESH,
    LEFT,
    MOST_NAMES,
    Keeps,
    SlotOwners,
    SlotState,
    displaced,
    next_removal,
)
from streams.node.mirroring.claims import answer_in, by_broker, claims_of
from streams.node.mirroring.mirror import MirroredRoute, Pair, RoleAnswer, RouteState, Step
from streams.node.mirroring.owners import held_epoch, home_of, narrowed, owner_of, pairs_at
from streams.node.mirroring.principals import Peers, Principals
from streams.node.queue import Progress, ReadyQueue, ReadyRow

__all__ = [
    "EACH_SECOND",
    "FRESH",
    "HELD",
    "LEFT",
    "MOST_NAMES",
    "PROBES",
    "SILENCE",
    "UNLIMITED",
    "BeginNotice",
    "Bodies",
    "CatalogView",
    "CommandResult",
    "Configuration",
    "Contract",
    "Copy",
    "Dialogs",
    "Endpoint",
    "EnvelopeCodec",
    "FarPresence",
    "Forwarder",
    "Holding",
    "HopView",
    "KafkaClock",
    "Keeps",
    "Lane",
    "MessageType",
    "MirroredRoute",
    "MissingRoute",
    "Moves",
    "OutFrame",
    "Outcome",
    "Pair",
    "Peers",
    "Place",
    "Presence",
    "Principals",
    "Progress",
    "QueueMessage",
    "ReadyQueue",
    "ReadyRow",
    "Record",
    "RetentionFloor",
    "RoleAnswer",
    "Roles",
    "RouteState",
    "Service",
    "SlotOwners",
    "SlotState",
    "Step",
    "Taken",
    "TooMuchError",
    "Transaction",
    "TrimPoint",
    "TryAgain",
    "UnreadableError",
    "answer_in",
    "by_broker",
    "catalog_of",
    "claims_of",
    "displaced",
    "event",
    "forward_size",
    "held_epoch",
    "home_of",
    "member_name",
    "moves_of",
    "narrowed",
    "next_removal",
    "owner_of",
    "pairs_at",
    "parse_missing_route",
    "period_of",
]
