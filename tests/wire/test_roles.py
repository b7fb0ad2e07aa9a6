"""What roles may do, for every shipped topology: enough for their work, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.errors import InputError, UsageError
from streams.kafka import specs_of
from streams.live.parts import parts_of
from streams.node import catalog_of
from streams.resources import topologies_dir
from streams.topology import Queue, Topology, load
from streams.wire import Topics
from streams.wire.acl import ROLES, Granted, Operation, Resource, Role, checked_kinds, roles_of

TOPICS = Topics("x.")
SHIPPED = sorted(path.name for path in topologies_dir().iterdir() if path.is_dir())
WRITERS = {
    "cmd": {"application", "agent", "endpoint", "outbox", "replay"},
    "out": {"endpoint", "trace"},
    "txq": {"forwarder"},
    "ingress": {"foreign"},
    "in": {"forwarder", "endpoint"},
    "ack": {"forwarder"},
    "queue": {"endpoint"},
    "dialog": {"endpoint"},
    "result": {"endpoint"},
    "reading": {"application", "agent", "replay"},
    "catalog": {"apply", "publish", "agent"},
    "presence": {"forwarder", "endpoint"},
    "event": {"forwarder", "endpoint", "agent", "own-agent"},
    "metric": {"monitor"},
}
"""Who writes which kind of topic (docs/kafka_mapping.md)."""


def clusters(name: str) -> list[tuple[Topology, list[Role]]]:
    whole = load(topologies_dir() / name, 0.0)
    return [(part.topology, list(roles_of(part.topology, TOPICS))) for part in parts_of(whole)]


def allows(grant: Granted, topic: str, operation: Operation) -> bool:
    if grant.resource is not Resource.TOPIC or operation not in grant.operations:
        return False
    return topic.startswith(grant.name) if grant.prefixed else topic == grant.name


def allowed(roles: list[Role], topic: str, operation: Operation) -> set[str]:
    return {r.kind for r in roles if any(allows(g, topic, operation) for g in r.grants)}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_topic_is_written_by_whom_the_design_says(name: str) -> None:
    for topology, roles in clusters(name):
        found: dict[str, set[str]] = {}
        for spec in specs_of(topology, TOPICS):
            writers = allowed(roles, spec.name, Operation.WRITE)
            assert writers <= WRITERS[spec.kind], spec.name
            found.setdefault(spec.kind, set()).update(writers)
        for kind in ("cmd", "out", "in", "ack", "dialog", "result", "presence", "event"):
            assert found[kind] >= WRITERS[kind] & {"forwarder", "endpoint", "application"}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_granted_by_name_is_there(name: str) -> None:
    """And every role has a name of its own."""
    for topology, roles in clusters(name):
        topics = {spec.name for spec in specs_of(topology, TOPICS)}
        for role in roles:
            for grant in role.grants:
                if grant.resource is Resource.TOPIC and not grant.prefixed:
                    is_table = grant.name.endswith("-changelog")  # its agent makes it
                    assert is_table or grant.name in topics, role.name
        assert len({role.name for role in roles}) == len(roles)


@pytest.mark.parametrize("name", SHIPPED)
def test_workers_touch_the_topics_of_their_own_instance(name: str) -> None:
    """Of others a forwarder writes the transmission queue, where a route leads to them."""
    for topology, roles in clusters(name):
        for role in roles:
            if role.kind not in ("forwarder", "endpoint"):
                continue
            (mine,) = (n for n in topology.instances if role.name == f"{role.kind}.{n}")
            others = {n for n in topology.instances if n != mine}
            for spec in specs_of(topology, TOPICS):
                of = spec.name.split(".")[2:3]
                if of and of[0] in others:
                    may = {o for g in role.grants for o in Operation if allows(g, spec.name, o)}
                    assert may <= ({Operation.WRITE} if spec.kind == "txq" else set())


def test_a_foreign_forwarder_writes_one_topic_and_reads_no_message() -> None:
    for _, roles in clusters("two_clusters"):
        (foreign,) = (role for role in roles if role.kind == "foreign")
        wrote, read, named = foreign.grants
        assert (wrote.operations, wrote.prefixed) == ((Operation.WRITE,), False)
        assert wrote.name in ("x.ingress.GatewayA.seller", "x.ingress.GatewayB.buyer")
        assert wrote.name.endswith(role_cluster(foreign))
        assert (read.name, read.operations) == ("x.presence", (Operation.READ,))
        assert (named.resource, named.operations) == (Resource.GROUP, (Operation.DESCRIBE,))


def role_cluster(foreign: Role) -> str:
    return foreign.name.removeprefix("foreign")


def test_a_forwarder_reads_and_trims_what_other_clusters_write() -> None:
    """And nobody else touches it but for looking on."""
    for topology, roles in clusters("two_clusters"):
        (entrance,) = topology.ingress
        topic = TOPICS.ingress(entrance.gateway, entrance.cluster)
        assert allowed(roles, topic, Operation.DELETE) == {"forwarder"}
        assert allowed(roles, topic, Operation.READ) == {"forwarder", "monitor", "observer"}
        (reads,) = [
            r.name for r in roles if r.kind == "forwarder" and allowed([r], topic, Operation.READ)
        ]
        assert reads == f"forwarder.{entrance.gateway}"


def test_a_pair_is_served_by_both_partners() -> None:
    ((_, roles),) = clusters("mirrored")
    pairs = {"Orders": [r.name for r in roles if any(
        allows(g, "x.dialog.Orders", Operation.WRITE) for g in r.grants)]}  # fmt: skip
    assert len(pairs["Orders"]) == 2, [r.name for r in roles]
    forwarders = [r for r in roles if r.kind == "forwarder"]
    epochs = [
        g
        for r in forwarders
        for g in r.grants
        if (g.name, g.prefixed) == ("x.forwarder.Orders.", True)
    ]
    assert [e.resource for e in epochs] == [Resource.GROUP] * 2


def test_nobody_but_apply_changes_what_everybody_lives_by() -> None:
    """But for the agent whose work it is."""
    changes = [
        role.name
        for name in SHIPPED
        for _, roles in clusters(name)
        for role in roles
        if any(allows(grant, "x.catalog", Operation.WRITE) for grant in role.grants)
    ]
    assert {name.split(".")[0] for name in changes} == {"apply", "publish", "agent"}
    assert [n for n in changes if n.startswith("agent")], "dynamic_routing has one"


def test_workers_check_the_topics_that_they_use() -> None:
    assert checked_kinds(("forwarder",)) == {
        "catalog", "presence", "event", "out", "txq", "ingress", "in", "ack",
    }  # fmt: skip
    assert "queue" in checked_kinds(("endpoint",))
    assert "metric" not in checked_kinds(("forwarder", "endpoint"))


def test_without_a_prefix_everything_is_everything() -> None:
    whole = load(topologies_dir() / "local", 0.0)
    roles = {role.name: role for role in roles_of(whole, Topics(""))}
    read = roles["observer"].grants[0]
    assert (read.name, read.prefixed) == ("*", False)


def test_readers_write_nothing() -> None:
    reads = {Operation.READ, Operation.DESCRIBE}
    for kind in ("verify", "observer"):
        assert {o for row in ROLES[kind].rows for o in row.operations} <= reads


ONE_IS_THE_BEGINNING_OF_ANOTHER = """
instances:
  A:
    databases:
      D:
        services: {Order: {queue: Q}, OrderAudit: {queue: R}, Routing: {queue: S}}
      D.X:
        services: {Order: {queue: Q}, Routing: {queue: S}}
  A.B: {databases: {D: {services: {Order: {queue: Q}}}}}
