"""Create Kafka's ACLs and users for Hopline's roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.wire.acl import Granted, Operation, Resource

_TIMEOUT = 30.0
_ITERATIONS = 8192
_RESOURCES = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
    Resource.CLUSTER: ResourceType.BROKER,  # the client's name for both
}


def create_acls(cluster: Cluster, granted: Iterable[tuple[str, Granted]]) -> int:
    """Create ACL entries for principals, from every host; return their number.

    Existing entries stay, and an entry that several roles grant to a user is created once. Raises
    SurroundingsError if the cluster refuses.
    """
    bindings = dict.fromkeys(
        binding_of(principal, grant, operation)
        for principal, grant in granted
        for operation in grant.operations
    )
    admin = cluster.admin()  # keep a reference: responses arrive only while the client exists
    for binding, future in admin.create_acls(list(bindings), request_timeout=_TIMEOUT).items():
        try:
            future.result()
        except KafkaException as error:
            raise SurroundingsError(
                f"Kafka does not grant {binding.name} to {binding.principal}: "
                f"{error.args[0].str()}.",
                "It needs an authorizer (authorizer.class.name) and a user with the right to "
                "Alter the cluster.",
            ) from error
    return len(bindings)


def set_passwords(cluster: Cluster, passwords: Mapping[str, str]) -> None:
    """Create SCRAM-SHA-512 logins with these passwords, or replace their passwords."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    asked: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode())
        for user, password in passwords.items()
    ]
    if not asked:
        return
    admin = cluster.admin()
    for user, future in admin.alter_user_scram_credentials(asked).items():
        try:
            future.result()
        except KafkaException as error:
            raise SurroundingsError(
                f"Kafka does not set the password of {user}: {error.args[0].str()}.",
                "The user needs the right Alter on the cluster.",
            ) from error


def binding_of(principal: str, grant: Granted, operation: Operation) -> AclBinding:
    """Return one ACL entry as Kafka's client expects it."""
    pattern = ResourcePatternType.PREFIXED if grant.prefixed else ResourcePatternType.LITERAL
    return AclBinding(
        _RESOURCES[grant.resource],
        grant.name,
        pattern,
        principal,
        "*",
        AclOperation[operation.name],
        AclPermissionType.ALLOW,
    )
