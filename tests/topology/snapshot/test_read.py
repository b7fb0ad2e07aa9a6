"""Reading snapshots: documents and CSVs, in the forms in which people have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.analysis import find_paths, find_sender
from streams.errors import InputError, UsageError
from streams.topology import (
    Encryption,
    EndpointState,
    Mirror,
    Role,
    Securable,
    Severity,
    Topology,
    load,
)
from streams.topology.snapshot import VIEWS, Snapshot, is_snapshot, load_snapshot, read_instance
from tests.snapshots import (
    NOW,
    Document,
    broker_guid,
    csv_text,
    documents,
    endpoint,
    guid,
    message,
    moment,
    part,
    write_csv,
    write_json,
)
from tests.topology.build import SHIPPED, shipped


def two_brokers() -> dict[str, Document]:
    return documents(shipped("two_brokers"))


def read(folder: Path, found: dict[str, Document]) -> Snapshot:
    return load_snapshot(write_json(folder, found))


# --- What is read --------------------------------------------------------------------------------


def same(one: Topology, other: Topology) -> None:
    """Compare what decides a message's path."""
    assert set(one.instances) == set(other.instances)
    for name, instance in one.instances.items():
        seen = other.instances[name]
        assert seen.address.port == instance.address.port
        assert seen.started is instance.started
        assert seen.endpoint.forwarding is instance.endpoint.forwarding
        for database in (instance.msdb, *instance.databases.values()):
            there = seen.database(database.name)
            assert there is not None
            assert there.enabled is database.enabled
            assert dict(there.services) == dict(database.services)
            assert dict(there.contracts) == dict(database.contracts)
            assert [r.name for r in there.routes] == [r.name for r in database.routes]
            assert [(r.service, r.address, r.expires) for r in there.routes] == [
                (r.service, r.address, r.expires) for r in database.routes
            ]
            assert there.priorities == database.priorities


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_snapshot_of_a_shipped_topology_is_that_topology(
    tmp_path: Path, name: str, form: str
) -> None:
    topology = shipped(name)
    write = write_json if form == "json" else write_csv
    found = load_snapshot(write(tmp_path, documents(topology)))
    findings = [f for f in found.topology.findings if f.severity is not Severity.INFO]
    assert [f.message for f in findings] == [f.message for f in topology.findings]
    same(topology, found.topology)


def test_paths_work_on_a_snapshot_directly(tmp_path: Path) -> None:
    folder = write_json(tmp_path, documents(shipped("combined")))
    assert is_snapshot(folder)
    topology = load(folder, NOW)
    sender = find_sender(topology, "ServerA/DatabaseA", "TargetService")
    paths = find_paths(topology, sender, "TargetService", NOW)
    assert (paths.verdict.value, paths.ways) == ("ok", 4)


def test_objects_know_their_file_and_line(tmp_path: Path) -> None:
    write_csv(tmp_path, two_brokers())
    found = load_snapshot(tmp_path).topology.instances["ServerA"].databases["DatabaseA"]
    route = next(r for r in found.routes if r.name == "TargetRoute")
    assert (Path(route.source.file).name, route.source.line) == ("routes.csv", 4)
    assert found.services["InitiatorService"].source.line > 1


def test_a_document_row_knows_line_and_column(tmp_path: Path) -> None:
    text = json.dumps(two_brokers()["ServerA"], indent=1)
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    route = load_snapshot(tmp_path).topology.instances["ServerA"].databases["DatabaseA"].routes[1]
    line = text.splitlines()[route.source.line - 1]
    assert line[route.source.column - 1] == "{"
    assert '"TargetRoute"' in text.splitlines()[route.source.line]


