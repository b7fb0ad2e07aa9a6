"""topology.yaml: defaults, every setting, and errors with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError, UsageError
from streams.topology import (
    Endpoint,
    EndpointState,
    Expectation,
    Mirror,
    Priority,
    Role,
    Sender,
    Transport,
    Validation,
    accepts,
    contract_of,
    default_broker_id,
    load,
    queue_of,
    queues_of,
)

from .build import NOW, from_yaml, write

EVERYTHING = """
    instances:
      ServerA:
        address: tcp://ServerA:4022
        aliases: [10.0.0.4, localhost]
        listeners: [tcp://ag-listener:4022]
        endpoint: {state: stopped, forwarding: true, forward_size_mb: 7, transport: all,
                   hide_path: true}
        cluster: main
        databases:
          DatabaseA:
            broker_id: DatabaseA
            broker: disabled
            auto_created_local: false
            mirror: {pair: Orders, role: mirror}
            message_types: {Order: {validation: well_formed_xml}, Plain: }
            contracts: {OrderContract: {Order: initiator, Reply: target}}
            queues: {InitiatorQueue: {status: off, retention: on, group: my-readers, partitions: 4}}
            services:
              InitiatorService: {queue: InitiatorQueue, contracts: [OrderContract]}
              Other:
              Silent: {contracts: []}
            routes:
              - {name: R1, service_name: TargetService, broker_instance: DatabaseB,
                 address: 'tcp://ServerB:4022', mirror_address: null, lifetime: 60, expires: null}
              - {name: R2, address: LOCAL, expires: 1970-01-01T00:01:00Z}
            priorities: [{name: P, contract: OrderContract, level: 9}]
            bindings: [{name: B, to_service: TargetService, user: U}]
        msdb: {auto_created_local: false, routes: [{name: M, address: LOCAL}]}
    clusters: {main: {bootstrap.servers: 'localhost:9092', retries: 5}}
    expect:
      - {from: ServerA/DatabaseA/InitiatorService, to: TargetService, verdict: ok, at: [B/DB]}
"""


def test_everything(tmp_path: Path) -> None:
    """Everything that the contract names is read."""
    topology = load(write(tmp_path, EVERYTHING), NOW)
    a = topology.instances["ServerA"]
    d = a.databases["DatabaseA"]
    assert (a.aliases, a.cluster) == (("10.0.0.4", "localhost"), "main")
    expected = Endpoint(EndpointState.STOPPED, True, 7, Transport.ALL, hide_path=True)
    assert a.endpoint == expected
    assert (d.broker_id, d.enabled, d.mirror) == ("DatabaseA", False, Mirror("Orders", Role.MIRROR))
    assert d.message_types["Order"].validation is Validation.WELL_FORMED_XML
    assert d.contracts["OrderContract"].messages["Reply"] is Sender.TARGET
    queue = queue_of(d, "InitiatorService")
    assert queue is not None and (queue.status, queue.retention) == (False, True)
    assert (queue.group, queue.partitions) == ("my-readers", 4)
    assert [(r.name, r.expires, r.route_id) for r in d.routes] == [
        ("R1", NOW + 60, 2), ("R2", 60.0, 3),
    ]  # fmt: skip
    assert d.priorities == (Priority("P", "OrderContract", level=9),)
    assert [r.name for r in a.msdb.routes] == ["M"]
    assert topology.clusters["main"].properties == {
        "bootstrap.servers": "localhost:9092", "retries": "5",
    }  # fmt: skip
    assert topology.expect == (
        Expectation("ServerA/DatabaseA/InitiatorService", "TargetService", "ok", ("B/DB",)),
    )
    assert (d.routes[0].source.line, d.routes[0].source.column) == (24, 13)
    assert not topology.findings


def test_defaults(tmp_path: Path) -> None:
    """Absent keys have the contract's defaults."""
    topology, database = from_yaml(tmp_path, "{services: [S, T]}")
    instance = topology.instances["I1"]
    assert instance.endpoint == Endpoint(
        EndpointState.STARTED, False, 10, Transport.FAILOVER, None, None
    )
    assert str(instance.address) == "tcp://I1:4022"
    assert database.enabled and database.broker_id == default_broker_id("I1", "DB")
    assert [(r.name, r.address, r.route_id) for r in database.routes] == [
        ("AutoCreatedLocal", "LOCAL", 1)
    ]
    assert [r.name for r in instance.msdb.routes] == ["AutoCreatedLocal"]
    assert database.services["S"].contracts == ("DEFAULT",)


def test_lookups(tmp_path: Path) -> None:
    """DEFAULT exists everywhere and is accepted by those that list it; queues need no entry."""
    _, database = from_yaml(tmp_path, "{services: {S: {queue: Q}, I: {queue: q, contracts: []}}}")
    default = contract_of(database, "DEFAULT")
    assert default is not None and default.messages == {"DEFAULT": Sender.ANY}
    assert contract_of(database, "Nothing") is None
    assert accepts(database, "S", "DEFAULT") and not accepts(database, "I", "DEFAULT")
    assert queue_of(database, "Nobody") is None
    assert [q.name for q in queues_of(database)] == ["Q"]


def test_broker_ids_are_stable_and_distinct() -> None:
    """The id of a database for which none is stated depends on both names, unambiguously."""
    ids = {
        default_broker_id(*pair) for pair in (("A", "B"), ("B", "A"), ("A/B", "C"), ("A", "B/C"))
    }
    assert len(ids) == 4 and default_broker_id("A", "B") == default_broker_id("A", "B")


def test_a_named_instance_has_its_machine_as_host(tmp_path: Path) -> None:
    """The host of SQL01\\PROD is SQL01."""
    topology = load(write(tmp_path, "instances: {'SQL01\\PROD': {endpoint: {port: 4023}}}"), NOW)
    assert str(topology.instances["SQL01\\PROD"].address) == "tcp://SQL01:4023"


def test_scripts_come_after_the_yaml(tmp_path: Path) -> None:
    """T-SQL is applied in the order of the list, after the YAML of its instance."""
    database = "{routes: [{name: R, address: LOCAL}]}"
    yaml = f"instances: {{A: {{databases: {{DB: {database}}}, sql: [2.sql, 1.sql]}}}}"
    scripts = {
        "1": "USE DB DROP ROUTE R",
        "2": "USE DB ALTER ROUTE R WITH SERVICE_NAME = 'S'; CREATE QUEUE Q",
    }
    topology = load(write(tmp_path, yaml, **scripts), NOW)
    assert [r.name for r in topology.instances["A"].databases["DB"].routes] == ["AutoCreatedLocal"]


def test_merge_keys_and_anchors(tmp_path: Path) -> None:
    """YAML's own means against repetition work; a key of one's own wins over a merged one."""
    yaml = """
        instances:
          A: &a
            endpoint: &e {forwarding: true}
          B:
            <<: *a
            endpoint: {<<: *e, forward_size_mb: 3, forwarding: off}
    """
    topology = load(write(tmp_path, yaml), NOW)
    assert topology.instances["A"].endpoint.forwarding
    assert topology.instances["B"].endpoint.forward_size_mb == 3
    assert not topology.instances["B"].endpoint.forwarding


ERRORS = [
    ("instances:\n  A: {adress: x}", 2, 7, "Did you mean 'address'?"),
    ("instanzen: {}", 1, 1, "Did you mean 'instances'?"),
    ("- a", 1, 1, "a mapping of a topology's settings, found a list Write one `NAME: VALUE` per"),
    ("hello", 1, 1, "found 'hello' Write one `NAME: VALUE` per"),
    ("? [1]\n: {}", 1, 3, "a name among a topology's settings, found a list"),
    ("instances: " + 99 * "a", 1, 12, f"found '{57 * 'a'}...'"),
    ("a: [", None, None, "invalid YAML"),
    ("a: b: c", 1, 5, "invalid YAML"),
    ("instances:\n  A: {}\n  A: {}", 3, 3, "twice"),
    ("instances:\n  A: {}\n  a: {}", 3, 3, "only in case"),
    ("instances:\n  A: {address: 4022}", 2, 16, "quotes"),
    ("instances:\n  A: {address: LOCAL}", 2, 16, "tcp://host:4022"),
    ("instances:\n  A: {aliases: ['tcp://x']}", 2, 17, "host name"),
    ("instances:\n  A: {aliases: x}", 2, 16, "a list of aliases, found 'x' Write one `- ITEM` per"),
    ("instances:\n  A: {endpoint: {state: start}}", 2, 25, "Did you mean 'started'?"),
    ("instances:\n  A: {endpoint: {forward_size_mb: many}}", 2, 35, "whole number"),
    ("instances:\n  A: {endpoint: {forward_size_mb: 0}}", 2, 35, "from 1"),
    ("instances:\n  A: {databases: {msdb: {}}}", 2, 19, "msdb"),
    ("instances:\n  A: {databases: {D: {broker: maybe}}}", 2, 31, "on or off"),
    ("instances:\n  A: {databases: {D: {routes: [{name: R}]}}}", 2, 32, "without address"),
    ("instances:\n  A: {databases: {D: {routes: [{name: R, address: LOCAL, lifetime: x}]}}}", 2, 68,
     "whole number"),
    ("instances:\n  A: {databases: {D: {routes: [{name: R, address: LOCAL, expires: soon}]}}}", 2,
     67, "such as"),
    ("instances:\n  A: {databases: {D: {contracts: {C: {M: sender}}}}}", 2, 42, "initiator"),
    ("instances:\n  A: {databases: {D: {services: {S: {queue: }}}}}", 2, 45, "queue"),
    ("instances:\n  A: {sql: [no.sql]}", 2, 13, "no file"),
    ("instances:\n  A: {sql: [{database: D}]}", 2, 13, "file: and a .sql file"),
    ("instances:\n  A: {sql: [{file: a.sql, variables: {V: 1}}]}", 2, 42, "a value"),
    ("expect:\n  - {from: A, to: B, verdict: fine}", 2, 31, "hazard"),
    ("expect:\n  - {from: A}", 2, 5, "without to"),
    ("a: \x01", 1, 0, "character"),
    ("instances:\n  A: {databases: {D: {schemas: {S: no.xsd}}}}", 2, 36, "no file"),
    ("instances:\n  A: {databases: {D: {schemas: {S: \"a\\0b\"}}}}", 2, 36, "no file"),
    ("instances:\n  A: {databases: {D: {honor_broker_priority: 7}}}", 2, 46, "on or off"),
    ("instances:\n  A: {databases: {D: {priorities: [{name: P}, {name: p}]}}}", 2, 47, "twice"),
    ("instances:\n  A: {databases: {D: {queues: {Q: {group: ''}}}}}", 2, 43, "Use 1 to"),
    ("instances:\n  A: {databases: {D: {queues: {Q: {group: '*'}}}}}", 2, 43, "found '*'"),
    ("instances:\n  A: {databases: {D: {queues: {Q: {group: ' '}}}}}", 2, 43, "spaces at the ends"),
    ("instances:\n  A: {databases: {D: {queues: {Q: {group: 'a '}}}}}", 2, 43, "found 'a '"),
    ("instances: {}\nclusters:\n  c: {prefix: 'a b'}", 3, 15, "found 'a b' Kafka allows letters"),
]  # fmt: skip


@pytest.mark.parametrize(("yaml", "line", "column", "message"), ERRORS)
def test_errors_have_their_place(
    tmp_path: Path, yaml: str, line: int | None, column: int | None, message: str
) -> None:
    """What cannot be read says file, line, column, what was expected and what to do."""
    (tmp_path / "topology.yaml").write_text(yaml, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(tmp_path, NOW)
    error = caught.value
    assert message in f"{error.message} {error.remedy}" and error.file.endswith("topology.yaml")
    if line is not None:
        assert (error.line, error.column) == (line, column)


def test_no_topology(tmp_path: Path) -> None:
    """A folder that is none, or that holds nothing, is wrong use."""
    with pytest.raises(UsageError, match="has no topology"):
        load(tmp_path, NOW)
    with pytest.raises(UsageError, match="no topology at"):
        load(tmp_path / "missing", NOW)
