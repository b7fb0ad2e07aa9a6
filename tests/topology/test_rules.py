"""V1 to V14: what the engine refuses is left out (T-SQL) or kept (YAML), with a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import Severity, Topology
from tests.node.evidence import shows

from .build import from_sql, from_yaml

A = "ADDRESS = 'tcp://h:4022'"
LONG_SERVICE, LONG_BROKER = "s" * 257, "b" * 129
MIRRORED = "SERVICE_NAME = 'S', BROKER_INSTANCE = 'B', "
BCN = "SQL/ServiceBroker/BrokerConfiguration"

SQL_ROWS = [
    ("V1", 9659, f"CREATE ROUTE R WITH SERVICE_NAME = '', {A}"),
    ("V1", 9659, "CREATE ROUTE R WITH ADDRESS = ''"),
    ("V2", 9660, f"CREATE ROUTE R WITH SERVICE_NAME = '{LONG_SERVICE}', {A}"),
    ("V2", 9660, f"CREATE ROUTE R WITH SERVICE_NAME = 'S', BROKER_INSTANCE = '{LONG_BROKER}', {A}"),
    ("V3", 9662, f"CREATE ROUTE R WITH BROKER_INSTANCE = 'B', {A}"),
    ("V4", 9661, f"CREATE ROUTE R WITH SERVICE_NAME = 'S', {A}, MIRROR_ADDRESS = 'tcp://m:4022'"),
    ("V5", 9743, f"CREATE ROUTE R WITH {MIRRORED} {A}, MIRROR_ADDRESS = 'LOCAL'"),
    ("V5", 9743, f"CREATE ROUTE R WITH {MIRRORED} ADDRESS='local', MIRROR_ADDRESS='tcp://m:4022'"),
    ("V6", 9744, "CREATE ROUTE R WITH ADDRESS = 'http://h:80'"),
    ("V6", 9744, f"CREATE ROUTE R WITH {MIRRORED} {A}, MIRROR_ADDRESS = 'partner'"),
    ("V7", 9745, "CREATE ROUTE R WITH SERVICE_NAME = 'S', ADDRESS = 'Transport'"),
    ("V8", 9746, f"CREATE ROUTE R WITH LIFETIME = 0, {A}"),
    ("V8", 9746, f"CREATE ROUTE R WITH LIFETIME = 2147483648, {A}"),
    ("V8", 9746, f"CREATE ROUTE R WITH LIFETIME = -5, {A}"),
    ("V9", 9747, f"CREATE ROUTE R WITH {MIRRORED} {A}, MIRROR_ADDRESS = 'TCP://H/'"),
    ("V10", None, f"CREATE ROUTE R WITH SERVICE_NAME = '{BCN}', BROKER_INSTANCE = 'B', {A}"),
    ("V11", 8412, f"CREATE ROUTE R WITH SERVICE_NAME = '  ', {A}"),
    ("V12", 8413, f"CREATE ROUTE R WITH SERVICE_NAME = 'S', BROKER_INSTANCE = ' B', {A}"),
    ("V13", 9609, f"CREATE ROUTE dbo.R WITH {A}"),
    ("V14", None, f"CREATE ROUTE autocreatedlocal WITH {A}"),
]

YAML_ROWS = [
    ("V1", 9659, "{name: R, service_name: '', address: LOCAL}"),
    ("V2", 9660, f"{{name: R, service_name: {LONG_SERVICE}, address: LOCAL}}"),
    ("V3", 9662, "{name: R, broker_instance: B, address: LOCAL}"),
    ("V4", 9661, "{name: R, service_name: S, address: 'tcp://a', mirror_address: 'tcp://b'}"),
    ("V5", 9743, "{name: R, service_name: S, broker_instance: B, address: 'tcp://a', "
                 "mirror_address: LOCAL}"),
    ("V6", 9744, "{name: R, address: nowhere}"),
    ("V7", 9745, "{name: R, service_name: S, address: TRANSPORT}"),
    ("V8", 9746, "{name: R, lifetime: 0, address: LOCAL}"),
    ("V9", 9747, "{name: R, service_name: S, broker_instance: B, address: 'tcp://a', "
                 "mirror_address: 'tcp://A:4022'}"),
    ("V10", None, f"{{name: R, service_name: {BCN}, broker_instance: B, address: 'tcp://a'}}"),
    ("V11", 8412, '{name: R, service_name: "a\\tb", address: LOCAL}'),
    ("V12", 8413, "{name: R, service_name: S, broker_instance: 'B ', address: LOCAL}"),
    ("V14", None, "{name: R, address: LOCAL}, {name: r, address: LOCAL}"),
]  # fmt: skip


def found(topology: Topology) -> set[tuple[str, int | None]]:
    """Return the rules that were found broken, each an error with code TA-20."""
    assert {(f.code, f.severity) for f in topology.findings} <= {("TA-20", Severity.ERROR)}
    for finding in topology.findings:
        number = finding.evidence["number"]
        assert str(number or finding.evidence["rule"]) in finding.message
        assert finding.remedy and finding.subject == "I1/DB"
    return {(f.evidence["rule"], f.evidence["number"]) for f in topology.findings}


@shows("L1")
@pytest.mark.parametrize(("rule", "number", "sql"), SQL_ROWS)
def test_tsql_that_breaks_a_rule_is_left_out(
    tmp_path: Path, rule: str, number: int | None, sql: str
) -> None:
    """A CREATE ROUTE that the engine refuses creates nothing and is found at its line."""
    topology, database = from_sql(tmp_path, f"; {sql};")
    assert (rule, number) in found(topology)
    assert [r.name for r in database.routes] == ["AutoCreatedLocal"]
    (line, column) = (topology.findings[0].line, topology.findings[0].column)
    assert (line, column) == (2, 3) and topology.findings[0].file.endswith("I1.sql")


@pytest.mark.parametrize(("rule", "number", "routes"), YAML_ROWS)
def test_yaml_that_breaks_a_rule_is_kept(
    tmp_path: Path, rule: str, number: int | None, routes: str
) -> None:
    """YAML states a record as it is (C-06): the route stays, and the finding says what is wrong."""
    topology, database = from_yaml(tmp_path, f"{{routes: [{routes}]}}")
    assert (rule, number) in found(topology)
    assert "R" in [r.name for r in database.routes]


@shows("L1")
def test_alter_is_checked_on_the_result(tmp_path: Path) -> None:
    """ALTER ROUTE may not make of a route what CREATE ROUTE would refuse; the old one stays."""
    topology, database = from_sql(
        tmp_path,
        f"CREATE ROUTE R WITH {A}; ALTER ROUTE R WITH BROKER_INSTANCE = 'B';",
    )
    assert found(topology) == {("V3", 9662)}
    assert database.routes[1].broker is None


def test_several_broken_rules_are_all_found(tmp_path: Path) -> None:
    """Every rule that a route breaks is reported, so that one correction is enough."""
    topology, _ = from_sql(tmp_path, "CREATE ROUTE R WITH BROKER_INSTANCE='B', ADDRESS='TRANSPORT'")
    assert found(topology) == {("V3", 9662), ("V7", 9745)}


def test_lengths_count_utf16_units(tmp_path: Path) -> None:
    """Limits are in nvarchar characters: one outside of the basic plane counts twice."""
    topology, _ = from_sql(tmp_path, f"CREATE ROUTE R WITH SERVICE_NAME = '{'𝔘' * 129}', {A}")
    assert found(topology) == {("V2", 9660)}
    topology, _ = from_sql(tmp_path, f"CREATE ROUTE R WITH SERVICE_NAME = '{'𝔘' * 128}', {A}")
    assert found(topology) == set()


@pytest.mark.parametrize("what", ["MESSAGE TYPE dbo.X", "SERVICE dbo.X ON QUEUE Q",
                                  "CONTRACT dbo.X (A SENT BY ANY)"])  # fmt: skip
def test_other_names_take_no_prefix_either(tmp_path: Path, what: str) -> None:
    """A schema before a service, contract or message type is 9609, as for routes."""
    topology, database = from_sql(tmp_path, f"CREATE {what};")
    assert found(topology) == {("V13", 9609)}
    assert not (database.message_types or database.services or database.contracts)
