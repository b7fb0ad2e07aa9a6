"""What has happened to a live topology outlives the next ``apply`` of its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.topology import (
    Mirror,
    Role,
    Topology,
    apply_sql,
    failover,
    load,
    with_history,
)

from .build import NOW, write

FOLDER = """
    instances:
      A: {databases: {D: {mirror: {pair: P, role: principal}}, E: {}}}
      B: {databases: {D: {mirror: {pair: P, role: mirror}}}}
"""


def error_conversations(topology: Topology, database: str) -> Topology:
    sql = f"ALTER DATABASE {database} SET ERROR_BROKER_CONVERSATIONS"
    return apply_sql(topology, "A", database, sql, NOW)


def test_a_folder_knows_nothing_of_epochs(tmp_path: Path) -> None:
    """Applied again, it ends no conversation once more, of user databases and of msdb."""
    folder = load(write(tmp_path, FOLDER), NOW)
    live = error_conversations(error_conversations(folder, "E"), "msdb")
    wanted = with_history(folder, live)
    assert wanted.instances["A"].databases["E"].error_epoch == 1
    assert wanted.instances["A"].msdb.error_epoch == 1
    again = error_conversations(live, "E")
    assert with_history(again, live) == again


def test_a_folder_does_not_fail_back(tmp_path: Path) -> None:
    """Who took the role in a failover keeps it; the next failover counts on from there."""
    folder = load(write(tmp_path, FOLDER), NOW)
    live = failover(folder, "P", "B")
    wanted = with_history(folder, live)
    assert wanted == live
    back = failover(wanted, "P", "A")
    assert with_history(back, live).instances["A"].databases["D"].mirror == Mirror(
        "P", Role.PRINCIPAL, 2
    )


def test_settings_of_the_folder_take_precedence(tmp_path: Path) -> None:
    """Before any failover the folder's roles; another pair; what is new, and what is gone."""
    folder = load(write(tmp_path, FOLDER), NOW)
    a = folder.instances["A"]
    other = replace(a.databases["D"], mirror=Mirror("Q", Role.MIRROR))
    swapped = replace(a.databases["D"], mirror=Mirror("P", Role.MIRROR))
    for changed in (other, swapped):
        wanted = replace(folder, instances={"A": replace(a, databases={"D": changed})})
        assert with_history(wanted, folder) == wanted
    live = failover(folder, "P", "B")
    wanted = replace(folder, instances={"A": replace(a, databases={"D": other})})
    assert with_history(wanted, live) == wanted
    assert with_history(folder, Topology()) == folder


def new_broker(topology: Topology, database: str) -> Topology:
    return apply_sql(topology, "A", database, f"ALTER DATABASE {database} SET NEW_BROKER", NOW)


def broker_id(topology: Topology, database: str) -> str:
    found = topology.instances["A"].database(database)
    assert found is not None
    return found.broker_id


@pytest.mark.parametrize("database", ["E", "msdb"])
def test_a_renewed_broker_id_outlives_a_folder_that_states_none(
    tmp_path: Path, database: str
) -> None:
    """NEW_BROKER is not undone, however often the folder is applied again."""
    folder = load(write(tmp_path, FOLDER), NOW)
    live = new_broker(folder, database)
    wanted = with_history(folder, live)
    assert broker_id(wanted, database) == broker_id(live, database) != broker_id(folder, database)
    again = new_broker(wanted, database)
    assert with_history(folder, again) == again


def test_a_broker_id_that_a_folder_states_counts(tmp_path: Path) -> None:
    """Against a renewed one, and against the one that was made of both names."""
    (tmp_path / "stated").mkdir()
    made = load(write(tmp_path, FOLDER), NOW)
    text = FOLDER.replace("E: {}", "E: {broker_id: Mine}")
    folder = load(write(tmp_path / "stated", text), NOW)
    assert broker_id(with_history(folder, made), "E") == "Mine"
    assert broker_id(with_history(folder, new_broker(folder, "E")), "E") == "Mine"
    assert broker_id(with_history(made, folder), "E") == "Mine", "nobody asked for another one"


def test_a_folder_that_renews_a_broker_id_does_so_once(tmp_path: Path) -> None:
    """Its statement says what the database is like; taken out again, it leaves its id behind."""
    folder = load(write(tmp_path, FOLDER), NOW)
    renewing = new_broker(folder, "E")
    assert with_history(renewing, with_history(renewing, folder)) == renewing
    assert broker_id(with_history(folder, renewing), "E") == broker_id(renewing, "E")