agents: {routes: {runs: data-dependent-routing, service: Routing}}
"""


def covers(role: Role, other: Role) -> list[str]:
    """Return which of the other's own names a role's grants cover, but for what all share."""
    mine = {(g.resource, g.name, g.prefixed) for g in other.grants}
    own = [g for g in other.grants if other.name.partition(".")[2] in g.name]
    return [
        f"{g.name} > {o.name}"
        for g in role.grants
        for o in own
        if g.resource is o.resource and (g.resource, g.name, g.prefixed) not in mine
        and (o.name.startswith(g.name) if g.prefixed else o.name == g.name)
    ]  # fmt: skip


def test_a_role_whose_name_another_one_begins_with_does_not_cover_it(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text(ONE_IS_THE_BEGINNING_OF_ANOTHER)
    topology = load(tmp_path, 0.0)
    roles = {role.name: role for role in roles_of(topology, TOPICS)}
    short, long = roles["application.A.D.Order"], roles["application.A.D.OrderAudit"]
    groups = [(g.name, g.prefixed) for g in short.grants if g.name.startswith("application")]
    assert groups == [("application.A.D.Order", False), ("application.A.D.Order.", True)]
    assert covers(short, long) == []
    assert covers(roles["agent.routes.A.D"], roles["agent.routes.A.D-2eX"]) == []


def test_a_prober_and_an_outbox_of_one_instance_write_for_that_one_only() -> None:
    """Beside the roles for all instances, which are called as ever."""
    for name, kind in (("trace", "out"), ("outbox", "cmd")):
        ((topology, roles),) = clusters("hub")
        by_name = {role.name: role for role in roles}
        specs = [spec.name for spec in specs_of(topology, TOPICS)]

        def written(role: Role, specs: list[str] = specs) -> set[str]:
            return {t for t in specs if any(allows(g, t, Operation.WRITE) for g in role.grants)}

        assert written(by_name[name]) == {t for t in specs if t.startswith(f"x.{kind}.")}
        for instance in topology.instances:
            assert written(by_name[f"{name}.{instance}"]) == {TOPICS.name(kind, instance)}


@pytest.mark.parametrize("kind", ["outbox", "trace", "apply", "replay"])
def test_an_instance_that_is_called_like_a_role_has_roles_of_its_own(
    kind: str, tmp_path: Path
) -> None:
    """And not the rights for every instance."""
    (tmp_path / "topology.yaml").write_text(f"instances: {{{kind}: {{}}, ServerB: {{}}}}\n")
    topology = load(tmp_path, 0.0)
    found = list(roles_of(topology, TOPICS))
    assert len({role.name for role in found}) == len(found)
    roles = {role.name: role for role in found}
    for of, written in (("outbox", "cmd"), ("trace", "out")):
        mine = roles[f"{of}.{kind}"]
        assert allowed([mine], TOPICS.name(written, kind), Operation.WRITE)
        assert not allowed([mine], TOPICS.name(written, "ServerB"), Operation.WRITE)
        assert allowed([roles[of]], TOPICS.name(written, "ServerB"), Operation.WRITE)


def test_two_objects_with_one_role_name_are_refused() -> None:
    ((topology, _),) = clusters("two_brokers")
    twice = {**topology.instances, "Copy": topology.instances["ServerA"]}
    with pytest.raises(UsageError, match=r"2 roles are named forwarder\.ServerA") as refused:
        list(roles_of(replace(topology, instances=twice), TOPICS))
    assert refused.value.remedy.startswith("Rename the instances")


def with_group(group: str) -> Topology:
    """Return a shipped topology whose queues are read by a group."""
    ((topology, _),) = clusters("two_brokers")
    instance = topology.instances["ServerB"]
    database = instance.databases["DatabaseB"]
    queues = {name: replace(queue, group=group) for name, queue in database.queues.items()}
    queues = queues or {"TargetQueue": Queue("TargetQueue", group=group)}
    databases = {"DatabaseB": replace(database, queues=queues)}
    instances = {**topology.instances, "ServerB": replace(instance, databases=databases)}
    return replace(topology, instances=instances)


@pytest.mark.parametrize("group", ["", "*", "x" * 256, "a\nb"])
def test_a_group_that_cannot_be_is_granted_to_nobody(group: str) -> None:
    """To Kafka `*` is every group. Whoever writes the catalog may write any text."""
    odd = with_group(group)
    assert not catalog_of(odd, 1).reading_groups
    names = {g.name for role in roles_of(odd, TOPICS) for g in role.grants}
    assert group not in names and "*" not in names


@pytest.mark.parametrize("kind", ["forwarder", "endpoint", "outbox", "replay"])
def test_no_application_may_move_the_positions_of_a_worker(kind: str) -> None:
    with pytest.raises(InputError, match=f"the group x.{kind}.ServerB is one of Hopline's own"):
        list(roles_of(with_group(f"x.{kind}.ServerB"), TOPICS))
    assert any(
        g.name == f"y.{kind}.ServerB"
        for role in roles_of(with_group(f"y.{kind}.ServerB"), TOPICS)
        for g in role.grants
    )


GROUPS = """
instances:
  B:
    databases:
      D:
        queues: {{Q: {{group: {group}}}, Own: {{group: {own}}}}}
        services:
          S: {{queue: Q}}
          S1: {{queue: Q}}
          S2: {{queue: R}}
          Routing: {{queue: Own}}
          SQL/ServiceBroker/BrokerConfiguration: {{queue: Notices}}
