"""Access rights in Kafka: ``grants`` contains the table, and ``roles`` applies it to a topology."""

from streams.wire.acl.fill_in import Granted, Role
from streams.wire.acl.grant import Operation, Resource
from streams.wire.acl.grants import ROLES, checked_kinds
from streams.wire.acl.roles import refuse_conflicts, roles_of

__all__ = [
    "ROLES",
    "Granted",
    "Operation",
    "Resource",
    "Role",
    "checked_kinds",
    "refuse_conflicts",
    "roles_of",
]
