"""The configuration service on a real Kafka (EX-56): databases ask it, and it creates routes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import sqlalchemy as sa

from streams.agents import HoplineApp
from streams.agents.notice import notice_app
from streams.client import Client, Conversation
from streams.errors import UsageError
from streams.kafka import CatalogState, Cluster, read_catalog
from streams.live.configuration import notice
from streams.live.configuration.directory import Directory, open_directory
from streams.live.configuration.notice import Notices
from streams.node.endpoint.route_requests import MISSING_ROUTE, missing_route
from streams.protocol import END_DIALOG, ERROR, Limits
from streams.resources import topologies_dir
from streams.services.notice import PREFIX, UNKNOWN, UNUSABLE
from streams.store.database import engine_for
from streams.topology import load
from streams.wire import Topics
from tests.agents.rig import ROOT, serving, worker
from tests.node.evidence import shows
from tests.running import System, eventually, running
from tests.workers.rig import pause

SHIPPED = ROOT / "topologies" / "dynamic_routing" / "directory.yaml"
ASKER = ("ServerA", "DatabaseA")


@pytest.fixture
def system(kafka: str, unique: str) -> Iterator[System]:
    with running(kafka, unique, "dynamic_routing") as made:
        yield made


@pytest.fixture
def hasty(kafka: str, unique: str) -> Iterator[System]:
    """Return the system with retries that come at once."""
    with running(kafka, unique, "dynamic_routing", limits=Limits(retries=(500,))) as made:
        yield made


def begin(client: Client, to: str = "TargetService", body: bytes = b"hello") -> Conversation:
    dialog = client.begin(*ASKER, "InitiatorService", to)
    client.send(dialog, body)
    client.flush()
    return dialog


def delayed(system: System, dialog: Conversation) -> None:
    """Return when a dialog waits for a route."""
    wanted = {"conversation": str(dialog.id), "error": 9770}
    system.events(141, lambda event: wanted.items() <= event.items())


def arrived(system: System, count: int) -> dict[str, str]:
    """Return the bodies of so many messages at the target, by their dialogs."""
    topic = system.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
    found = system.records(topic, count=count)
    return {one["conversation"]: one["body"]["text"] for one in found}


def questions(system: System, count: int) -> list[str]:
    """Return the bodies of so many requests."""
    topic = system.cluster.topics.queue(*ASKER, "ConfigurationQueue")
    of = system.records(topic, lambda d: d["message"]["type"] == MISSING_ROUTE, count)
    return [one["body"]["text"] for one in of]


def asked(system: System) -> list[str]:
    """Return the types of everything that the configuration service has got until now."""
    topic = system.cluster.topics.queue(*ASKER, "ConfigurationQueue")
    return [one["message"]["type"] for one in system.snapshot(topic)]


def configured(system: System) -> list[Any]:
    """Return the routes that the service has created and nobody has dropped."""
    topology = read_catalog(system.cluster).topology
    assert topology is not None
    routes = topology.instances["ServerA"].databases["DatabaseA"].routes
    return [route for route in routes if route.name.startswith(PREFIX)]


def ends(system: System, count: int) -> list[tuple[str, str]]:
    """Return with what so many requests have ended, as the asking database heard it."""
    topic = system.cluster.topics.inbox("ServerA")
    found = system.records(
        topic, lambda d: d.get("message", {}).get("type") in (END_DIALOG, ERROR), count
    )
    return [(one["message"]["type"], one["body"]["text"]) for one in found]


def application(system: System, directory: Directory, **options: Any) -> HoplineApp:
    notices = Notices(system.cluster, directory)
    where = {"bootstrap": system.cluster.bootstrap, "prefix": system.cluster.topics.prefix}
    return notice_app(*ASKER, notices, web_enabled=False, **where, **options)


@shows("EX-56", "N1", "N2", "N3")
def test_ex_56_the_route_is_created_and_both_dialogs_go(system: System, tmp_path: Path) -> None:
    with system.client() as client:
        dialogs = [begin(client), begin(client)]
        for dialog in dialogs:
            delayed(system, dialog)
        how = ("--service", "configuration-notice", "--directory", str(SHIPPED))
        with worker(system, tmp_path, *how):
            assert set(arrived(system, 2)) == {str(dialog.id) for dialog in dialogs}
            [(kind, _)] = ends(system, 1)
    assert kind == END_DIALOG
    assert asked(system) == [MISSING_ROUTE]
    [route] = configured(system)
    assert (route.service, route.address) == ("TargetService", "tcp://ServerB:4022")
    assert route.expires is not None


@pytest.mark.long
@shows("C-13", "N3")
def test_who_is_not_in_the_directory_is_asked_for_again(hasty: System) -> None:
    """The request ends with an error and the dialog waits on, until somebody enters the service."""
    with hasty.client() as client, serving(application(hasty, open_directory(str(SHIPPED)))):
        begin(client, "Elsewhere")
        assert all("Elsewhere" in body for body in questions(hasty, 2))
        found = ends(hasty, 2)
    for kind, body in found:
        assert kind == ERROR and "<Code>1</Code>" in body
        assert "no address for Elsewhere" in body
    assert configured(hasty) == []


def test_what_the_directory_does_not_know_is_refused_without_the_catalog() -> None:
    """Anyone may wait for thousands of names, and the service answers one after the other."""
    nowhere = Cluster("127.0.0.1:1", Topics("t."))
    notices = Notices(nowhere, open_directory(str(SHIPPED)), lambda: 0.0)
    refusal = notices.answer("BrokerA", missing_route("Elsewhere", None) or b"")
    assert refusal == (1, "the directory has no address for Elsewhere")


def test_a_route_that_exists_is_not_looked_up_for_each_request(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anyone may request it again and again: the catalog takes long to read."""
    reads, now = list[float](), 1_000.0

    def read(cluster: Cluster) -> CatalogState:
        reads.append(now)
        return read_catalog(cluster)

    monkeypatch.setattr(notice, "read_catalog", read)
    notices = Notices(system.cluster, open_directory(str(SHIPPED)), lambda: now)
    request = missing_route("TargetService", None) or b""
    for _ in range(5):
        assert notices.answer("DatabaseA", request) is None
    assert len(configured(system)) == 1
    assert len(reads) == 2, "one that creates it, one that finds it"
    now += 2
    assert notices.answer("DatabaseA", request) is None
    assert len(reads) == 3


