"""``hopline trace``: a probe takes the path of a message, and nobody receives it."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from streams.report import read_facts
from tests.command import hopline
from tests.running import System, running

FROM = ("--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService")


def trace(system: System, *args: str) -> tuple[int, str, str]:
    return hopline("trace", *args, *system.options)


def probes(system: System, *args: str) -> tuple[int, list[dict[str, Any]]]:
    code, out, err = trace(system, *args, "--format", "json")
    assert out, err
    found: list[dict[str, Any]] = json.loads(out)["probes"]
    return code, found


@pytest.mark.long
def test_a_probe_walks_the_forwarders_and_is_delivered_to_nobody(kafka: str, unique: str) -> None:
    """Over gateways, there and back; each id takes the path that `path` has for it."""
    with running(kafka, unique, "combined") as system:
        code, found = probes(system, *FROM, "--count", "6", "--timeout", "60")
        assert code == 0, found
        for probe in found:
            met = [hop["instance"] for hop in probe["there"]["hops"]]
            assert met in probe["expected"]
            assert (met[0], len(met)) == ("ServerA", 3)
            times = [hop["at_ms"] for hop in probe["there"]["hops"]]
            assert times == sorted(times)
            assert times[-1] <= probe["there"]["ms"]
            back = [hop["instance"] for hop in probe["back"]["hops"]]
            assert (back[0], back[-1]) == (met[-1], "ServerA")
        code, out, _ = trace(system, *FROM, "--count", "1", "--timeout", "60")
        assert code == 0
        assert out.startswith("ServerA/DatabaseA/InitiatorService -> TargetService: 1 probe, 1 as")
        assert "ms  total" in out
        facts = read_facts(system.cluster, system.topology)
        assert (len(facts.delivered), facts.balance().balanced) == (0, True)
        for database, queue in (("DatabaseB", "TargetQueue"), ("DatabaseC", "TargetQueue")):
            instance = database.replace("Database", "Server")
            assert system.snapshot(system.cluster.topics.queue(instance, database, queue)) == []


@pytest.mark.long
def test_a_conversation_has_one_path(kafka: str, unique: str) -> None:
    with running(kafka, unique, "load_balanced") as system:
        wanted = str(uuid.UUID(int=7))
        code, found = probes(
            system, *FROM, "--conversation", wanted, "--count", "2", "--timeout", "60"
        )
        assert code == 0
        assert {probe["conversation"] for probe in found} == {wanted}
        paths = {tuple(hop["instance"] for hop in probe["there"]["hops"]) for probe in found}
        assert len(paths) == 1


def test_a_dropped_probe_reports_the_place(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system:
        lost = ("--from", "ServerA/DatabaseA/InitiatorService", "--to", "Nobody")
        code, found = probes(system, *lost, "--count", "1", "--timeout", "30")
        assert (code, found[0]["verdict"], found[0]["back"]) == (1, "lost", None)
        assert found[0]["there"]["error"].startswith("ServerA: 9796 ")


def test_a_probe_that_nobody_takes_is_lost(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        code, out, _ = trace(system, *FROM, "--count", "1", "--timeout", "1")
        assert code == 1
        assert out.splitlines() == [
            "ServerA/DatabaseA/InitiatorService -> TargetService: 1 probe, 1 lost",
            "there: no report within 1 s",
        ]
