"""What a forwarder and an endpoint worker do, without Kafka: used by workers and simulator alike.

``Forwarder`` decides records of ``out`` and ``txq``; ``Endpoint`` and ``Transaction`` run dialogs.
"""

from streams.node.claims import Claim, answer_in, claims_of
from streams.node.configuration import (
    BeginNotice,
    Configuration,
    MissingRoute,
    Request,
    TryAgain,
    parse_missing_route,
)
from streams.node.dialogs import Dialogs
from streams.node.endpoint import Endpoint
from streams.node.events import Event, event
from streams.node.far_presence import FarPresence
from streams.node.flows import PROBES, UNLIMITED
from streams.node.forwarder import Forwarder
from streams.node.groups import DialogKey
from streams.node.holding import Holding, counted
from streams.node.kafka_clock import KafkaClock
from streams.node.lane import Lane
from streams.node.mirror import Answer, MirroredRoute, Pair, RouteState, Step, role_of
from streams.node.moving import Moves, moves_of
from streams.node.needs import Needs, Spare
from streams.node.outcome import HELD, Copy, Outcome, Place, Record
from streams.node.output import CommandResult, OutFrame, QueueMessage
from streams.node.owners import held_epoch, home_of, narrowed, owner_of, pairs_at
from streams.node.ports import EnvelopeCodec, HopView, Roles
from streams.node.precedence import member_name
from streams.node.presence import EACH_SECOND, LONGEST_PERIOD, SILENCE, Presence, period_of
from streams.node.queue import Progress, ReadyQueue, Row
from streams.node.roles import Question, RoleBook, RoleFrame, reply
from streams.node.seen import Said, Seen
from streams.node.tenants import FRESH, LEFT, MANY, Tenancy, Tenants
from streams.node.transaction import Bodies, Transaction
from streams.node.world import Contract, MessageType, Service, World, world_of

__all__ = [
    "EACH_SECOND",
    "FRESH",
    "HELD",
    "LEFT",
    "LONGEST_PERIOD",
    "MANY",
    "PROBES",
    "SILENCE",
    "UNLIMITED",
    "Answer",
    "BeginNotice",
    "Bodies",
    "Claim",
    "CommandResult",
    "Configuration",
    "Contract",
    "Copy",
    "DialogKey",
    "Dialogs",
    "Endpoint",
    "EnvelopeCodec",
    "Event",
    "FarPresence",
    "Forwarder",
    "Holding",
    "HopView",
    "KafkaClock",
    "Lane",
    "MessageType",
    "MirroredRoute",
    "MissingRoute",
    "Moves",
    "Needs",
    "OutFrame",
    "Outcome",
    "Pair",
    "Place",
    "Presence",
    "Progress",
    "Question",
    "QueueMessage",
    "ReadyQueue",
    "Record",
    "Request",
    "RoleBook",
    "RoleFrame",
    "Roles",
    "RouteState",
    "Row",
    "Said",
    "Seen",
    "Service",
    "Spare",
    "Step",
    "Tenancy",
    "Tenants",
    "Transaction",
    "TryAgain",
    "World",
    "answer_in",
    "claims_of",
    "counted",
    "event",
    "held_epoch",
    "home_of",
    "member_name",
    "moves_of",
    "narrowed",
    "owner_of",
    "pairs_at",
    "parse_missing_route",
    "period_of",
    "reply",
    "role_of",
    "world_of",
]
