"""An export is imported as the same topology; what T-SQL cannot express is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from streams.errors import Number
from streams.topology import (
    MSDB,
    Database,
    Finding,
    Instance,
    Procedure,
    Severity,
    Topology,
    apply_sql,
    empty_database,
)
from streams.topology.export import (
    database_script,
    explicit_instance,
    instance_script,
)
from streams.topology.yaml_file import read_document, write_document
from tests.topology.build import NOW, SHIPPED, from_yaml, shipped
from tests.topology.exported import explicit, through_a_folder
from tests.topology.made_up import topologies

ROUND = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@pytest.mark.long
@ROUND
@given(topologies())
def test_a_folder_loads_as_the_topology(topology: Topology) -> None:
    again = through_a_folder(topology)
    assert not refused(again)
    assert again == explicit(topology)


def refused(topology: Topology) -> list[Finding]:
    """Return the findings, except warnings of objects that the topology does not have either."""
    missing = {"number": Number.OBJECT_MISSING}, {}
    return [
        found
        for found in topology.findings
        if found.severity is Severity.ERROR or "which no script creates" not in found.message
        or found.evidence not in missing
    ]  # fmt: skip


@pytest.mark.long
@ROUND
@given(topologies())
def test_topology_yaml_loads_as_the_topology(topology: Topology) -> None:
    document = read_document(write_document(topology), "topology.yaml", NOW)
    assert unnumbered(document.instances) == unnumbered(topology.instances)
    assert (document.clusters, document.expect) == (topology.clusters, topology.expect)


@pytest.mark.long
@ROUND
@given(topologies())
def test_a_script_alone_loads_as_what_tsql_can_express(topology: Topology) -> None:
    """Not the broker ids, the mirrored pairs, and what only other instances and Kafka know."""
    for instance in topology.instances.values():
        script = instance_script(instance, NOW)
        again = fresh(instance.name, script.text)
        assert again == without(explicit_instance(instance))
        for database in instance.databases.values():
            text = database_script(instance, database, NOW).text
            made = fresh(instance.name, text).databases[database.name]
            assert made == again.databases[database.name]


def fresh(name: str, text: str) -> Instance:
    """Return what a script makes of an instance without anything."""
    empty = Topology({name: Instance(name, empty_database(name, MSDB))})
    topology = apply_sql(empty, name, MSDB, text, NOW)
    assert not refused(topology)
    return topology.instances[name]


def without(instance: Instance) -> Instance:
    return Instance(
        instance.name,
        exported(instance.msdb, instance.name),
        {name: exported(d, instance.name) for name, d in instance.databases.items()},
        endpoint=replace(
            instance.endpoint,
            transport=type(instance.endpoint)().transport,
            hide_path=False,
        ),
        grants=instance.grants,
    )


def exported(database: Database, instance: str) -> Database:
    queues = {name: replace(q, group=None, partitions=1) for name, q in database.queues.items()}
    created = empty_database(instance, database.name)
    return replace(
        database, broker_id=created.broker_id, mirror=None, queues=queues, master_key=None
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_topologies_come_through(name: str) -> None:
    topology = shipped(name)
    assert through_a_folder(topology) == explicit(topology)
    document = read_document(write_document(topology), "", NOW)
    assert unnumbered(document.instances) == unnumbered(topology.instances)


def unnumbered(instances: Mapping[str, Instance]) -> dict[str, Instance]:
    """Return instances whose routes are in their order, without gaps between their ids."""

    def counted(database: Database) -> Database:
        routes = (replace(r, route_id=n) for n, r in enumerate(database.routes))
        return replace(database, routes=tuple(routes))

    return {
        name: replace(
            i,
            msdb=counted(i.msdb),
            databases={key: counted(d) for key, d in i.databases.items()},
        )
        for name, i in instances.items()
    }


@pytest.mark.parametrize("expires", [0.0, NOW, NOW + 0.25, NOW + 1e-7, 1e14, 1e17])
def test_topology_yaml_has_exact_instants(tmp_path: Path, expires: float) -> None:
    """As a date where a date says it, else in seconds."""
    route = f"{{name: R, address: LOCAL, expires: {expires:.7f}}}"
    topology, written = from_yaml(tmp_path, f"{{routes: [{route}]}}")
    again = read_document(write_document(topology), "", NOW).instances["I1"].databases["DB"]
    assert again.routes[1].expires == written.routes[1].expires == expires


def test_topology_yaml_has_the_effects_of_procedures(tmp_path: Path) -> None:
    """Evidence is no T-SQL of export's, but the file has words for it."""
    database = """{procedures: {
        P: {begins: [{service: S, to: T, broker: B, contract: C, related: true, encryption: off}]},
        Q: {begins: [{unresolved: [TO SERVICE]}], ends: 2, receives: [Q1], calls: [P]}}}"""
    topology, written = from_yaml(tmp_path, database)
    text = write_document(topology)
    again = read_document(text, "", NOW).instances["I1"].databases["DB"]
    assert [exported_procedure(p) for p in again.procedures.values()] == [
        exported_procedure(p) for p in written.procedures.values()
    ]
    assert set(again.procedures) == {"P", "Q"}


def exported_procedure(procedure: Procedure) -> tuple[object, ...]:
    """Return what a procedure does; where it ends conversations is not kept."""
    p = procedure
    return p.name, p.begins, len(p.ends), p.receives, p.calls


def test_an_activation_that_is_off_is_exported_with_its_procedure(tmp_path: Path) -> None:
    queues = "{Q: {activation: dbo.Read, activation_status: off}}"
    topology, database = from_yaml(tmp_path, f"{{queues: {queues}}}")
    script = database_script(topology.instances["I1"], database, NOW)
    assert "ACTIVATION (STATUS = OFF, PROCEDURE_NAME = [dbo].[Read]," in script.text


def test_guesses_about_an_activation_are_reported(tmp_path: Path) -> None:
    """The topology keeps which procedure is activated, and how often, and not as whom."""
    queues = "{Q: {activation: dbo.Read, max_readers: 7}}"
    topology, database = from_yaml(tmp_path, f"{{queues: {queues}}}")
    script = database_script(topology.instances["I1"], database, NOW)
    [exported] = [left for left in script.left if left.what == "queue Q"]
    assert exported.lost and "EXECUTE AS OWNER" in exported.why


def test_the_kafka_settings_of_a_queue_are_reported_and_kept(tmp_path: Path) -> None:
    """Its consumer group and its partitions are no clauses of CREATE QUEUE."""
    topology, database = from_yaml(tmp_path, "{queues: {Q: {group: readers, partitions: 4}}}")
    script = database_script(topology.instances["I1"], database, NOW)
    assert [left.why for left in script.left if left.what == "queue Q"] == [
        "its consumer group is readers, a Hopline setting",
        "its topic has 4 partitions, a Hopline setting",
    ]
    queue = through_a_folder(topology).instances["I1"].databases[database.name].queues["Q"]
    assert (queue.group, queue.partitions) == ("readers", 4)
