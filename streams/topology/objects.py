"""The objects of one database: message types, contracts, queues, services, routes and rules.

Values are kept as written: a route may break the rules of ``CREATE ROUTE`` (C-06), which is then
reported as a finding. Sources do not affect comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from streams.topology.findings import NOWHERE, Source
from streams.topology.procedures import Procedure
from streams.topology.security import Certificate, Grant

DEFAULT_LEVEL = 5
"""The priority of a conversation that no broker priority matches (reference 4.12)."""


class Validation(Enum):
    """How the receiver checks a body (reference 1.1)."""

    NONE = "none"
    EMPTY = "empty"
    WELL_FORMED_XML = "well_formed_xml"
    VALID_XML = "valid_xml"


class Sender(Enum):
    """The sides that may send a message type of a contract."""

    INITIATOR = "initiator"
    TARGET = "target"
    ANY = "any"


class Role(Enum):
    """A database's role in a mirrored pair (reference 2.4)."""

    PRINCIPAL = "principal"
    MIRROR = "mirror"


@dataclass(frozen=True, slots=True)
class MessageType:
    """A message type; ``schema`` names the schema collection of VALID_XML (:func:`queue_name`)."""

    name: str
    validation: Validation = Validation.NONE
    schema: str | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Contract:
    """A contract: the message types, each with the sides that may send it."""

    name: str
    messages: Mapping[str, Sender] = field(default_factory=dict)
    source: Source = field(default=NOWHERE, compare=False)


_LONGEST_GROUP = 255


def is_group(name: str) -> bool:
    """Return whether a consumer group may have this name.

    Kafka does not allow a group without a name, and in ACLs, ``*`` means every group. The client
    library removes spaces at the ends of a name, and aborts the process if nothing is left.
    """
    is_visible = 0 < len(name) <= _LONGEST_GROUP and min(name) >= " "
    return is_visible and name == name.strip() and name != "*"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue; ``name`` is schema-qualified unless the schema is ``dbo`` (:func:`queue_name`).

    ``activation`` is the procedure that messages activate, unless its STATUS
    (``activation_status``) is off. ``max_readers``: the maximum number of instances of the
    procedure (MAX_QUEUE_READERS). The queue's topic is trimmed up to the position of the consumer
    group ``group``. ``partitions`` is the topic's permanent number of partitions, which limits the
    number of readers.
    """

    name: str
    status: bool = True
    retention: bool = False
    poison_message_handling: bool = True
    activation: str | None = None
    group: str | None = None
    max_readers: int = 1
    activation_status: bool = True
    partitions: int = 1
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def reading_group(self) -> str | None:
        """Return the group if its name is valid, because the catalog may contain any text."""
        return self.group if self.group is not None and is_group(self.group) else None

    @property
    def activated(self) -> str | None:
        """Return the procedure that messages activate, or ``None`` if activation is off."""
        return self.activation if self.activation_status else None


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its queue, and the contracts that it accepts as a target.

    ``owner`` is the user of AUTHORIZATION, whose certificate secures the service's dialogs.
    """

    name: str
    queue: str
    contracts: tuple[str, ...] = ()
    owner: str | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Route:
    """A row of ``sys.routes`` as written; ``expires`` is in epoch seconds, UTC.

    ``None`` means "any", or for ``expires`` "never". ``route_id`` is the order of creation in the
    routing table.
    """

    name: str
    service: str | None
    broker: str | None
    address: str
    mirror: str | None = None
    expires: float | None = None
    route_id: int = 0
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Priority:
    """A broker priority; ``None`` stands for ANY (reference 4.12)."""

    name: str
    contract: str | None = None
    local_service: str | None = None
    remote_service: str | None = None
    level: int = DEFAULT_LEVEL
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """A remote service binding: the user whose certificate secures dialogs to a service."""

    name: str
    service: str
    user: str
    anonymous: bool = False
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A database's mirrored pair, and its role in it.

    ``epoch`` counts the pair's failovers; if both partners claim to be the principal, the claim
    with the higher epoch is valid.
    """

    pair: str
    role: Role = Role.PRINCIPAL
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Database:
    """A broker. ``enabled``: message delivery is on. ``routes`` are ordered by ``route_id``.

    ``honor_priority``: transmission also follows priorities (4.12). ``schemas``: the text of each
    XML schema collection. ``error_epoch`` counts the uses of ERROR_BROKER_CONVERSATIONS: a
    conversation that began at a lower count ends with an error. ``procedures``: the uses of dialogs
    in the scripts' code. ``master_key``: whether Service Broker can use a database master key,
    ``None`` if unknown. ``read_only`` and ``single_user``: READ_ONLY and SINGLE_USER of ALTER
    DATABASE, with which the broker does not work (28014, 28015) although it is enabled.
    """

    name: str
    broker_id: str
    enabled: bool = True
    mirror: Mirror | None = None
    message_types: Mapping[str, MessageType] = field(default_factory=dict)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    priorities: tuple[Priority, ...] = ()
    bindings: tuple[Binding, ...] = ()
    honor_priority: bool = False
    schemas: Mapping[str, str] = field(default_factory=dict)
    error_epoch: int = 0
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()
    procedures: Mapping[str, Procedure] = field(default_factory=dict)
    master_key: bool | None = None
    read_only: bool = False
    single_user: bool = False
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def delivers(self) -> bool:
        """Return whether the broker works: it is enabled, and the database is open for it."""
        return self.enabled and not self.read_only and not self.single_user


def queue_name(schema: str, name: str) -> str:
    """Return the stored name of a queue or a schema collection.

    ``Orders`` (of dbo), ``sales.Orders``, ``[a.b].c``.
    """
    parts = (name,) if schema.casefold() == "dbo" else (schema, name)
    return ".".join(_bracketed(part) for part in parts)


def _bracketed(part: str) -> str:
    return "[" + part.replace("]", "]]") + "]" if any(c in part for c in ".[]") else part