agents:
  routes: {{runs: data-dependent-routing, service: Routing}}
  notices: {{runs: configuration-notice}}
"""


def roles_with(folder: Path, group: str, own: str = "mine") -> list[Role]:
    (folder / "topology.yaml").write_text(GROUPS.format(group=group, own=own))
    return list(roles_of(load(folder, 0.0), TOPICS))


@pytest.mark.parametrize(
    ("group", "role"),
    [
        ("x.routing.B.D.Routing", "agent.routes.B.D"),
        ("x.routing.B.D.Routing.2", "agent.routes.B.D"),
        ("x.configuration.B.D", "agent.notices.B.D"),
        ("application.B.D.S2", "application.B.D.S2"),
        ("application.B.D.S2.slow", "application.B.D.S2"),
    ],
)
def test_a_queue_may_not_name_another_roles_group(tmp_path: Path, group: str, role: str) -> None:
    with pytest.raises(InputError, match=f"Queue Q: the group {group} is that of the role {role},"):
        roles_with(tmp_path, group)


@pytest.mark.parametrize("group", ["application.B.D.S", "application.B.D.S1.2", "readers",
                                   "application.B.D.S22", "x.routing.B"])  # fmt: skip
def test_a_queue_may_name_a_group_of_its_own_roles_or_of_nobody(tmp_path: Path, group: str) -> None:
    roles = {role.name: role for role in roles_with(tmp_path, group)}
    assert group in {g.name for g in roles["application.B.D.S"].grants}


def test_an_agents_queue_may_name_the_agents_group(tmp_path: Path) -> None:
    """Its topic is then trimmed behind the agent."""
    assert roles_with(tmp_path, "readers", own="x.routing.B.D.Routing")


def test_each_group_in_which_a_role_may_read_is_its_own_or_that_of_its_queue(
    tmp_path: Path,
) -> None:
    """So the refusal covers the groups of every kind of role, also of one that is added."""
    roles = roles_with(tmp_path, "readers")
    for role in roles:
        for grant in role.grants:
            if grant.resource is not Resource.GROUP or Operation.READ not in grant.operations:
                continue
            if grant.name in ("readers", "mine"):
                continue
            group = f"{grant.name}1" if grant.prefixed else grant.name
            with pytest.raises(InputError, match=f"the group {group} is "):
                roles_with(tmp_path, group, own="mine")
