"""Whatever a topology says, it is checked: no exception, and findings that scripts can read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.analysis import survey_flows
from streams.analysis.check import CHECKS, check_topology, report_sarif, report_text
from streams.simulator.explore.case import draw_case
from streams.topology import (
    BeginDialog,
    Binding,
    Certificate,
    Contract,
    Database,
    Encryption,
    Endpoint,
    EndpointState,
    Grant,
    Instance,
    MessageType,
    Mirror,
    Priority,
    Procedure,
    Queue,
    Role,
    Route,
    Securable,
    Sender,
    Service,
    Severity,
    Source,
    Topology,
    Validation,
)

from .folders import FOLDERS, NOW

SERVICES = ["S", "s", "T", "tcp://B:4022/T", "DataDependentRouting",
            "SQL/ServiceBroker/BrokerConfiguration"]  # fmt: skip
ADDRESSES = ["LOCAL", "TRANSPORT", "tcp://A:4022", "tcp://B", "tcp://localhost:4022", "tcp://L:4022",
             "tcp://nowhere:1", "no address", ""]  # fmt: skip


def names(*of: str) -> st.SearchStrategy[str]:
    return st.sampled_from(of)


def words(*of: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from(of)


SERVICE, BROKER = names(*SERVICES), names("1", "2", "")
CONTRACT, WORD = names("C", "DEFAULT", "X"), names("M", "N", "DEFAULT")
MOMENT = st.none() | st.sampled_from([NOW - 1, NOW, NOW + 1, NOW + 1e9, 1e300, -1e300])
SOME = st.tuples(st.just(Source("f", 1, 1)))
ROUTES = st.lists(
    st.builds(Route, names("R", "AutoCreatedLocal"), st.none() | SERVICE, st.none() | BROKER,
              names(*ADDRESSES), st.none() | names(*ADDRESSES), MOMENT, st.integers(1, 3)),
    max_size=5,
)  # fmt: skip
BEGINS = st.builds(
    BeginDialog, st.none() | SERVICE, st.none() | SERVICE, st.none() | BROKER,
    st.none() | CONTRACT, st.booleans(), st.booleans(), words((), ("broker id",)),
)  # fmt: skip


def keyed(values: st.SearchStrategy[Any], size: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(values, max_size=size).map(lambda rows: {row.name: row for row in rows})


DATABASES = st.builds(
    Database,
    names("D", "E"),
    BROKER,
    enabled=st.booleans(),
    mirror=st.none() | st.builds(Mirror, names("P"), st.sampled_from(Role)),
    message_types=keyed(st.builds(MessageType, WORD, st.sampled_from(Validation), st.none())),
    contracts=keyed(
        st.builds(Contract, CONTRACT, st.dictionaries(WORD, st.sampled_from(Sender), max_size=2))
    ),
    queues=keyed(
        st.builds(Queue, names("Q", "[q"), st.booleans(), st.booleans(), st.booleans(),
                  st.none() | names("P", "[dbo].P", "..."))
    ),
    services=keyed(
        st.builds(Service, SERVICE, names("Q", "q"), st.lists(CONTRACT, max_size=2).map(tuple))
    ),
    routes=ROUTES.map(tuple),
    priorities=st.lists(
        st.builds(Priority, names("P"), st.none() | CONTRACT, st.none() | SERVICE,
                  st.none() | SERVICE, st.integers(1, 10)), max_size=2).map(tuple),
    bindings=st.lists(st.builds(Binding, names("B"), SERVICE, names("U")), max_size=1).map(tuple),
    honor_priority=st.booleans(),
    read_only=st.booleans(),
    single_user=st.booleans(),
    certificates=keyed(st.builds(Certificate, names("C"), MOMENT, MOMENT, st.none(),
                                 st.none() | names("U", "u"))),
    procedures=keyed(
        st.builds(Procedure, names("P", "dbo.p", ""), st.lists(BEGINS, max_size=2).map(tuple),
                  st.just(()) | SOME, words((), ("Q",), ("[",)), words((), ("P", "dbo.P")))
    ),
)  # fmt: skip
ENDPOINTS = st.builds(
    Endpoint, st.sampled_from(EndpointState), st.booleans(), st.integers(0, 2),
    encryption=st.sampled_from(Encryption),
    algorithms=words((), ("AES",), ("RC4", "AES")),
    authentication=words((), ("WINDOWS",), ("CERTIFICATE", "C")),
)  # fmt: skip
INSTANCES = st.builds(
    Instance,
    names("A", "B"),
    DATABASES.map(lambda database: replace(database, name="msdb")),
    keyed(DATABASES, 2),
    listeners=st.sampled_from([(), ("tcp://L:4022",)]),
    endpoint=ENDPOINTS,
    grants=st.lists(
        st.builds(Grant, names("CONNECT", "x"), st.just(Securable.ENDPOINT), names("E"),
                  names("public", "U"), st.booleans()), max_size=2).map(tuple),
)  # fmt: skip


OF_FLOWS = {
    *(f"TA-{n:02}" for n in range(1, 13)), "TA-17", "TA-27", "TA-31", "TA-39", "TA-42", "TA-48",
    "TA-49", "TA-50",
}  # fmt: skip
"""The findings of which an error makes a flow fail (decision 53)."""


def check(topology: Topology) -> None:
    report = check_topology(topology, NOW)
    assert json.dumps(report.to_json()) and report_text(report)
    assert json.dumps(report_sarif(report, CHECKS, FOLDERS, "0"))
    rows = {row.code: row for row in CHECKS}
    for finding in report.findings:
        assert finding.severity in rows[finding.code].severities
        assert finding.message and finding.remedy.endswith(".") and finding.subject
    errors = {f.code for f in report.findings if f.severity is Severity.ERROR}
    survey = survey_flows(topology, NOW)
    assert errors & OF_FLOWS or not survey.reaches(Severity.ERROR)


@pytest.mark.long
@settings(max_examples=150)
@given(keyed(INSTANCES, 2))
def test_any_topology_is_checked(instances: dict[str, Instance]) -> None:
    check(Topology(instances))


def test_explored_topologies_are_checked() -> None:
    """Those that the exploration draws: larger, and mostly healthy."""
    for seed in range(30):
        check(draw_case(seed).topology)
