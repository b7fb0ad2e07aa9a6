"""A scenario as values: the network, the steps, and the faults.

Times and durations are whole microseconds of virtual time. :mod:`streams.simulator.read` reads
scenarios from files, and :mod:`streams.simulator.write` writes them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from streams.protocol import DEFAULT, Limits
from streams.simulator.clock import MILLISECOND, SECOND
from streams.topology import NOWHERE, Source


@dataclass(frozen=True, slots=True)
class Latency:
    """The transit time of a copy, uniformly distributed from ``least`` to ``most``.

    ``heavy`` is the mean of an additional heavy tail (Pareto, exponent 2).
    """

    least: int = 5 * MILLISECOND
    most: int = 5 * MILLISECOND
    heavy: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """The behaviour of a link; the numbers are probabilities per copy."""

    latency: Latency = Latency()
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """All links: the default, the exceptions by link ends (sorted), and the end of random faults.

    From ``until`` on, no copy is randomly lost, duplicated, reordered or unusually late, and no
    transaction is randomly aborted.
    """

    link: Link = Link()
    links: Mapping[tuple[str, str], Link] = field(default_factory=dict)
    until: int | None = None


class Side(Enum):
    """The side that issues a statement."""

    INITIATOR = "initiator"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN DIALOG CONVERSATION; ``lifetime`` is in seconds.

    With a ``count``, that many dialogs have this name, and each statement on the name is issued on
    all of them. ``related`` is the name of a dialog whose group this dialog joins.
    """

    dialog: str
    instance: str
    database: str
    service: str
    to: str
    broker: str | None = None
    contract: str = DEFAULT
    conversation: uuid.UUID | None = None
    lifetime: int | None = None
    group: uuid.UUID | None = None
    count: int = 1
    related: str | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """SEND ON CONVERSATION, ``count`` times; ``at`` (instance, database) selects among targets."""

    dialog: str
    side: Side = Side.INITIATOR
    type: str = DEFAULT
    body: str = ""
    count: int = 1
    at: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class End:
    """END CONVERSATION, WITH ERROR if an error is given, or WITH CLEANUP."""

    dialog: str
    side: Side = Side.INITIATOR
    error: tuple[int, str] | None = None
    cleanup: bool = False
    at: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Timer:
    """BEGIN CONVERSATION TIMER; ``timeout`` is in seconds."""

    dialog: str
    timeout: int
    side: Side = Side.INITIATOR
    at: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """MOVE CONVERSATION to another group."""

    dialog: str
    group: uuid.UUID
    side: Side = Side.INITIATOR
    at: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Receive:
    """RECEIVE ``count`` messages from a queue, or all if ``None``; the result contains them."""

    instance: str
    database: str
    queue: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Sql:
    """T-SQL that is executed in a database and changes the topology."""

    instance: str
    database: str
    text: str


class Part(Enum):
    """The part of an instance that crashes."""

    INSTANCE = "instance"
    ENDPOINT = "endpoint"
    FORWARDER = "forwarder"


@dataclass(frozen=True, slots=True)
class Crash:
    """A process crashes or, with ``up``, restarts from the durable state."""

    part: Part
    instance: str
    up: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A link goes down in both directions or, with ``up``, is restored."""

    link: tuple[str, str]
    up: bool = False


@dataclass(frozen=True, slots=True)
class Skew:
    """From now on, an instance's clock is off by this much."""

    instance: str
    by: int


@dataclass(frozen=True, slots=True)
class Failover:
    """An instance becomes the principal of a mirrored pair, or the primary of its group."""

    pair: str
    to: str


@dataclass(frozen=True, slots=True)
class Abort:
    """The next transactions of an instance's endpoint worker are aborted by Kafka."""

    instance: str
    count: int


Statement = Send | End | Timer | Move
"""A statement of one side of a dialog."""
Action = Begin | Statement | Receive | Sql | Crash | Cut | Skew | Abort | Failover


@dataclass(frozen=True, slots=True)
class Step:
    """An action with its time; steps with the same time happen in list order."""

    at: int
    action: Action
    source: Source = field(default=NOWHERE, compare=False)


class Does(Enum):
    """The reaction of an application to received messages."""

    REPLY = "reply"  # answers every message
    ACT = "act"  # has an external effect that must happen once
    HANDSHAKE = "handshake"  # answers the first message, and acts on messages of a confirmed dialog
    END = "end"  # ends the dialog when the other side has ended it, or when it has failed
    CLOSE = "close"  # ends the dialog as soon as it has received the first message
    ROUTE = "route"  # the data-dependent router, which reads /message/toServiceName in the body
    CONFIGURE = "configure"  # the configuration service: creates the requested route
    REDIRECT = "redirect"  # the redirecting router: answers with that service's name, and ends


@dataclass(frozen=True, slots=True)
class Application:
    """A program that reads a service's queue. Its position is durable together with its commands.

    ``routes`` maps each service to the address that ``configure`` uses for it.
    """

    instance: str
    database: str
    service: str
    does: tuple[Does, ...]
    type: str = DEFAULT
    body: str = "reply"
    limit: int | None = None
    routes: Mapping[str, str] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run, without its topology and its seed.

    ``aborts`` is the probability that a transaction is aborted. ``stalls`` is the probability that
    a stalled replica of the forwarder later writes a copy to ``in`` a second time. ``skew`` is an
    instance's clock error, ``memory`` overrides MESSAGE_FORWARD_SIZE (in bytes), and ``batch`` is
    the maximum number of records that a process reads at a time.
    """

    steps: tuple[Step, ...] = ()
    until: int = 120 * SECOND
    network: Network = Network()
    applications: tuple[Application, ...] = ()
    aborts: float = 0.0
    skew: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    batch: int = 100
    stalls: float = 0.0
    name: str = ""
    topology: str = ""
