"""Scripts as people have them, whole: what is left of each when it was read as found."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import (
    BeginDialog,
    Certificate,
    Encryption,
    EndpointState,
    Grant,
    Instance,
    PrivateKey,
    Securable,
    Source,
    Topology,
    load_with_notes,
)
from streams.topology.tsql import Notes

from .build import NOW

SCRIPTS = Path(__file__).parent / "scripts"


def as_found(folder: Path, *scripts: str | bytes) -> tuple[Topology, Notes]:
    """Load scripts, given by their names or their bytes, at instance I1 whose database is DB."""
    names = []
    for number, script in enumerate(scripts):
        data = script if isinstance(script, bytes) else (SCRIPTS / script).read_bytes()
        names.append(f"{number}.sql" if isinstance(script, bytes) else script)
        (folder / names[-1]).write_bytes(data)
    yaml = f"instances: {{I1: {{sql: {names}, scripts: as_found, databases: {{DB: {{}}}}}}}}"
    (folder / "topology.yaml").write_text(yaml, encoding="utf-8")
    return load_with_notes(folder, NOW)


def instance(topology: Topology) -> Instance:
    return topology.instances["I1"]


def test_a_tutorial(tmp_path: Path) -> None:
    """Guards, dynamic SQL, certificates, permissions, a service before its queue: all applied."""
    topology, notes = as_found(tmp_path, "tutorial.sql")
    found = instance(topology)
    database = found.databases["Desk"]
    assert not topology.findings
    assert not [s for s in notes.skipped if s.why]
    endpoint = found.endpoint
    assert (endpoint.name, endpoint.state, endpoint.port) == (
        "DeskEndpoint", EndpointState.STARTED, 4023,
    )  # fmt: skip
    assert endpoint.authentication == ("WINDOWS", "KERBEROS", "CERTIFICATE", "TransportCert")
    assert (endpoint.encryption, endpoint.algorithms) == (Encryption.SUPPORTED, ("AES", "RC4"))
    assert (endpoint.forwarding, endpoint.forward_size_mb) == (True, 15)
    connect = [Grant("CONNECT", Securable.ENDPOINT, "DeskEndpoint", f"SHOP\\{who}$")
               for who in ("store", "spare")]  # fmt: skip
    assert found.grants == tuple(connect)
    assert database.certificates == {
        "DeskCert": Certificate(
            "DeskCert",
            1706659200.0,
            1924905600.0,
            "The desk's certificate",
            "DeskUser",
            PrivateKey.PASSWORD,
        ),
        "StoreCert": Certificate("StoreCert", user="StoreUser", private_key=PrivateKey.MASTER_KEY),
    }
    assert database.grants == (
        Grant("SEND", Securable.SERVICE, "//shop/Desk", "StoreUser"),
        Grant("SEND", Securable.SERVICE, "//shop/Desk", "Guest", denied=True),
    )
    desk = database.services["//shop/Desk"]
    assert (desk.contracts, desk.owner) == (("//shop/Callback",), "DeskUser")
    assert database.master_key
    queue = database.queues["DeskQueue"]
    assert (queue.activation, queue.poison_message_handling) == ("dbo.ReadReplies", False)
    assert set(database.message_types) == {"//shop/Order", "//shop/Reply"}
    [binding] = database.bindings
    assert (binding.service, binding.user, binding.anonymous) == ("//shop/Store", "StoreUser", True)
    assert database.priorities[0].level == 8
    assert [(r.name, r.address, r.source.line) for r in database.routes[1:]] == [
        ("StoreRoute", "TCP://Store:4022", 47)
    ]
    assert [(r.name, r.source.line) for r in found.msdb.routes[1:]] == [("DeskRoute", 52)]
    begins = database.procedures["tutorial.sql"].begins
    assert begins == (
        BeginDialog(
            "//shop/Desk",
            "//shop/Store",
            database.broker_id,
            "//shop/Contract",
            True,
            False,
            sends=("//shop/Order",),
        ),
    )
    assert notes.understood["I1", "EXECUTE"] == 2
    assert [s.kind for s in notes.skipped] == [
        "CREATE LOGIN", "CREATE USER", "BACKUP", "BEGIN TRANSACTION",
        "COMMIT",
    ]  # fmt: skip


def test_a_generated_script(tmp_path: Path) -> None:
    """Stubs that are altered later, procedures with blocks, IF with ELSE, TRY with CATCH."""
    topology, notes = as_found(tmp_path, "generated.sql")
    database = instance(topology).databases["Store"]
    assert not topology.findings
    assert database.enabled and database.honor_priority
    assert [(r.name, r.address) for r in database.routes[1:]] == [("DeskRoute", "TCP://Desk:4023")]
    assert database.services["//shop/Store"].queue == "OrderQueue"
    assert set(database.procedures) == {"ReadOrders", "OnOrder", "Plain", "generated.sql"}
    read = database.procedures["ReadOrders"]
    audit, backup = read.begins
    assert audit == BeginDialog("//shop/Store", "//shop/Audit", related=True)
    assert (backup.to, backup.broker, backup.contract) == (None, None, None)
    assert backup.unresolved == ("TO SERVICE", "broker id", "ON CONTRACT")
    assert audit.source == Source(str(tmp_path / "generated.sql"), 74, 17)
    assert [place.line for place in read.ends] == [66, 70, 86]
    assert (read.receives, read.calls) == (("OrderQueue", "sales.Spare"), ("LogError",))
    assert database.procedures["OnOrder"].calls == ("SendOrder",)
    kinds = [(s.kind, s.line) for s in notes.skipped if " in " in s.kind or s.why]
    assert kinds == [
        ("BEGIN DIALOG", 77), ("DROP ROUTE in a procedure", 89), ("EXECUTE", 90),
        ("ALTER ROUTE in ELSE", 111), ("ALTER ROUTE in CATCH", 118),
    ]  # fmt: skip


def test_a_web_page(tmp_path: Path) -> None:
    """Typographic quotes and dashes are taken for what they were, with a note."""
    topology, notes = as_found(tmp_path, "blog.sql")
    database = instance(topology).databases["DB"]
    assert not topology.findings
    route = database.routes[1]
    assert (route.service, route.address) == ("//shop/Store", "tcp://Store:4022")
    assert route.broker == "8A5C2A49-6F15-4A4E-9B9B-2C5F7C0C0F11"
    assert database.services["//shop/Desk"].queue == "My Queue"
    assert {(r.message, r.line, r.count) for r in notes.remarks} == {
        ("typographic quotes are read as plain quotes", 4, 4),
        ("a typographic dash is read as the start of a comment", 1, 3),
    }


def test_what_sqlcmd_does(tmp_path: Path) -> None:
    """:setvar is obeyed, in strings, names and words; what leads elsewhere is unresolved."""
    topology, notes = as_found(tmp_path, "sqlcmd.sql")
    store, back = instance(topology).databases["Shop Desk"].routes[1:]
    assert (store.name, store.service, store.address) == (
        "StoreRoute", "//shop/Store", "tcp://Store:4022",
    )  # fmt: skip
    assert (back.service, back.address, back.expires) == (
        "$(Unknown)", "tcp://Desk:4022", NOW + 4022,
    )  # fmt: skip
    assert [(s.kind, s.line) for s in notes.skipped if s.why] == [
        (":r common.sql", 5), (":connect other", 11), ("$(Unknown)", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "taken"),
    [
        ("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("cp1252", "cp1252"),
    ],
)  # fmt: skip
def test_any_encoding_is_read_and_reported(tmp_path: Path, encoding: str, taken: str) -> None:
    text = "USE [Größe]\r\nGO\r\nCREATE QUEUE [Käufe’s]\r\nGO\r\n"
    topology, notes = as_found(tmp_path, text.encode(encoding))
    queue = instance(topology).databases["Größe"].queues["Käufe’s"]
    assert queue.source.line == 3
    assert list(notes.encodings.values()) == [taken]


def test_bytes_of_no_encoding_are_read(tmp_path: Path) -> None:
    """Whatever the bytes are, the statements around them are understood."""
    topology, _ = as_found(tmp_path, b"\xff\xfeU\x00S\x00E\x00 \x00D\x00\n\x00\x00")
    assert "D" in instance(topology).databases
    topology, _ = as_found(tmp_path, b"USE D -- \x81\x8d\xff\nCREATE QUEUE Q\x00\x1a")
    assert "Q" in instance(topology).databases["D"].queues
