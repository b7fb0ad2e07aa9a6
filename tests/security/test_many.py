"""`hopline acl --apply` above the records that a controller accepts in one operation (10,000)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from streams.errors import SurroundingsError
from streams.kafka import Cluster, create_acls
from streams.wire import Topics
from streams.wire.acl import Granted, Operation, Resource
from tests.security.secured import Secured


def grants(names: list[str]) -> list[Granted]:
    return [Granted(Resource.TOPIC, name, (Operation.READ,), "") for name in names]


@pytest.fixture
def user(secured: Secured) -> Iterator[str]:
    """Return a principal without rights, which has none afterwards."""
    name = f"User:many{uuid.uuid4().hex[:8]}"
    yield name
    admin = secured.admin("").admin()  # while it is held, the answers can come
    for n in range(10):  # deleting has the same limit
        found = AclBindingFilter(
            ResourceType.TOPIC, None, ResourcePatternType.ANY, f"{name}{n}", None,
            AclOperation.ANY, AclPermissionType.ANY,
        )  # fmt: skip
        [future] = admin.delete_acls([found]).values()
        future.result()


def test_more_entries_than_one_operation_may_have(secured: Secured, user: str) -> None:
    topics = grants([f"t{n}" for n in range(1_050)])
    wanted = [(f"{user}{n}", grant) for n in range(10) for grant in topics]
    assert create_acls(secured.admin(""), wanted) == 10_500
    assert create_acls(secured.admin(""), wanted) == 10_500, "what exists stays"


def test_a_refusal_says_how_many_entries_were_created(secured: Secured, user: str) -> None:
    """And not that an authorizer is missing: it is there."""
    wanted = grants([f"t{n}" for n in range(1_500)])
    mine = [(f"{user}0", grant) for grant in wanted]
    with pytest.raises(SurroundingsError) as refused:
        create_acls(secured.admin(""), [*mine, ("nobody", wanted[0]), *mine[:3]])
    assert refused.value.message.startswith("Kafka did not grant t0 to nobody: ")
    assert refused.value.message.endswith(". 1,500 of 1,501 entries were created.")
    assert refused.value.remedy.startswith("Fix the cause, then run the command again")


def test_a_user_without_the_right_is_told_of_it(secured: Secured, user: str) -> None:
    name = user.removeprefix("User:")
    secured.add_users([name])
    with pytest.raises(SurroundingsError) as refused:
        create_acls(secured.as_user(name, ""), [(user, grant) for grant in grants(["t"])])
    assert refused.value.message.startswith(
        "The user of this command is not allowed to create ACLs: "
    )
    assert refused.value.message.endswith(". 0 of 1 entry was created.")
    remedy = "Run the command as a user with the Alter permission on the cluster."
    assert refused.value.remedy == remedy


@pytest.mark.long
def test_without_an_authorizer_the_error_begins_with_that(kafka: str) -> None:
    with pytest.raises(SurroundingsError) as refused:
        create_acls(Cluster(kafka, Topics("")), [("User:a", grant) for grant in grants(["t"])])
    assert refused.value.message.startswith("The cluster has no authorizer, so it has no ACLs, ")
    assert refused.value.message.endswith(". 0 of 1 entry was created.")
    assert refused.value.remedy.startswith("Set authorizer.class.name on its brokers and ")
