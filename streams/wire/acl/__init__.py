"""Kafka ACLs: ``grants`` is the table of rights, ``roles`` applies it to a topology."""

from streams.wire.acl.grant import Operation, Resource
from streams.wire.acl.grants import ROLES, checked_kinds
from streams.wire.acl.roles import Granted, Role, roles_of

__all__ = ["ROLES", "Granted", "Operation", "Resource", "Role", "checked_kinds", "roles_of"]
