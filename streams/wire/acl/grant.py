"""What a grant is: operations on a resource that a role needs, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Resource(Enum):
    """What a grant is about, in the words of Kafka's tools."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    CLUSTER = "cluster"


class Operation(Enum):
    """What is allowed, in the words of Kafka's tools."""

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"


class On(Enum):
    """Which resources of a kind a row is about.

    Its home's: the instance, and each mirrored pair that it may be the principal of. ``EVERY``: of
    all homes, known or still to come.
    """

    CLUSTER = "the cluster's one"
    HOME = "its home's"
    NEXT = "of the instances that its routes lead to"
    PLACE = "those of its queues"
    EVERY = "of every home"
    OWN = "which have its own name, or begin with that and a dot"


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """What a role needs of a resource; ``name`` is a kind of topic, or what a name begins with.

    Of a topic ``On.OWN`` it is what stands behind the role's own name.
    """

    resource: Resource
    name: str
    on: On
    operations: tuple[Operation, ...]
    why: str


@dataclass(frozen=True, slots=True)
class RoleKind:
    """A kind of role: what it is for, and its rows."""

    says: str
    rows: tuple[RoleGrant, ...]
