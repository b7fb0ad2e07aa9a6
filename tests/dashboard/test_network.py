"""The topology that pages show, and what takes long beside a page."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from streams.dashboard.model.answer import senders_of, services_of, where_to
from streams.dashboard.network import Network, network_of
from streams.errors import HoplineError, SurroundingsError
from streams.kafka import KafkaException
from streams.prose import wrapping_at
from streams.resources import topologies_dir
from streams.topology import Topology

FOLDER = topologies_dir() / "combined"


@pytest.fixture(scope="module")
def combined() -> Network:
    network = network_of(FOLDER, None)
    network.look()
    return network


def test_routes_and_flows_are_concluded(combined: Network) -> None:
    known = combined.known
    assert known is not None
    assert {("ServerA", "GatewayD"), ("GatewayD", "ServerC")} <= known.routed
    assert ("ServerA", "ServerB") not in known.routed
    assert known.begins["ServerA"] == 1
    assert known.begins["ServerB"] == known.begins["ServerC"] == -1
    assert known.begins["GatewayA"] == 0
    assert {finding.code for finding in known.findings or ()} >= {"TA-14"}


def test_the_path_of_a_message_is_shown_with_links(combined: Network) -> None:
    assert combined.known is not None
    questions = combined.known.questions
    assert senders_of(questions)[0] == "ServerA/DatabaseA/InitiatorService"
    assert services_of(questions) == ("InitiatorService", "TargetService")
    where = where_to(questions, "ServerA/DatabaseA", "TargetService")
    assert (where.verdict, where.tone, where.refused) == ("ok", "good", "")
    assert ("ServerA", "GatewayA") in where.there
    assert ("GatewayA", "ServerA") in where.back
    assert "ServerC" in where.instances
    nowhere = where_to(questions, "ServerA/DatabaseA", "NoSuchService")
    assert (nowhere.verdict, nowhere.tone) == ("broken", "bad")
    assert "no database 'X'" in where_to(questions, "ServerA/X", "TargetService").refused


def test_a_pages_text_has_no_terminals_width(combined: Network) -> None:
    assert combined.known is not None
    asked = (combined.known.questions, "ServerA/DatabaseA", "TargetService")
    with wrapping_at(60):
        narrow = where_to(*asked)
    assert narrow == where_to(*asked)


def test_a_changed_folder_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "topology.yaml"
    file.write_text("instances: {A: {databases: {D: {services: [S]}}}}")
    network = network_of(tmp_path, None)
    network.look()
    before = network.known
    network.look()
    assert network.known is before
    (tmp_path / "more.sql").touch()
    file.write_text("instances: {A: {databases: {D: {services: [S]}}}, B: {}}")
    network.look()
    assert network.known is not None
    assert sorted(network.known.topology.instances) == ["A", "B"]
    file.write_text("instances: {")
    network.look()
    assert network.trouble is not None
    assert sorted(network.known.topology.instances) == ["A", "B"]
    with pytest.raises(HoplineError):
        network_of(tmp_path, None).begin()


def test_an_unavailable_catalog_is_reported_and_comes_back() -> None:
    answers: list[tuple[object, Topology | None] | SurroundingsError] = [
        SurroundingsError("Kafka is away."), (1, Topology({})), SurroundingsError("Away again.")
    ]  # fmt: skip

    def read() -> tuple[object, Topology | None]:
        answer = answers.pop(0)
        if isinstance(answer, SurroundingsError):
            raise answer
        return answer

    network = Network("the catalog", read)
    network.look()
    assert network.known is None
    assert network.trouble is not None
    network.look()
    assert network.trouble is None
    network.look()
    assert network.known is not None
    assert network.trouble is not None
    assert network.trouble.message == "Away again."


@pytest.mark.parametrize("error", [KafkaException("no leader"), FileNotFoundError("gone")])
def test_any_error_is_reported_and_the_topology_is_read_again(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """The thread ended without a message, and pages showed the old topology for ever."""
    stop, found = threading.Event(), Topology({})
    troubles: list[str | None] = []

    def read() -> tuple[object, Topology | None]:
        troubles.append(network.trouble.message if network.trouble else None)
        if len(troubles) < 3:
            raise error
        stop.set()
        return 1, found

    network = Network("the catalog", read)
    network.follow(stop, 0.0)
    why = f"It could not be read ({type(error).__name__}); see the log."
    assert troubles == [None, why, why]
    assert len(caplog.records) == 1, "the same error is logged once"
    assert (network.known and network.known.topology, network.trouble) == (found, None)


def test_an_error_in_derived_results_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RecursionError

    network = Network("the catalog", lambda: (1, Topology({})))
    monkeypatch.setattr("streams.dashboard.network.routed_of", fail)
    network.look()
    assert network.trouble is not None and "RecursionError" in network.trouble.message
    monkeypatch.undo()
    network.look()
    assert network.known is not None and network.known.findings == ()
    assert network.trouble is None
