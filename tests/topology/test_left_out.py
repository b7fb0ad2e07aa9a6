"""What T-SQL cannot express: a comment in the script, reported, and kept by topology.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import Topology, load
from streams.topology.export import database_script, export_folder
from tests.topology.build import NOW, from_yaml, write
from tests.topology.exported import explicit, through_a_folder


def exported(folder: Path, database: str) -> tuple[str, list[str], Topology]:
    """Return the script of database DB, the reasons of omissions, and what the folder loads as."""
    topology, db = from_yaml(folder, database)
    script = database_script(topology.instances["I1"], db, NOW)
    return script.text, [str(left) for left in script.left], through_a_folder(topology)


def test_what_the_engine_would_refuse_is_a_comment_with_the_reason(tmp_path: Path) -> None:
    """V4 here; the folder's topology.yaml still has the record (C-06)."""
    route = "{name: R, service_name: S, address: 'tcp://a', mirror_address: 'tcp://b'}"
    text, reasons, again = exported(tmp_path, f"{{routes: [{route}]}}")
    assert "CREATE ROUTE" not in text
    [why] = reasons
    assert why.startswith("I1/DB: route R: MIRROR_ADDRESS is given, but")
    assert "(V4: 9661" in why
    assert "-- left out: route R: MIRROR_ADDRESS" in text
    assert again.instances["I1"].databases["DB"].routes[1].mirror == "tcp://b"
    assert [f.evidence["rule"] for f in again.findings] == ["V4"]


def test_of_two_routes_of_one_name_the_first_is_created(tmp_path: Path) -> None:
    rows = "[{name: R, address: 'tcp://a'}, {name: r, address: 'tcp://b'}]"
    text, reasons, again = exported(tmp_path, f"{{routes: {rows}}}")
    assert text.count("CREATE ROUTE") == 1 and "N'tcp://a'" in text
    assert ["V14" in why for why in reasons] == [True]
    assert [r.address for r in again.instances["I1"].databases["DB"].routes] == ["LOCAL", "tcp://a"]


def test_an_expired_route_is_a_comment_and_stays_in_the_folder(tmp_path: Path) -> None:
    rows = "[{name: Old, service_name: S, address: 'tcp://a', expires: 1000}]"
    text, [why], again = exported(tmp_path, f"{{routes: {rows}}}")
    assert why == "I1/DB: route Old: it expired at 1970-01-01T00:16:40Zand has no effect"
    assert "CREATE ROUTE" not in text and f"-- left out: {why.removeprefix('I1/DB: ')}" in text
    assert again.instances["I1"].databases["DB"].routes[1].expires == 1000.0


@pytest.mark.parametrize(
    "expires, lifetime",
    [(NOW + 60, 60), (NOW + 0.25, 1), (NOW + 59.5, 60), (NOW + 9e9, 2**31 - 1)],
)
def test_a_lifetime_is_what_is_left_rounded_up(
    tmp_path: Path, expires: float, lifetime: int
) -> None:
    rows = f"[{{name: R, address: 'tcp://a', expires: {expires!r}}}]"
    assert f"LIFETIME = {lifetime}," in exported(tmp_path, f"{{routes: {rows}}}")[0]


def test_auto_created_local_is_dropped_where_it_is_gone(tmp_path: Path) -> None:
    text, _, again = exported(tmp_path, "{auto_created_local: false}")
    assert "IF EXISTS (SELECT * FROM sys.routes WHERE name = N'AutoCreatedLocal')" in text
    assert "DROP ROUTE [AutoCreatedLocal];" in text
    assert again.instances["I1"].databases["DB"].routes == ()


def test_the_broker_id_is_a_comment_and_stays_in_the_folder(tmp_path: Path) -> None:
    text, [why], again = exported(tmp_path, "{broker_id: Mine}")
    assert why == "I1/DB: broker id: Mine; a server assigns another one"
    assert "-- broker id: Mine" in text
    assert again.instances["I1"].databases["DB"].broker_id == "Mine"


@pytest.mark.parametrize(
    "database, what",
    [
        ("{message_types: {DEFAULT: {validation: none}}}", "message type DEFAULT"),
        ("{message_types: {T: {validation: valid_xml}}}", "message type T"),
        ("{contracts: {C: {}}}", "contract C"),
        ("{queues: {a.b.c: {}}}", "queue a.b.c"),
        ("{certificates: {C: {private_key: master_key}}}", "certificate C"),
        ("{certificates: {C: {subject: s, private_key: password}}}", "certificate C"),
        ("{certificates: {C: {expires: 2031-01-01}}}", "certificate C"),
        ("{services: {S: {queue: '.'}}, queues: {'.': {}}}", "queue .; service S"),
    ],
)
def test_an_object_without_words_stays_in_the_folder(
    tmp_path: Path, database: str, what: str
) -> None:
    text, reasons, again = exported(tmp_path, database)
    assert "CREATE" not in text
    assert [why.split(": ")[1] for why in reasons] == what.split("; ")
    assert not again.findings
    assert again == explicit(from_yaml(tmp_path, database)[0])


def test_the_schema_dbo_need_not_be_written(tmp_path: Path) -> None:
    """YAML may write it, T-SQL's names are without it: both mean one queue."""
    database = "{services: {S: {queue: dbo.Q}}, queues: {dbo.Q: {retention: on}}}"
    text, reasons, again = exported(tmp_path, database)
    assert "CREATE QUEUE [dbo].[Q] WITH RETENTION = ON;" in text and not reasons
    assert again == explicit(from_yaml(tmp_path, database)[0])
    assert again.instances["I1"].databases["DB"].services["S"].queue == "Q"


def test_users_are_made_but_for_those_that_every_database_has(tmp_path: Path) -> None:
    grants = "{grants: [{service: S, to: public}, {service: S, to: u}]}"
    text, reasons, again = exported(tmp_path, grants)
    assert text.count("CREATE USER") == 1 and "CREATE USER [u] WITHOUT LOGIN;" in text
    assert "GRANT SEND ON SERVICE::[S] TO [public];" in text
    assert not reasons and len(again.instances["I1"].databases["DB"].grants) == 2


def test_owners_are_made_before_their_services(tmp_path: Path) -> None:
    text, reasons, again = exported(tmp_path, "{services: {S: {owner: u}}, master_key: true}")
    assert text.index("CREATE USER [u]") < text.index("CREATE SERVICE [S] AUTHORIZATION [u] ON")
    database = again.instances["I1"].databases["DB"]
    assert not reasons and database.services["S"].owner == "u" and database.master_key


def test_of_two_priorities_with_one_criteria_the_first_is_created(tmp_path: Path) -> None:
    text, [why], _ = exported(tmp_path, "{priorities: [{name: P, level: 3}, {name: Q, level: 4}]}")
    assert text.count("CREATE BROKER PRIORITY") == 1
    assert why == "I1/DB: broker priority Q: P has the same criteria"


def test_names_of_instances_make_files_that_can_be(tmp_path: Path) -> None:
    yaml = "instances: {'SQL01\\PROD': {}, 'SQL01/PROD': {}, '..': {}, 'Über': {}}"
    topology = load(write(tmp_path, yaml), NOW)
    assert list(export_folder(topology, NOW).files) == [
        "topology.yaml", "SQL01_PROD.sql", "SQL01_PROD_2.sql", "instance.sql", "_ber.sql"
    ]  # fmt: skip
    assert through_a_folder(topology) == explicit(topology)