def test_a_request_for_another_broker_id_creates_the_routes_and_is_refused(
    system: System, tmp_path: Path
) -> None:
    """A database has one request for a service, and other dialogs wait for its routes too."""
    file = tmp_path / "directory.yaml"
    named = "service_name: TargetService, broker_instance: DatabaseB"
    file.write_text(SHIPPED.read_text().replace("service_name: TargetService", named))
    notices = Notices(system.cluster, open_directory(str(file)), lambda: 1_000.0)
    refusal = UNKNOWN, "the directory has no address for TargetService at Nobody"
    for _ in range(3):
        request = missing_route("TargetService", "Nobody") or b""
        assert notices.answer("DatabaseA", request) == refusal
        assert [route.broker for route in configured(system)] == ["DatabaseB"]
    assert notices.answer("DatabaseA", missing_route("TargetService", None) or b"") is None
    assert len(configured(system)) == 1


@pytest.mark.parametrize(
    ("broker", "code"),
    [("\x1b\ud800" + "x" * 16_000, UNKNOWN), ("DatabaseA", UNUSABLE)],
)
def test_every_refusal_fits_into_an_error(
    monkeypatch: pytest.MonkeyPatch, broker: str, code: int
) -> None:
    """A frame states the broker id, and a planner's message may quote anything."""
    topology = load(topologies_dir() / "dynamic_routing", 0.0)
    monkeypatch.setattr(notice, "read_catalog", lambda _: CatalogState(topology=topology))
    monkeypatch.setattr(notice, "live_topology", lambda state: state.topology)

    def refuse(*_: object) -> NoReturn:
        raise UsageError("\x00\n\ufffe" + "x" * 100_000)

    monkeypatch.setattr(notice, "plan_script", refuse)
    nowhere = Cluster("127.0.0.1:1", Topics("t."))
    notices = Notices(nowhere, open_directory(str(SHIPPED)), lambda: 0.0)
    refusal = notices.answer(broker, missing_route("TargetService", None) or b"")
    assert refusal is not None and refusal[0] == code
    assert refusal[1].isprintable() and len(refusal[1]) <= 1_000


@pytest.mark.long
@shows("N3")
def test_a_wrong_entry_is_for_who_asks_for_it(hasty: System, tmp_path: Path) -> None:
    """The responder goes on with the next question."""
    file = tmp_path / "directory.yaml"
    file.write_text(SHIPPED.read_text())
    with hasty.client() as client, serving(application(hasty, open_directory(str(file)))):
        file.write_text(SHIPPED.read_text() + "  - {service_name: Elsewhere, address: Nowhere}\n")
        begin(client, "Elsewhere")
        (kind, body), *_ = ends(hasty, 1)
        assert (
            kind == ERROR
            and "<Code>2</Code>" in body
            and "'Nowhere' is not a valid address" in body
        )
        dialog = begin(client)
        assert set(arrived(hasty, 1)) == {str(dialog.id)}


@pytest.mark.long
@shows("N3")
def test_a_route_that_expires_is_dropped_and_asked_for_again(hasty: System, tmp_path: Path) -> None:
    file = tmp_path / "directory.yaml"
    file.write_text(SHIPPED.read_text().replace("lifetime: 60", "lifetime: 2"))
    app = application(hasty, open_directory(str(file)), purge_every=0.5)
    with hasty.client() as client, serving(app):
        begin(client)
        arrived(hasty, 1)
        eventually(lambda: not configured(hasty) or pause(), "the expired route is dropped")
        begin(client)
        assert len(arrived(hasty, 2)) == 2
        assert len(questions(hasty, 2)) == 2


@pytest.mark.long
@shows("N4")
def test_a_directory_that_is_away_is_waited_for(
    system: System, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no failure of the question, so nothing is rolled back, and the queue stays on."""
    url = f"sqlite:///{tmp_path}/shop.sqlite"
    columns = "service_name TEXT, broker_instance, address TEXT, mirror_address, lifetime"
    execute(
        url,
        f"CREATE TABLE hopline_directory ({columns})",
        "INSERT INTO hopline_directory (service_name, address) "
        "VALUES ('TargetService', 'tcp://ServerB:4022')",
    )
    app = application(system, open_directory(url))
    with system.client() as client, serving(app):
        execute(url, "ALTER TABLE hopline_directory RENAME TO away")
        dialog = begin(client)
        delayed(system, dialog)
        eventually(lambda: caplog.text.count("Next attempt") >= 2 or pause(), "it is waited for")
        execute(url, "ALTER TABLE away RENAME TO hopline_directory")
        assert set(arrived(system, 1)) == {str(dialog.id)}
    assert "rolled back" not in caplog.text
    assert asked(system) == [MISSING_ROUTE]


def execute(url: str, *statements: str) -> None:
    engine = engine_for(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    engine.dispose()
