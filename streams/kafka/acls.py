"""Create Kafka's ACLs and users for Hopline's roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException
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
from streams.kafka.batches import batches
from streams.kafka.cluster import Cluster
from streams.kafka.failure import reason_of, refusal
from streams.prose import counted
from streams.wire.acl import Granted, Operation, Resource

_TIMEOUT = 30.0
_ITERATIONS = 8192
_CAUSES = {
    KafkaError.SECURITY_DISABLED: (
        "The cluster has no authorizer, so it has no ACLs, and any client may do anything",
        "Set authorizer.class.name on its brokers and controllers, and run the command again; or "
        "run Hopline without ACLs.",
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: (
        "The user of this command is not allowed to create ACLs",
        "Run the command as a user with the Alter permission on the cluster.",
    ),
}
"""Errors that concern the whole cluster rather than one entry, and their remedies."""
_RESOURCES = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
    Resource.CLUSTER: ResourceType.BROKER,  # the client uses this name for brokers and clusters
}


def create_acls(cluster: Cluster, granted: Iterable[tuple[str, Granted]]) -> int:
    """Create ACL entries for principals, from every host; return their number.

    Existing entries are kept, and an entry that several roles grant to a user is created once.
    Raises SurroundingsError if the cluster refuses an entry; entries created earlier remain.
    """
    bindings = list(
        dict.fromkeys(
            binding_of(principal, grant, operation)
            for principal, grant in granted
            for operation in grant.operations
        )
    )
    admin = cluster.admin()  # keep a reference: responses arrive only while the client exists
    done = 0
    for batch in batches(bindings):
        refused: list[tuple[AclBinding, KafkaException]] = []
        for binding, future in admin.create_acls(batch, request_timeout=_TIMEOUT).items():
            try:
                future.result()
                done += 1
            except KafkaException as error:
                refused.append((binding, error))
        if refused:
            binding, cause = refused[0]
            entries = counted(len(bindings), "entry was", "entries were")
            raise _not_granted(binding, cause, f"{done:,} of {entries}") from cause
    return done


def _not_granted(binding: AclBinding, error: KafkaException, so_far: str) -> SurroundingsError:
    cause = error.args[0]
    what, remedy = _CAUSES.get(
        cause.code(),
        (
            f"Kafka did not grant {binding.name} to {binding.principal}",
            "Fix the cause, then run the command again; it keeps existing entries.",
        ),
    )
    message = f"{what}: {reason_of(cause)}. {so_far} created."
    return SurroundingsError(message, remedy)


def set_passwords(cluster: Cluster, passwords: Mapping[str, str]) -> None:
    """Create SCRAM-SHA-512 logins with these passwords, or replace their passwords."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    asked: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode())
        for user, password in passwords.items()
    ]
    admin = cluster.admin()
    for batch in batches(asked):
        for user, future in admin.alter_user_scram_credentials(batch).items():
            try:
                future.result()
            except KafkaException as error:
                why = refusal(error, "Alter on the cluster")
                raise SurroundingsError(
                    f"Kafka did not set the password of {user}: {why}"
                ) from error


def binding_of(principal: str, grant: Granted, operation: Operation) -> AclBinding:
    """Return one ACL entry in the form that Kafka's client expects."""
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
