"""TA-37, TA-41, TA-43, TA-44: what code does with dialogs, groups and routers."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.analysis.check.code_names import name_key

from .folders import report_of, reported

# --- Groups --------------------------------------------------------------------------------------


def balanced(*routes: str, begin: str = "") -> str:
    rows = [
        f"{{name: R{n}, service_name: {row.split()[0]}, address: 'tcp://{row.split()[-1]}:4022'"
        + (f", broker_instance: {row.split()[1]}}}" if row.count(" ") == 2 else "}")
        for n, row in enumerate(routes)
    ]
    code = f"procedures: {{P: {{ends: 1, begins: [{{service: I, {begin}}}]}}}}"
    return f"instances: {{A: {{databases: {{D: {{routes: [{', '.join(rows)}], {code}}}}}}}}}"


SPREAD = ("S b B", "S c C", "T b B", "T c C")


@pytest.mark.parametrize(
    ("routes", "count"),
    [
        (SPREAD, 1),
        (SPREAD[:3], 0),
        (SPREAD[::2], 0),  # one database each: nothing is balanced
        ((*SPREAD[:3], "T d C"), 0),  # other databases
        ((*SPREAD, "T B"), 0),  # the route without a broker id takes all of T
        ((*SPREAD, "U b B", "U c C"), 1),
    ],
)
def test_services_that_are_balanced_apart(
    tmp_path: Path, routes: tuple[str, ...], count: int
) -> None:
    found = reported(tmp_path, "TA-37", balanced(*routes))
    assert len(found) == count
    assert all("are balanced over b and c separately" in message for message in found)


@pytest.mark.parametrize(
    ("begin", "severity"),
    [
        ("to: S", "info"),
        ("to: S, related: yes", "warning"),
        ("related: yes", "warning"),
        ("to: U, related: yes", "info"),
    ],
)
def test_code_that_relates_dialogs_makes_it_a_warning(
    tmp_path: Path, begin: str, severity: str
) -> None:
    [found] = reported(tmp_path, "TA-37", balanced(*SPREAD, begin=begin))
    assert found.startswith(severity)


RELATED = """
instances:
  A:
    databases:
      D:
        services: {{I: {{contracts: []}}}}
        routes:
          - {{name: R, service_name: S, address: 'tcp://Hub:4022'}}
          - {{name: T, service_name: T, address: 'tcp://B:4022'}}
        procedures: {{P: {{ends: 1, begins: [{{service: I, {begin}}}]}}}}
  Hub:
    endpoint: {{forwarding: on}}
    msdb:
      routes:
        - {{name: B, service_name: S, broker_instance: '1', address: 'tcp://B:4022'}}
        - {{name: C, service_name: S, broker_instance: '2', address: 'tcp://C:4022'}}
  B: {{databases: {{E: {{broker_id: '1', services: [S, T]}}}}}}
  C: {{databases: {{E: {{broker_id: '2', services: [S]}}}}}}
"""


@pytest.mark.parametrize(
    ("begin", "count"),
    [
        ("to: S, related: yes", 1),  # it is the hub that chooses
        ("to: S, related: no", 0),
        ("to: T, related: yes", 0),
        ("to: S, related: yes, broker: '1'", 0),
        ("to: S, related: yes, unresolved: [broker]", 0),
        ("related: yes, unresolved: [TO SERVICE]", 0),
    ],
)
def test_a_dialog_of_a_group(tmp_path: Path, begin: str, count: int) -> None:
    found = reported(tmp_path, "TA-44", RELATED.format(begin=begin))
    assert len(found) == count
    assert all("P begins a dialog with S" in said and "B/E and C/E" in said for said in found)


# --- Leaks ---------------------------------------------------------------------------------------


def code(procedures: str, queue: str = "", begin: str = "service: I, to: S") -> str:
    return f"""
instances:
  A:
    databases:
      D:
        services: {{I: {{queue: Q, contracts: []}}, S: {{queue: SQ}}}}
        queues: {{Q: {{{queue}}}}}
        procedures:
          P: {{begins: [{{{begin}}}], calls: [dbo.Log]}}
          {procedures}
