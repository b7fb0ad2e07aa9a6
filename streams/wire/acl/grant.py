"""A grant: the operations on a resource that a role needs, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Resource(Enum):
    """The type of a resource, named as in Kafka's tools."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    CLUSTER = "cluster"


class Operation(Enum):
    """An allowed operation, named as in Kafka's tools."""

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"


class On(Enum):
    """The resources of a kind to which a row applies.

    ``HOME``: the instance, and each mirrored pair of which it may be the principal. ``EVERY``: all
    homes, existing and future.
    """

    CLUSTER = "of the whole cluster"
    HOME = "its home's"
    NEXT = "of the instances to which its routes lead"
    PLACE = "those of its queues"
    EVERY = "of every home"
    OWN = "which have its own name, or begin with it and a dot"


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """The operations of a role on a resource; ``name`` is a kind of topic or a name prefix.

    For a topic with ``On.OWN``, ``name`` is the part after the role's own name.
    """

    resource: Resource
    name: str
    on: On
    operations: tuple[Operation, ...]
    why: str


@dataclass(frozen=True, slots=True)
class RoleKind:
    """A kind of role: its purpose, and its rows."""

    says: str
    rows: tuple[RoleGrant, ...]