def test_the_dmvs_are_values(tmp_path: Path) -> None:
    found = two_brokers()
    inside = part(found["ServerA"], "DatabaseA")
    inside["transmission_queue"] = [message("d1", "TargetService", "why", is_end_of_dialog=True)]
    inside["conversation_endpoints"] = [endpoint("d1", "DI", far_broker_instance="B")]
    inside["queue_depths"] = [{"object_id": 1000, "messages": 7}]
    inside["row_counts"] = [{"view_name": "transmission_queue", "row_count": 99}]
    server = found["ServerA"]
    server["dm_broker_connections"] = [{"state": 4, "login_state": 12, "is_accept": True,
                                        "last_activity_time": moment(NOW)}]  # fmt: skip
    server["dm_broker_forwarded_messages"] = [
        {"conversation_id": guid("d1"), "adjacent_broker_address": "tcp://x:4022",
         "hops_remaining": 3, "time_to_live": 60, "time_consumed": 2}
    ]  # fmt: skip
    server["dm_broker_queue_monitors"] = [
        {"database_id": 5, "queue_id": 1000, "state": "NOTIFIED", "tasks_waiting": 2}
    ]
    server["databases"][1]["is_read_only"] = True
    live = read(tmp_path, found).live["ServerA"]
    [row] = live.messages
    assert (row.database, row.to_service, row.status) == ("DatabaseA", "TargetService", "why")
    assert row.enqueued == NOW - 3600
    [side] = live.endpoints
    assert (side.handle, side.state.value, side.far_broker) == (row.handle, "DI", "B")
    assert (side.service, side.contract) == ("InitiatorService", "DEFAULT")
    assert live.depths == {("DatabaseA", "InitiatorQueue"): 7}
    assert live.cut == {("DatabaseA", "transmission_queue"): 99}
    assert live.closed == {"DatabaseA": "read-only"}
    assert live.connections[0].online
    assert live.forwarded[0].next_hop == "tcp://x:4022"
    assert live.monitors[0].queue == "InitiatorQueue"
    assert live.taken_at == NOW
    assert live.missing == ()


def test_security_and_endpoint(tmp_path: Path) -> None:
    found = two_brokers()
    server = found["ServerA"]
    server["service_broker_endpoints"][0] |= {"state": 1, "encryption_algorithm": 8}
    part(server, "DatabaseA")["certificates"] = [
        {"name": "Cert", "principal_id": 0, "subject": "CN=A", "expiry_date": moment(NOW)},
        {"name": "##MS_AgentSigningCertificate##"},
    ]
    instance = read(tmp_path, found).topology.instances["ServerA"]
    assert instance.endpoint.state is EndpointState.STOPPED
    assert instance.endpoint.encryption is Encryption.SUPPORTED
    assert instance.endpoint.algorithms == ("AES", "RC4")
    [grant] = instance.grants
    assert (grant.permission, grant.securable) == ("CONNECT", Securable.ENDPOINT)
    database = instance.databases["DatabaseA"]
    assert [(c.name, c.user, c.expires) for c in database.certificates.values()] == [
        ("Cert", "public", NOW)
    ]
    assert [(g.permission, g.name, g.principal) for g in database.grants] == [
        ("SEND", "InitiatorService", "public")
    ]


def test_an_instance_without_an_endpoint_is_closed(tmp_path: Path) -> None:
    found = two_brokers()
    found["ServerA"]["service_broker_endpoints"] = []
    assert not read(tmp_path, found).topology.instances["ServerA"].started


def test_availability_groups_give_listeners_and_roles(tmp_path: Path) -> None:
    found = two_brokers()
    group = guid("AG1")
    found["ServerB"] |= {
        "availability_groups": [{"group_id": group, "name": "AG1"}],
        "availability_group_listeners": [{"group_id": group, "dns_name": "orders", "port": 1433}],
        "availability_databases_cluster": [{"group_id": group, "database_name": "DatabaseB"}],
        "dm_hadr_availability_replica_states": [{"group_id": group, "is_local": True, "role": 2}],
    }
    instance = read(tmp_path, found).topology.instances["ServerB"]
    assert instance.listeners == ("tcp://orders:4022",)
    assert instance.databases["DatabaseB"].mirror == Mirror("AG1", Role.MIRROR)


def test_queues_are_named_by_schema_and_what_the_server_brings_is_left_out(tmp_path: Path) -> None:
    found = two_brokers()
    inside = part(found["ServerA"], "DatabaseA")
    inside["service_queues"][1]["schema_id"] = 5
    part(found["ServerA"], "msdb")["services"].append({"name": "ExternalMailService"})
    instance = read(tmp_path, found).topology.instances["ServerA"]
    database = instance.databases["DatabaseA"]
    assert list(database.queues) == ["sales.InitiatorQueue"]
    assert database.services["InitiatorService"].queue == "sales.InitiatorQueue"
    assert list(database.services) == ["InitiatorService"]
    assert not instance.msdb.services