"""


END_DIALOG = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"
NOTIFICATION = (
    "E: {begins: [{to: S, service: "
    "http://schemas.microsoft.com/SQL/Notifications/EventNotificationService}]"
)


@pytest.mark.parametrize(
    ("yaml", "count"),
    [
        (code(""), 1),
        (code("R: {receives: [Q]}"), 1),
        (code("R: {receives: [Q], ends: 1}"), 0),
        (code("R: {receives: ['[dbo].[q]'], ends: 1}"), 0),
        (code("R: {receives: [sales.Q], ends: 1}"), 1),  # another queue
        (code("R: {receives: [SQ], ends: 1}"), 1),  # only the target's side ends
        (code("R: {ends: 1}"), 1),
        (code("R: {ends: 1}", "activation: dbo.R"), 0),
        (code("R: {calls: [X]}\n          x: {ends: 1}", "activation: R"), 0),
        (code("R: {calls: [R]}", "activation: R"), 1),
        (code("", "activation: Unknown"), 0),  # its text is not there to be read
        (code("Log: {ends: 1}"), 0),
        (code("", begin="to: S, unresolved: [service]"), 0),
        (code("", begin="service: X, to: S"), 0),  # BEGIN DIALOG fails (TA-50)
        (code(NOTIFICATION + ", receives: [Q]}"), 0),  # it starts an external program
        (code(NOTIFICATION + ", receives: [SQ]}"), 1),
    ],
)
def test_leaks(tmp_path: Path, yaml: str, count: int) -> None:
    found = reported(tmp_path, "TA-43", yaml)
    assert len(found) == count
    assert all("P begins dialogs from I with S, and no code ends them" in m for m in found)


@pytest.mark.parametrize(
    ("procedures", "begin", "said"),
    [
        ("", "ends_after_send: true", "P ends its dialog directly after SEND"),
        ("R: {receives: [Q], ends: 1, ends_on: [M]}", "", "R ends conversations of Q only for M"),
        ("R: {receives: [Q], ends: 1}", "", ""),
        (f"R: {{receives: [Q], ends: 1, ends_on: [M, '{END_DIALOG}']}}", "", ""),
        ("R: {receives: [Q], ends: 1, ends_on: [Unknown]}", "", ""),  # it may be no type
        (
            "R: {receives: [Q], ends: 1, ends_on: [M]}\n          X: {receives: [Q], ends: 1}",
            "",
            "",
        ),
    ],
)
def test_dialogs_whose_errors_nobody_reads(
    tmp_path: Path, procedures: str, begin: str, said: str
) -> None:
    yaml = code(procedures, begin=f"service: I, to: S, {begin}").replace(
        "queues:", "message_types: {M: {}}\n        queues:"
    )
    found = reported(tmp_path, "TA-43", yaml)
    assert [said in message for message in found] == [True] * bool(said)


def test_an_event_notification_stands_for_the_external_reader(tmp_path: Path) -> None:
    """The script form of external activation; other events start no reader."""
    script = (
        "USE D\nGO\nCREATE QUEUE Q\nCREATE SERVICE S ON QUEUE Q ([DEFAULT])\n"
        "CREATE QUEUE N\nCREATE SERVICE NS ON QUEUE N "
        "([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification])\n"
        "CREATE EVENT NOTIFICATION E ON QUEUE dbo.Q FOR {} TO SERVICE 'NS', 'current database'\n"
        "GO\nCREATE PROC p AS BEGIN DIALOG @h FROM SERVICE S TO SERVICE 'S'"
    )
    for event, count in (("QUEUE_ACTIVATION", 0), ("BROKER_QUEUE_DISABLED", 1)):
        (tmp_path / "A.sql").write_text(script.format(event))
        found = [f for f in report_of(tmp_path).findings if f.code == "TA-43"]
        assert len(found) == count, event


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("P", "p"),
        ("dbo.P", "p"),
        ("[dbo].[P]", "p"),
        ('DB."sales".P', "sales.p"),
        ("[a.b].[c d]", "a.b.c d"),
        ("", ""),
    ],
)
def test_names_have_many_spellings(name: str, key: str) -> None:
    assert name_key(name) == key


# --- Routers -------------------------------------------------------------------------------------


def routers(
    accepts: str = "[DEFAULT, C]", types: str = "{M: {}}", contracts: str = "{C: {M: any}}",
    name: str = "DataDependentRouting", second: str = "", code: str = "{}",
) -> str:  # fmt: skip
    return f"""
