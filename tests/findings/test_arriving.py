"""TA-23 and TA-25: what msdb's routes do to messages from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import reported

HERE = """
instances:
  A:
    endpoint: {{forwarding: {forwarding}}}
    databases:
      D: {{broker_id: D, services: {{S: {{contracts: {contracts}}}}}}}
    msdb: {{auto_created_local: {local}, routes: [{routes}]}}
  B:
    databases:
      E:
        services: [I]
        routes: [{{name: To, service_name: S{broker}, address: 'tcp://A:4022'}}]
"""
AWAY = "{name: R, service_name: S, address: 'tcp://C:4022'}"
FULL = "{name: F, service_name: S, broker_instance: X, address: 'tcp://C:4022'}"
MINE = "{name: M, service_name: S, broker_instance: D, address: LOCAL}"
BARE = "{name: L, service_name: S, address: LOCAL}"


def here(routes: str, contracts: str = "[DEFAULT]", forwarding: str = "on",
         local: str = "on", broker: str = "") -> str:  # fmt: skip
    return HERE.format(
        routes=routes, contracts=contracts, forwarding=forwarding, local=local, broker=broker
    )


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (here(AWAY), "arrives for it without a broker id is forwarded by R"),
        (here(AWAY, forwarding="off"), "is dropped: R leads to the network"),
        (here(f"{BARE}, {FULL}"), ""),
        (here(FULL), "without a broker id is forwarded by F"),
        (here(f"{MINE}, {FULL}"), ""),  # balanced: some dialogs stay
        (here(f"{MINE}, {AWAY}"), "without a broker id is forwarded by R"),
        (here(f"{BARE}, {AWAY}"), ""),  # LOCAL comes before the network
        (here(AWAY, contracts="[]"), ""),  # only replies arrive, and those ask no route
    ],
)
def test_captured(tmp_path: Path, yaml: str, said: str) -> None:
    found = reported(tmp_path, "TA-23", yaml)
    assert [said in message for message in found] == [True] * bool(said)


def test_captured_by_broker_id_only(tmp_path: Path) -> None:
    """A route may send away just what names this database."""
    away = MINE.replace("LOCAL", "'tcp://C:4022'")
    [found] = reported(tmp_path, "TA-23", here(f"{BARE}, {away}"))
    assert "arrives for it with the broker id D is forwarded by M" in found


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        (here(BARE, contracts="[]", local="off"), "replies find their database by its broker id"),
        (here(BARE, local="on"), "a route without a service name does the same"),
        (here(BARE, local="off"), ""),
        (here(MINE, local="off"), ""),
        (here(MINE, local="off", broker=", broker_instance: D"), "the broker id that they carry"),
        (here(f"{MINE}, {AWAY}", local="off", broker=", broker_instance: D"), ""),
        (here(BARE.replace(": S", ": Other"), local="off"), ""),
        (here(f"{AWAY}, {{name: All, address: 'tcp://C:4022'}}", local="off"), ""),  # not LOCAL
    ],
)
def test_idle(tmp_path: Path, yaml: str, said: str) -> None:
    """A route is idle if all that can arrive is delivered just so without it."""
    found = reported(tmp_path, "TA-25", yaml)
    assert [said in message for message in found] == [True] * bool(said)