def test_a_full_host_name_is_taken_for_the_server_and_reported(tmp_path: Path) -> None:
    found = two_brokers()
    part(found["ServerA"], "DatabaseA")["routes"][1]["address"] = "TCP://serverb.corp.example:4022"
    topology = read(tmp_path, found).topology
    assert topology.instances["ServerB"].aliases == ("serverb.corp.example",)
    [finding] = topology.findings
    assert (finding.severity, finding.subject) == (Severity.INFO, "ServerB")


def test_of_two_instances_on_a_host_the_port_decides(tmp_path: Path) -> None:
    found = two_brokers()
    for name, port in (("ServerA", 4022), ("ServerB", 4023)):
        found[name]["server"][0] |= {"server_name": f"SQL\\{name}", "machine_name": "SQL"}
        found[name]["tcp_endpoints"][0]["port"] = port
    route = part(found["ServerA"], "DatabaseA")["routes"][1]
    route["address"] = "tcp://sql.corp.example:4023"
    topology = read(tmp_path / "1", found).topology
    assert [i.name for i in topology.instances.values() if i.aliases] == ["SQL\\ServerB"]
    route["address"] = "tcp://sql.corp.example:9999"
    topology = read(tmp_path / "2", found).topology
    assert not [i for i in topology.instances.values() if i.aliases]
    found["ServerB"]["tcp_endpoints"][0]["port"] = 4022
    route["address"] = "tcp://sql.corp.example:4022"
    topology = read(tmp_path / "3", found).topology
    assert not [i for i in topology.instances.values() if i.aliases]


def test_a_system_database_is_part_of_it_only_if_it_has_dialogs(tmp_path: Path) -> None:
    found = two_brokers()
    master = {**part(found["ServerA"], "msdb"), "database_name": "master"}
    found["ServerA"]["in_database"].append(master)
    found["ServerA"]["databases"].append({"name": "master", "database_id": 1})
    instance = read(tmp_path / "1", found).topology.instances["ServerA"]
    assert list(instance.databases) == ["DatabaseA"]
    master["transmission_queue"] = [message("d", "S")]
    snapshot = read(tmp_path / "2", found)
    assert "master" in snapshot.topology.instances["ServerA"].databases


def test_routes_are_in_the_order_of_their_creation(tmp_path: Path) -> None:
    found = two_brokers()
    part(found["ServerA"], "DatabaseA")["routes"].reverse()
    database = read(tmp_path, found).topology.instances["ServerA"].databases["DatabaseA"]
    assert [r.name for r in database.routes] == ["AutoCreatedLocal", "TargetRoute"]


def test_one_instance_can_be_read_under_a_name(tmp_path: Path) -> None:
    folder = write_csv(tmp_path, two_brokers())
    found = read_instance(folder / "ServerA", "sql01.corp")
    assert list(found.topology.instances) == ["sql01.corp"]
    assert "ServerA" in found.topology.instances["sql01.corp"].aliases
    with pytest.raises(UsageError, match="2 instances"):
        read_instance(folder)


# --- How it is written ---------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_csvs_as_excel_and_ssms_save_them(tmp_path: Path, delimiter: str, encoding: str) -> None:
    rows = [{"database_name": "Müller", "name": "R;1", "remote_service_name": 'a "b", c',
             "address": "LOCAL"}]  # fmt: skip
    text = csv_text("routes", rows, delimiter)
    (tmp_path / "sys.routes.csv").write_bytes(text.encode(encoding))
    topology = load_snapshot(tmp_path).topology
    [instance] = topology.instances.values()
    [route] = instance.databases["Müller"].routes
    assert (route.name, route.service, route.expires) == (
        "R;1", 'a "b", c', None
    )  # fmt: skip


def test_sqlcmds_rules_and_counts_and_excels_first_line_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "DatabaseA.routes.csv").write_text(
        "sep=;\nname;address;colour\n----;-------;---\nR1;LOCAL;red\n\n(1 rows affected)\n"
    )
    topology = load_snapshot(tmp_path).topology
    [instance] = topology.instances.values()
    [route] = instance.databases["DatabaseA"].routes
    assert (route.name, route.source.line) == ("R1", 4)


def test_what_the_script_writes_once_more_for_the_next_database_counts_once(tmp_path: Path) -> None:
    text = csv_text("dm_broker_connections", [{"state": 4}])
    for database in ("A", "B"):
        (tmp_path / f"{database}.dm_broker_connections.csv").write_text(text)
        (tmp_path / f"{database}.routes.csv").write_text("name,address\nR,LOCAL\n")
    [live] = load_snapshot(tmp_path).live.values()
    assert (len(live.connections), live.rows["routes"]) == (1, 2)


