"""Each role works with exactly what `hopline acl` grants it: nothing is refused, nothing unused.

Kafka's authorizer says what was asked of it, and by whom. A grant that nobody used is none that a
role needs; one that was refused is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.system import INITIATOR, TARGET, Guarded, as_user

MOVES = {"in", "cmd"}
"""An endpoint worker also writes the topics that it reads: bodies that pin too much are moved
(`tests/workers/test_trimming.py::test_one_body_that_waits_keeps_little_from_being_trimmed`)."""


@pytest.mark.parametrize("role", ["forwarder", "endpoint"])
@pytest.mark.parametrize("instance", ["ServerA", "ServerB"])
def test_a_worker_uses_all_that_it_may_and_asks_for_no_more(
    system: Guarded, role: str, instance: str
) -> None:
    user = f"{role}.{instance}"
    moved = {(system.topics.name(kind, instance), "Write") for kind in MOVES}
    assert system.secured.unused(system.roles[user]) == (moved if role == "endpoint" else set())
    assert system.secured.refused(user, system.prefix) == set()


@pytest.mark.parametrize("user", [INITIATOR, TARGET])
def test_an_application_uses_all_that_it_may_and_asks_for_no_more(
    system: Guarded, user: str
) -> None:
    """One asks and waits for answers, the other one receives and answers in transactions."""
    unused = system.secured.unused(system.roles[user])
    client = f"{system.prefix}client."
    alone = {
        INITIATOR: {(f"{client}{INITIATOR}", "Write"), (f"{client}{INITIATOR}.", "Write")},
        TARGET: {(f"{client}{TARGET}", "Write")},  # its Exchange has a longer name
    }
    assert unused == alone[user]
    assert system.secured.refused(user, system.prefix) == set()


def test_a_probe_uses_all_that_its_role_may(system: Guarded, tmp_path: Path) -> None:
    way = ("--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService")
    done = as_user(system, "trace", tmp_path, "trace", *way)
    assert done.code == 0, done.stderr
    assert system.secured.refused("trace", system.prefix) == set()
    assert system.secured.unused(system.roles["trace"]) == set()
