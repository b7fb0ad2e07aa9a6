"""TA-31 and TA-32: contracts and message types on both sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import report_of, reported

BOTH = """
instances:
  A:
    databases:
      D:
        message_types: {here_types}
        contracts: {here}
        services: {{I: {{contracts: []}}}}
        procedures: {procedures}
      E:
        message_types: {there_types}
        contracts: {there}
        services: {{S: {{contracts: [{accepts}]}}}}
expect: [{{from: A/D/I, to: S}}]
"""
TYPES = "{M: {validation: none}, N: {validation: none}}"
C = "{C: {M: initiator, N: target}}"
BEGIN = "{{P: {{begins: [{{service: I, to: S, contract: {0}}}], ends: 1}}}}"
SENDS = "{{P: {{begins: [{{service: I, to: S, contract: C, sends: [{0}]}}], ends: 1}}}}"


def both(here: str = C, there: str = C, accepts: str = "C", procedures: str = "{}",
         here_types: str = TYPES, there_types: str = TYPES) -> str:  # fmt: skip
    return BOTH.format(
        here=here, there=there, accepts=accepts, procedures=procedures,
        here_types=here_types, there_types=there_types,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (both(), []),
        (both(procedures=BEGIN.format("C")), []),
        (both(accepts="DEFAULT", here="{}", there="{}"), []),
        # Nothing in common, whichever it is meant to be.
        (both(here="{}"), ["error A/E: S accepts C, but A/D has no such contract"]),
        (
            both(accepts=""),
            ["error A/E: S accepts no contract, so A/D cannot begin dialogs with it"],
        ),
        (both(accepts="C, DEFAULT", here="{}"), []),
        # What BEGIN DIALOG names is what counts.
        (
            both(accepts="C, DEFAULT", here="{}", procedures=BEGIN.format("C")),
            ["error A/D: I begins dialogs with S under C, but the database has no such contract"],
        ),
        (
            both(procedures=BEGIN.format("DEFAULT")),
            ["error A/E: S does not accept DEFAULT, under which A/D begins dialogs"],
        ),
        # ... for this flow, and where the text tells it.
        (both(procedures="{P: {ends: 1, begins: [{service: I, to: X, contract: X}]}}"), []),
        (both(procedures="{P: {ends: 1, begins: [{service: I, to: S, contract: null}]}}"), []),
        # Neither side can do without its parts.
        (
            both(accepts="C, X"),
            ["error A/E: service S accepts X, but the database has no such contract"],
        ),
        (
            both(there_types="{M: {}}"),
            ["error A/E: contract C names N, but the database has no such message type"],
        ),
        (
            both(here="{C: {M: target}}", there="{C: {M: target}}"),
            ["no message type that the initiator may send"] * 2,
        ),
        # The same name, and not the same contract.
        (
            both(here="{C: {M: initiator, N: any}}"),
            ["warning A/E: contract C differs in A/D", "allow N from the initiator"],
        ),
        (
            both(here="{C: {M: initiator}}", procedures=BEGIN.format("C")),
            ["error A/E: contract C differs in A/D", "allow N from the target"],
        ),
        (both(there="{C: {M: any, N: any}}", here="{C: {M: any, N: any}}"), []),
        # What the code of the initiator sends.
        (both(procedures=SENDS.format("M")), []),
        (both(procedures=SENDS.format("N")), ["error A/D: P sends N in dialogs under C", "(8432,"]),
        (both(procedures=SENDS.format("X")), ["error A/D: P sends X in dialogs under C", "(8431,"]),
    ],
)
def test_contracts(tmp_path: Path, yaml: str, said: list[str]) -> None:
    found = "\n".join(reported(tmp_path, "TA-31", yaml))
    assert bool(found) == bool(said), found
    assert all(found.count(text) >= said.count(text) for text in said), found


QUEUE = "CREATE QUEUE Q\nCREATE SERVICE S ON QUEUE Q "


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("CREATE CONTRACT C (M SENT BY ANY)", "warning A/D: contract C names M"),
        ("CREATE MESSAGE TYPE N\nCREATE CONTRACT C (M SENT BY ANY)", "error A/D: contract C"),
        (QUEUE + "(C)", "warning A/D: service S accepts C"),
        ("CREATE CONTRACT B ([DEFAULT] SENT BY ANY)\n" + QUEUE + "(C)", "error A/D: service S"),
    ],
)
def test_other_scripts_may_create_a_kind_of_object(tmp_path: Path, script: str, said: str) -> None:
    """If the scripts show none of the database's message types, they are not the whole database."""
    (tmp_path / "A.sql").write_text(f"USE D\nGO\n{script}")
    [found] = [f for f in report_of(tmp_path).findings if f.code == "TA-31"]
    assert f"{found.severity.value} {found.subject}: {found.message}".startswith(said)


def types(here: str, there: str, sender: str = "initiator") -> str:
    contract = f"{{C: {{M: {sender}, N: initiator}}}}"
    more = ", N: {validation: none}}"
    return both(
        contract, contract, here_types=f"{{M: {here}{more}", there_types=f"{{M: {there}{more}"
    )


