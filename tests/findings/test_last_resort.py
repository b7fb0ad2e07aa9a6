"""TA-21, TA-22, TA-30: routes that name nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import reported

GATEWAY = """
instances:
  Gateway:
    endpoint: {{forwarding: {forwarding}}}
    databases: {{D: {{services: [{service}]}}}}
    msdb: {{routes: [{routes}]}}
"""
NAMED = "{name: R, service_name: S, address: LOCAL}"


@pytest.mark.parametrize(
    ("forwarding", "service", "routes", "count"),
    [
        ("on", "S", "", 1),
        ("off", "S", "", 0),  # nobody else passes: AutoCreatedLocal is how everybody lives
        ("on", "", "", 0),
        ("on", "S", NAMED, 0),
    ],
)
def test_an_open_forwarder(
    tmp_path: Path, forwarding: str, service: str, routes: str, count: int
) -> None:
    yaml = GATEWAY.format(forwarding=forwarding, service=service, routes=routes)
    found = reported(tmp_path, "TA-21", yaml)
    assert len(found) == count
    assert all("exposes S to every sender" in message for message in found)


MISSED = """
instances:
  A:
    databases:
      D:
        auto_created_local: {local}
        services: {services}
        routes: [{routes}]
      E: {{services: [S], broker: {broker}}}
"""
INITIATOR = "{I: {contracts: []}}"


@pytest.mark.parametrize(
    ("local", "services", "routes", "broker", "count"),
    [
        ("off", INITIATOR, "", "on", 1),
        ("on", INITIATOR, "", "on", 0),
        ("off", "[T]", "", "on", 0),  # a target of others need not know its neighbour
        ("off", INITIATOR, NAMED, "on", 0),
        ("off", INITIATOR, "{name: All, address: 'tcp://B:1'}", "on", 0),
        ("off", INITIATOR, "", "off", 0),
        ("off", INITIATOR, "{name: C, service_name: SQL/ServiceBroker/BrokerConfiguration,"
         " address: LOCAL}", "on", 0),
    ],
)  # fmt: skip
def test_a_neighbour_out_of_reach(
    tmp_path: Path, local: str, services: str, routes: str, broker: str, count: int
) -> None:
    yaml = MISSED.format(local=local, services=services, routes=routes, broker=broker)
    assert len(reported(tmp_path, "TA-21", yaml)) == count


COPY = """
instances:
  A:
    databases:
      D: {{services: {{I: {{contracts: []}}}}, routes: [{{name: All, address: '{address}'}}]}}
      E: {{services: [S]}}
  B: {{databases: {{F: {{services: [{elsewhere}]}}}}}}
"""


@pytest.mark.parametrize(
    ("address", "elsewhere", "count"),
    [
        ("tcp://B:4022", "S", 1),
        ("TRANSPORT", "S", 1),
        ("tcp://B:4022", "Other", 0),  # S lives here only: LOCAL is right
        ("LOCAL", "S", 0),
    ],
)
def test_a_local_copy(tmp_path: Path, address: str, elsewhere: str, count: int) -> None:
    found = reported(tmp_path, "TA-22", COPY.format(address=address, elsewhere=elsewhere))
    assert len(found) == count
    assert all("AutoCreatedLocal takes every dialog; no dialog uses All" in said for said in found)


ASKED = """
instances:
  A:
    databases:
      D:
        services: {{I: {{contracts: []}}}}
        routes:
          - {{name: C, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}}
          - {{name: More{more}}}
      E: {{services: [{neighbour}]}}
"""


@pytest.mark.parametrize(
    ("more", "neighbour", "said"),
    [
        (", address: 'tcp://B:4022'", "", ["More has no service name"]),
        (", service_name: T, address: 'tcp://B:4022'", "", []),
        (", service_name: T, address: LOCAL", "S", ["S of this instance needs a route of its own"]),
        (", service_name: S, address: LOCAL", "S", []),
    ],
)
def test_never_asked(tmp_path: Path, more: str, neighbour: str, said: list[str]) -> None:
    """AutoCreatedLocal, which every database has, is missed only where it would find something."""
    found = reported(tmp_path, "TA-30", ASKED.format(more=more, neighbour=neighbour))
    assert len(found) == len(said)
    assert all(text in message for text, message in zip(said, found, strict=True))