def test_a_view_that_an_old_server_lacks_is_missing(tmp_path: Path) -> None:
    folder = write_csv(tmp_path, two_brokers())
    text = "Msg 208, Level 16, State 1\nInvalid object name 'sys.conversation_priorities'.\n"
    (folder / "ServerA" / "conversation_priorities.csv").write_text(text)
    found = load_snapshot(folder)
    assert found.live["ServerA"].missing == ("conversation_priorities",)
    assert not found.topology.findings


def test_a_cell_with_a_line_break_keeps_the_lines_of_later_rows(tmp_path: Path) -> None:
    (tmp_path / "routes.csv").write_text(
        'database_name,name,address\nA,"R\n1",LOCAL\nA,R2,LOCAL\n', encoding="utf-8"
    )
    [instance] = load_snapshot(tmp_path).topology.instances.values()
    assert [(r.name, r.source.line) for r in instance.databases["A"].routes] == [
        ("R\n1", 2), ("R2", 4)
    ]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("broken", [False, True])
def test_a_document_inside_of_what_sqlcmd_prints(
    tmp_path: Path, encoding: str, broken: bool
) -> None:
    """A header before it, a count behind it, line breaks in its middle after 2,033 characters."""
    text = json.dumps(two_brokers()["ServerA"])
    if broken:
        text = "\r\n".join(text[at : at + 2033] for at in range(0, len(text), 2033))
    text = f"snapshot\r\n--------\r\n<?hopline {text}?>\r\n\r\n(1 rows affected)\r\n"
    (tmp_path / "x.json").write_bytes(text.encode(encoding))
    found = load_snapshot(tmp_path / "x.json").topology
    assert "TargetRoute" in [
        r.name for r in found.instances["ServerA"].databases["DatabaseA"].routes
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-09-21T13:33:20.120", NOW - 2400 + 0.12),
        ("2026-09-21 13:33:20.1200000", NOW - 2400 + 0.12),
        ("2026-09-21T14:33:20+01:00", NOW - 2400),
        ("20260921 13:33:20", NOW - 2400),
        ("Sep 21 2026  1:33PM", NOW - 2420),
        ("21.09.2026 13:33:20", NOW - 2400),
        ("9/21/2026 1:33:20 PM", NOW - 2400),
        ("21/09/2026 13:33", NOW - 2420),
    ],
)
def test_dates_in_their_usual_forms(tmp_path: Path, text: str, seconds: float) -> None:
    rows = [{**message("d", "S"), "database_name": "A", "enqueue_time": text}]
    (tmp_path / "transmission_queue.csv").write_text(csv_text("transmission_queue", rows))
    found = load_snapshot(tmp_path)
    [live] = found.live.values()
    assert live.messages[0].enqueued == pytest.approx(seconds, abs=0.001)


# --- What is wrong with it -----------------------------------------------------------------------


def test_a_bad_cell_is_a_finding_and_the_row_stays(tmp_path: Path) -> None:
    rows = [{**message("d", "S"), "database_name": "A", "enqueue_time": "yesterday"}]
    (tmp_path / "transmission_queue.csv").write_text(csv_text("transmission_queue", rows))
    found = load_snapshot(tmp_path)
    [live] = found.live.values()
    assert live.messages[0].enqueued is None
    finding = found.topology.findings[0]
    assert (finding.code, finding.line, "'yesterday' is not a date" in finding.message) == (
        "TA-20", 2, True
    )  # fmt: skip
    line = (tmp_path / "transmission_queue.csv").read_text().splitlines()[1]
    assert line[finding.column - 1 :].startswith("yesterday")
    assert finding.remedy


def test_a_local_time_is_by_the_servers_clock(tmp_path: Path) -> None:
    """Which is an hour ahead."""
    found = two_brokers()
    found["ServerA"]["server"] = [{"server_name": "ServerA", "utc_offset_minutes": 60}]
    found["ServerA"]["dm_broker_connections"] = [{"state": 4, "last_activity_time": moment(NOW)}]
    assert read(tmp_path, found).live["ServerA"].taken_at == NOW - 3600