NONE, XML, EMPTY = ("{validation: " + word + "}" for word in ("none", "well_formed_xml", "empty"))
VALID = "{validation: valid_xml, schema: X}"


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (types(NONE, NONE), ""),
        (types(NONE, XML), "warning A/E: message type M is NONE in A/D and WELL_FORMED_XML in A/E"),
        (types(XML, NONE), "info A/E: message type M is WELL_FORMED_XML in A/D and NONE in A/E"),
        (types(XML, NONE, "target"), "warning A/D: message type M is NONE in A/E"),
        (types(XML, NONE, "any"), "warning A/D"),
        (types(EMPTY, XML), "warning"),
        (types(EMPTY, NONE), "info"),
        (types(XML, EMPTY), "warning"),
        (types(XML, VALID), "warning A/E: message type M is WELL_FORMED_XML in A/D and VALID_XML"),
        (types(VALID, XML), "info"),
        (types(VALID, VALID), ""),
    ],
)
def test_validation(tmp_path: Path, yaml: str, said: str) -> None:
    """A warning where the receiver demands more than the sender has checked."""
    found = reported(tmp_path, "TA-32", yaml)
    assert [said in message for message in found] == [True] * bool(said)
    for message in found:
        assert ("may reject" in message) == message.startswith("warning")
        assert ("less strict" in message) == message.startswith("info")


def test_schemas_of_one_name_may_differ(tmp_path: Path) -> None:
    yaml = types(VALID, VALID)
    schema = "\n        schemas: {{X: '<xsd:schema xmlns:xsd=\"{0}\"/>'}}\n        contracts:"
    one, other = (schema.format(f"urn:{word}") for word in ("one", "other"))
    head, middle, tail = yaml.split("\n        contracts:")
    assert reported(tmp_path, "TA-32", one.join((head, middle)) + one + tail) == []
    [found] = reported(tmp_path, "TA-32", head + one + middle + other + tail)
    assert found.startswith("warning") and "VALID_XML (X)" in found


NOTIFICATIONS = "http://schemas.microsoft.com/SQL/Notifications"
SERVICES = (
    f"{NOTIFICATIONS}/EventNotificationService", f"{NOTIFICATIONS}/QueryNotificationService",
    "http://schemas.microsoft.com/SQL/ServiceBroker/ServiceBroker",
)  # fmt: skip


def test_every_database_has_the_system_contracts(tmp_path: Path) -> None:
    """SqlDependency's services accept PostQueryNotification, which no script creates."""
    contracts = ["Event", "Query"]
    accepts = ", ".join(f'"{NOTIFICATIONS}/Post{what}Notification"' for what in contracts)
    yaml = (
        f"instances: {{A: {{databases: {{D: {{services: {{S: {{contracts: [{accepts}]}}}}}}}}}}}}"
    )
    assert not reported(tmp_path, "TA-31", yaml)


DEPENDENCY = """\
CREATE DATABASE D;
GO
USE D;
CREATE QUEUE [SqlQueryNotificationService-904a];
CREATE SERVICE [SqlQueryNotificationService-904a] ON QUEUE [SqlQueryNotificationService-904a] ({});
GO
DECLARE @p3 uniqueidentifier;
BEGIN DIALOG @p3 FROM SERVICE [SqlQueryNotificationService-904a]
  TO SERVICE 'SqlQueryNotificationService-904a';
BEGIN CONVERSATION TIMER (@p3) TIMEOUT = 120;
{}
"""


@pytest.mark.parametrize(
    ("contracts", "send", "count"),
    [
        (f"[{NOTIFICATIONS}/PostQueryNotification]", "", 0),
        (f"[{NOTIFICATIONS}/PostQueryNotification]", "SEND ON CONVERSATION @p3 (0x01);", 1),
        (f"[{NOTIFICATIONS}/PostEventNotification]", "", 1),
    ],
)
def test_the_timer_of_sql_dependency(tmp_path: Path, contracts: str, send: str, count: int) -> None:
    """SqlDependency's dialog is under DEFAULT, but nothing is sent in it (a public trace)."""
    (tmp_path / "A.sql").write_text(DEPENDENCY.format(contracts, send), encoding="utf-8")
    found = [f for f in report_of(tmp_path).findings if f.code == "TA-31"]
    assert len(found) == count
    assert all("does not accept DEFAULT" in f.message for f in found)


@pytest.mark.parametrize("service", SERVICES)
def test_every_database_has_the_system_services(tmp_path: Path, service: str) -> None:
    """AutoCreatedLocal leads to them; from outside, any database of the instance may be taken."""
    begins = f"{{P: {{begins: [{{service: I, to: '{service}'}}], ends: 1}}}}"
    sender = f"services: {{I: {{contracts: []}}}}, procedures: {begins}"
    route = f"routes: [{{name: R, service_name: '{service}', address: 'tcp://B:4022'}}]"
    yaml = f"instances: {{A: {{databases: {{D: {{{sender}}}}}}}}}"
    assert not reported(tmp_path, "TA-02", yaml)
    databases = "B: {databases: {E: {}, F: {}}}"
    yaml = f"instances: {{A: {{databases: {{D: {{{sender}, {route}}}}}}}, {databases}}}"
    assert len(reported(tmp_path, "TA-18", yaml)) == 1