instances:
  R1:
    databases:
      D:
        services: {{{name}: {{queue: Q, contracts: {accepts}}}}}
        message_types: {types}
        contracts: {contracts}
        routes: [{{name: T, service_name: T, address: 'tcp://B:4022'}}]
        procedures: {code}
  R2:
    databases:
      D:
        services: {{{name}: {{queue: Q, contracts: [DEFAULT, C]}}}}
        message_types: {{M: {{}}}}
        contracts: {{C: {{M: any}}}}
        auto_created_local: false
        routes: [{second or "{name: T, service_name: T, address: 'tcp://B:4022'}"}]
  B:
    databases:
      E:
        message_types: {{M: {{}}}}
        contracts: {{C: {{M: any}}}}
        services: {{T: {{contracts: [DEFAULT, C]}}, U: {{contracts: [C]}}}}
"""


PASSES = "{P: {receives: [q], ends: 1, begins: [{service: Own, related: yes}]}}"


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (routers(), ""),
        (routers("[DEFAULT]"), "warning R1/D: the router DataDependentRouting forwards dialogs"),
        (routers("[C]"), "lacks its contract DEFAULT"),
        (routers("[X]"), "error R1/D: the router DataDependentRouting forwards dialogs to T but"),
        (routers(contracts="{}"), "lacks its contract C"),
        (routers(types="{N: {}}", contracts="{C: {N: any}}"), "lacks its message type M"),
        (routers(second="{name: U, service_name: U, address: 'tcp://B:4022'}"),
         "R2/D: the router DataDependentRouting forwards dialogs to T but lacks a route"),
        (routers(code="{P: {ends: 1, begins: [{service: DataDependentRouting, to: U}]}}"),
         "error R1/D: the router DataDependentRouting forwards dialogs to U but lacks a route to"),
        (routers(code="{P: {ends: 1, begins: [{service: Other, to: U}]}}"), ""),
        # Nothing is known of a service that is elsewhere, and a router is no target of itself.
        (routers(second="{name: T, service_name: T, address: 'tcp://B:4022'},"
                 " {name: X, service_name: X, address: 'tcp://B:4022'}"), ""),
        (routers("[DEFAULT, C, X]", second="{name: T, service_name: T, address: 'tcp://B:4022'},"
                 " {name: R, service_name: DataDependentRouting, address: 'tcp://R1:4022'}"), ""),
        (routers("[DEFAULT]", name="Own"), ""),
        (routers("[DEFAULT]", name="Own", code=PASSES), "warning R1/D: the router Own"),
        (routers("[DEFAULT]", name="Own", code=PASSES.replace("related: yes", "to: T")), ""),
    ],
)  # fmt: skip
def test_routers(tmp_path: Path, yaml: str, said: str) -> None:
    """A router is known by its name, or by code that passes on what its queue receives."""
    found = reported(tmp_path, "TA-41", yaml)
    assert bool(found) == bool(said)
    assert not said or any(said in message for message in found)


# --- Missing services ----------------------------------------------------------------------------

NOPE = """
instances:
  A:
    databases:
      D: {{services: {services}, procedures: {{P: {{begins: [{{service: Nope, to: S}}], ends: 1}}}},
           routes: [{{name: R, service_name: S, address: 'tcp://B:4022'}}]}}
  B: {{databases: {{E: {{services: [S]}}}}}}
"""


@pytest.mark.parametrize(
    ("services", "severity"), [("{}", "warning"), ("{I: {contracts: []}}", "error")]
)
def test_a_dialog_from_a_missing_service(tmp_path: Path, services: str, severity: str) -> None:
    """It cannot begin, so nothing is reported about its acknowledgements (TA-09)."""
    yaml = NOPE.format(services=services)
    [message] = reported(tmp_path, "TA-50", yaml)
    assert message.startswith(
        f"{severity} A/D: P begins dialogs from Nope, which A/D does not have"
    )
    assert not [f for f in report_of(tmp_path).findings if f.code == "TA-09"]
