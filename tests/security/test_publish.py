"""`apply` by a user who may neither create nor alter topics: GitOps or Strimzi own them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster, create, deploy, preview, specs_of
from streams.topology import Topology
from streams.wire import Topics
from streams.wire.acl import Operation, Resource, Role, roles_of
from tests.running import delete
from tests.security.secured import Secured
from tests.workers.rig import configure, pair

ROLE = "publish"


@dataclass(frozen=True)
class Owned:
    """Topics that the superuser has created, and a user who only publishes."""

    secured: Secured
    topology: Topology
    admin: Cluster
    user: Cluster
    role: Role


@pytest.fixture
def owned(secured: Secured, tmp_path: Path) -> Iterator[Owned]:
    topology, topics = pair(tmp_path), Topics(f"t{uuid.uuid4().hex[:12]}.")
    [role] = [r for r in roles_of(topology, topics) if r.name == ROLE]
    secured.add_users([ROLE])
    secured.grant([role])
    admin = secured.admin(topics.prefix)
    create(admin, specs_of(topology, topics))
    yield Owned(secured, topology, admin, secured.as_user(ROLE, topics.prefix), role)


@pytest.mark.long
def test_no_right_to_create_or_alter_is_needed_where_all_is_as_it_must_be(owned: Owned) -> None:
    done = deploy(owned.user, owned.topology)
    assert (done.topics, done.version) == ((), 1)
    assert deploy(owned.user, owned.topology).version == 1
    assert owned.secured.refused(ROLE, owned.user.topics.prefix) == set()


@pytest.mark.long
def test_who_may_not_read_the_brokers_settings_is_told_the_right(owned: Owned) -> None:
    """They say for how long somebody's open transaction holds readers up."""
    assert not any("transaction" in each for each in deploy(owned.user, owned.topology).findings)
    [brokers] = [g for g in owned.role.grants if g.resource is Resource.CLUSTER]
    owned.secured.take(ROLE, brokers, Operation.DESCRIBE_CONFIGS)
    try:
        [finding] = preview(owned.user, owned.topology).findings
    finally:
        owned.secured.give_back(ROLE, brokers, Operation.DESCRIBE_CONFIGS)
    assert finding.startswith("transaction.max.timeout.ms of the brokers cannot be read: ")
    assert finding.endswith("The permission DescribeConfigs on the cluster is required.")


def test_a_missing_topic_is_named_with_what_it_must_be_like_and_the_right(owned: Owned) -> None:
    topic = owned.user.topics.cmd("A")
    delete(owned.admin, topic)
    with pytest.raises(SurroundingsError) as refused:
        deploy(owned.user, owned.topology)
    assert refused.value.message.startswith(f"Topic {topic} does not exist and cannot be created")
    assert refused.value.message.endswith("The permission Create is required.")
    for wanted in ("1 partition, 1 replica", "retention.ms=-1", "min.insync.replicas=1"):
        assert wanted in refused.value.remedy


def test_a_topic_that_must_be_altered_is_named_with_the_setting_and_the_right(owned: Owned) -> None:
    topic = owned.user.topics.cmd("A")
    configure(owned.admin, topic, {"retention.ms": "1000"})
    with pytest.raises(SurroundingsError) as refused:
        deploy(owned.user, owned.topology)
    assert f"Topic {topic}: retention.ms is 1000 and must be -1" in refused.value.message
    assert refused.value.message.endswith("The permission AlterConfigs is required.")
    assert "retention.ms=-1" in refused.value.remedy


def test_who_may_not_read_the_configuration_is_told_the_right(owned: Owned) -> None:
    every = next(g for g in owned.role.grants if Operation.DESCRIBE_CONFIGS in g.operations)
    owned.secured.take(ROLE, every, Operation.DESCRIBE_CONFIGS)
    with pytest.raises(SurroundingsError, match="DescribeConfigs is required") as refused:
        deploy(owned.user, owned.topology)
    assert f"Topic {owned.user.topics.prefix}" in refused.value.message