def test_a_local_time_outside_the_calendar_is_reported(tmp_path: Path) -> None:
    found = two_brokers()
    found["ServerA"]["server"] = [{"server_name": "ServerA", "utc_offset_minutes": -60}]
    found["ServerA"]["dm_broker_connections"] = [
        {"state": 4, "last_activity_time": "9999-12-31T23:59:59"}
    ]
    snapshot = read(tmp_path, found)
    assert snapshot.live["ServerA"].taken_at is None
    assert "out of range" in snapshot.topology.findings[0].message


def test_half_a_character_can_be_reported(tmp_path: Path) -> None:
    found = two_brokers()
    found["ServerA"]["databases"][0] |= {"database_id": "\ud800", "name": "\udc00x"}
    (tmp_path / "a.json").write_text(json.dumps(found["ServerA"]))
    topology = load_snapshot(tmp_path).topology
    assert "\ufffdx" in topology.instances["ServerA"].databases
    assert [f.message.encode() for f in topology.findings]


def test_a_row_without_its_key_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "routes.csv").write_text("database_name,name,address\nA,,LOCAL\nA,R,LOCAL\n")
    found = load_snapshot(tmp_path).topology
    [instance] = found.instances.values()
    assert [r.name for r in instance.databases["A"].routes] == ["R"]
    assert found.findings[0].message == "a row of routes is ignored: it has no name"


def test_a_row_of_no_database_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "routes.csv").write_text("name,address\nR,LOCAL\n")
    [finding, *_] = load_snapshot(tmp_path).topology.findings
    assert finding.message == "a row of routes is ignored: it has no database_name"


def test_a_csv_without_headers_is_reported(tmp_path: Path) -> None:
    (tmp_path / "routes.csv").write_text("A,R,LOCAL\n")
    found = load_snapshot(tmp_path).topology.findings
    assert found[0].severity is Severity.ERROR and "has no column" in found[0].message


def test_missing_views_are_reported(tmp_path: Path) -> None:
    (tmp_path / "routes.csv").write_text("database_name,name,address\nA,R,LOCAL\n")
    found = load_snapshot(tmp_path)
    [live] = found.live.values()
    assert set(live.missing) >= {"databases", "services", "transmission_queue"}
    assert "routes" not in live.missing
    assert [f.message for f in found.topology.findings] == [
        "sys.databases is not in the snapshot", "sys.services is not in the snapshot"
    ]  # fmt: skip


def test_an_unreadable_database_is_reported(tmp_path: Path) -> None:
    found = two_brokers()
    found["ServerB"]["in_database"].append({"database_name": "X", "error": "no permission"})
    snapshot = read(tmp_path, found)
    assert snapshot.live["ServerB"].unread == {"X": "no permission"}
    assert "X could not be read: no permission" in snapshot.topology.findings[0].message


@pytest.mark.parametrize("cut", [40, 500, 3000])
def test_a_document_that_was_cut_is_unreadable_with_its_place(tmp_path: Path, cut: int) -> None:
    text = json.dumps(two_brokers()["ServerA"])[:cut]
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError) as caught:
        load_snapshot(tmp_path)
    assert caught.value.file.endswith("a.json") and caught.value.line == 1
    assert "sqlcmd with -y 0" in caught.value.remedy


def test_two_snapshots_of_one_server_are_reported(tmp_path: Path) -> None:
    found = two_brokers()
    write_json(tmp_path, {"a": found["ServerA"], "b": found["ServerA"]})
    [finding] = load_snapshot(tmp_path).topology.findings
    assert "second snapshot of ServerA" in finding.message


def test_no_snapshot_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "sales.csv").write_text("a,b\n")
    assert not is_snapshot(tmp_path)
    with pytest.raises(UsageError, match="no snapshot"):
        load_snapshot(tmp_path)


def test_broker_ids_are_guids_in_any_case(tmp_path: Path) -> None:
    found = two_brokers()
    row = found["ServerB"]["databases"][1]
    row["service_broker_guid"] = "{" + row["service_broker_guid"].lower() + "}"
    topology = read(tmp_path, found).topology
    expected = shipped("two_brokers").instances["ServerB"].databases["DatabaseB"].broker_id
    seen = topology.instances["ServerB"].databases["DatabaseB"].broker_id
    assert seen.upper() == broker_guid(expected)
    assert set(VIEWS) >= set(found["ServerA"]) - {"hopline_snapshot", "in_database"}
