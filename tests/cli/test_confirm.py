"""Commands that change a running system show what they will do, and ask at a terminal."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.kafka import read_catalog
from tests.command import hopline
from tests.running import System, running
from tests.terminal import at_terminal


@pytest.fixture(scope="module")
def system(kafka: str) -> Iterator[System]:
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "mirrored", start=False) as found:
        yield found


def version(system: System) -> int:
    return read_catalog(system.cluster).version


def where(system: System) -> str:
    return f"Kafka at {system.cluster.bootstrap}, cluster id {system.cluster.id()}:\n"


def another_instance(folder: Path) -> Path:
    (folder / "topology.yaml").write_text("instances: {More: {databases: {D: {}}}}\n")
    return folder


def commands(folder: Path) -> dict[str, tuple[tuple[object, ...], str]]:
    """Return each command, and what it announces."""
    return {
        "apply": (
            ("apply", another_instance(folder)),
            "  create 13: topic {prefix}cmd.More, topic {prefix}out.More, ",
        ),
        "sql": (
            ("sql", "--at", "Partner1/Orders", "CREATE ROUTE R WITH ADDRESS = 'LOCAL'"),
            "  create 1: Partner1/Orders/route/R\n",
        ),
        "queue": (
            ("queue", "off", "OrderQueue", "--at", "Partner1/Orders"),
            "  create 1: Partner1/Orders/queue/OrderQueue\n",
        ),
        "failover": (
            ("failover", "Orders", "--to", "Partner2", "--timeout", 30),
            "  make Partner2 the principal of Orders, in place of Partner1\n",
        ),
        "acl": (
            ("acl", "mirrored", "--apply"),
            "  create the ACLs of ",
        ),
        "repartition": (
            ("repartition", "ServerA", 3),
            "  change the partitions of ServerA from ",
        ),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["apply", "sql", "queue", "failover", "acl", "repartition"])
def test_who_declines_has_changed_nothing(system: System, tmp_path: Path, name: str) -> None:
    words, announced = commands(tmp_path)[name]
    before = version(system)
    code, shown = at_terminal(*words, *system.options, typed="n\n")
    assert code == 1, shown
    expected = where(system) + announced.format(prefix=system.cluster.topics.prefix)
    assert expected in shown
    assert shown.endswith("Continue? [y/N]: Nothing was changed.\n")
    assert version(system) == before


@pytest.mark.long
def test_yes_is_an_answer_or_an_option(system: System) -> None:
    words = ("sql", "--at", "Partner1/Orders")
    before = version(system)
    code, shown = at_terminal(
        *words, "CREATE ROUTE R1 WITH ADDRESS = 'LOCAL'", *system.options, typed="y\n"
    )
    assert (code, version(system)) == (0, before + 1), shown
    for option in ("--yes", "-y"):
        name = f"R{option.strip('-')}"
        text = f"CREATE ROUTE {name} WITH ADDRESS = 'LOCAL'"
        code, shown = at_terminal(*words, text, option, *system.options)
        assert code == 0, shown
        assert where(system) in shown and "Continue?" not in shown
    assert version(system) == before + 3


def test_a_script_is_not_asked(system: System) -> None:
    """Whatever its input is: the cluster is on stderr, and stdout is as it was."""
    text = "CREATE ROUTE Script WITH ADDRESS = 'LOCAL'"
    words = ("sql", "--at", "Partner1/Orders", text, *system.options)
    code, out, err = hopline(*words, given="n\n")
    route = "Partner1/Orders/route/Script"
    assert (code, err) == (0, f"{where(system)}  create 1: {route}\n")
    assert out == f"  + {route}\ncatalog version {version(system)}\n"


def test_without_changes_there_is_no_question(system: System) -> None:
    code, shown = at_terminal("apply", "mirrored", "--dry-run", *system.options)
    assert code == 0 and "Continue?" not in shown
    text = "PRINT 'nothing'"
    code, shown = at_terminal("sql", "--at", "Partner1/Orders", text, *system.options)
    assert code == 0 and "Continue?" not in shown, shown
