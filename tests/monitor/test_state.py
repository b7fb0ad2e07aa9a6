"""The monitor's figures of a running system match its system views."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streams.kafka import Cluster, TopicPartition, deploy
from streams.live.views.places import Asked, places_of
from streams.live.views.table import VIEWS
from streams.monitor import MonitorConfig
from streams.monitor.look import Eye
from streams.monitor.queries import Query, queries
from streams.monitor.sampler import Sampler
from streams.store import AlarmKind, DialogSide, Link, Situation, Store
from streams.store.freshness import QUERIES
from streams.topology import load
from streams.wire import Topics
from tests.workers.rig import QUICK, Rig, eventually, pair, pause, rig

TOPOLOGY = """
instances:
  A:
    address: tcp://A:1
    databases:
      DatabaseA:
        broker_id: DatabaseA
        auto_created_local: false
        services: {InitiatorService: {queue: InitiatorQueue}}
        routes: [{name: ToG, service_name: TargetService, address: 'tcp://G:1'}]
  G:
    address: tcp://G:1
    databases: {}
    msdb:
      routes:
        - {name: ToB, service_name: TargetService, address: 'tcp://B:1'}
        - {name: ToA, service_name: InitiatorService, address: 'tcp://A:1'}
    endpoint: {forwarding: true}
  B:
    address: tcp://B:1
    databases:
      DatabaseB:
        broker_id: DatabaseB
        services: {TargetService: {queue: TargetQueue}}
        routes: [{name: ToG, service_name: InitiatorService, address: 'tcp://G:1'}]
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    folder = tmp_path / "topology"
    folder.mkdir()
    with rig(kafka, unique, pair(folder)) as made:
        yield made


@pytest.fixture
def three(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    folder = tmp_path / "topology"
    folder.mkdir()
    (folder / "topology.yaml").write_text(TOPOLOGY)
    with rig(kafka, unique, load(folder, time.time())) as made:
        yield made


def _view(two: Rig, name: str) -> list[dict[str, Any]]:
    places = places_of(two.topology, None)
    asked = Asked(two.cluster, two.topology, places, time.time_ns() // 1_000_000)
    return list(VIEWS[name].rows(asked))


def _state_query(spark: SparkSession, rigged: Rig, store: Store) -> Query:
    config = MonitorConfig(rigged.cluster.bootstrap, rigged.topics.prefix)
    (query,) = [q for q in queries(spark, config, store) if q.name == "dialogs"]
    return query


def _catch_up(query: Query, checkpoint: Path) -> None:
    query.start(checkpoint.as_uri(), available_now=True).awaitTermination()


def _same_as_the_views(rigged: Rig, store: Store) -> None:
    endpoints = {
        (row["conversation_id"], row["is_initiator"]): row
        for row in _view(rigged, "sys.conversation_endpoints")
    }
    rows = [row for row in store.read(DialogSide) if row.state != "CD"]
    assert {(row.conversation, row.is_initiator) for row in rows} == set(endpoints)
    for row in rows:
        shown = endpoints[row.conversation, row.is_initiator]
        assert (row.state, row.sent, row.received, row.far_broker, row.service) == (
            shown["state"],
            shown["send_sequence"],
            shown["receive_sequence"],
            shown["far_broker_instance"],
            shown["service_name"],
        )
    waiting = _view(rigged, "sys.transmission_queue")
    depth = Counter(row["conversation_id"] for row in waiting)
    assert {r.conversation: r.depth for r in rows if r.depth} == depth
    for row in rows:
        if row.depth:
            oldest, *_ = (w for w in waiting if w["conversation_id"] == row.conversation)
            assert row.waiting_since is not None
            assert row.waiting_since >= oldest["enqueue_time"]
            assert (f"{row.status}:" in oldest["transmission_status"]) is bool(row.status)


@pytest.mark.long
def test_dialogs_and_transmission_queues_are_those_of_the_views(
    spark: SparkSession, two: Rig, store: Store, tmp_path: Path
) -> None:
    """Some dialogs talk, some have ended, and one asks for a service that nobody has."""
    for name in "AB":
        two.endpoint(name, limits=QUICK)
        two.forwarder(name)
    with two.client() as client:
        dialogs = [
            client.begin("A", "DatabaseA", "InitiatorService", "TargetService") for _ in range(5)
        ]
        for dialog in dialogs:
            client.send(dialog, b"one", wait=True)
        lost = client.begin("A", "DatabaseA", "InitiatorService", "NoService")
        client.send(lost, b"one", wait=True)
        client.send(lost, b"two", wait=True)
        two.until(two.topics.queue("B", "DatabaseB", "TargetQueue"), 5)
        two.events(5, event=149)  # later acknowledgements would change what the views show
        query = _state_query(spark, two, store)
        _catch_up(query, tmp_path / "checkpoint")
        client.end(dialogs[0], wait=True)
    two.events(1, event=141, error=9750)
    situation = Situation(store)

    def stuck() -> bool:
        _catch_up(query, tmp_path / "checkpoint")
        rows = store.read(DialogSide)
        statuses = [row.status for row in rows if row.far_service == "NoService"]
        states = {row.state for row in rows if row.conversation == str(dialogs[0].id)}
        return (statuses, sum(r.depth for r in rows), states) == ([9750], 2, {"CD", "DI"})

    eventually(stuck, "the monitor knows what waits, and why")
    _same_as_the_views(two, store)
    locked = [row for row in store.read(DialogSide) if row.is_initiator and row.locked_at]
    assert {row.conversation for row in locked} == {str(d.id) for d in dialogs}
    assert all(row.begun_at <= (row.locked_at or 0) for row in locked)

    store.reach({"dialogs": time.time_ns() // 1_000_000})
    sampler = Sampler(store, Eye(two.cluster))
    sampler.look()
    of_a, of_b = situation.queues()
    assert (of_a.instance, of_a.messages, of_a.statuses) == ("A", 2, ((9750, 2),))
    assert (of_b.instance, of_b.messages) == ("B", 0)
    assert {heartbeat.instance: heartbeat.up for heartbeat in situation.heartbeats()} == {
        "A": True,
        "B": True,
    }
    now = time.time_ns() // 1_000_000
    links = {(link.instance, link.other): link.up for link in situation.links(now - 60_000, now)}
    assert links == {("A", "B"): True, ("B", "A"): True}
    later = now + 120_000
    store.reach(dict.fromkeys(QUERIES, later))
    alarms = {alarm.kind: alarm for alarm in situation.alarms(later)}
    assert alarms[AlarmKind.STUCK].conversations == (str(lost.id),)
    assert "9750" in alarms[AlarmKind.STUCK].what


def _lags(sampler: Sampler, situation: Situation) -> dict[tuple[str, str, str], int]:
    sampler.look()
    return {(s.instance, s.role, s.topic): s.records for s in situation.lags()}


def test_lag_is_what_a_worker_has_not_passed(two: Rig, store: Store) -> None:
    endpoint = two.endpoint()
    sampler, situation = Sampler(store, Eye(two.cluster)), Situation(store)
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
        eventually(
            lambda: _lags(sampler, situation)["A", "endpoint", "cmd"] == 0 or pause(), "read"
        )
        endpoint.stop()
        for _ in range(7):
            client.send(dialog, b"x")
    lags = _lags(sampler, situation)
    assert lags["A", "endpoint", "cmd"] == 7
    assert lags["A", "endpoint", "in"] == lags["B", "forwarder", "txq"] == 0
    assert ("B", "forwarder", "out") in lags


def test_another_client_sees_what_the_one_before_saw(two: Rig) -> None:
    """After a look that came to nothing the next one is another client's."""
    eye, now = Eye(two.cluster), time.time_ns() // 1_000_000
    seen = eventually(lambda: eye.look(now), "the catalog is there")
    eye.close()
    again = eye.look(now)
    assert again is not None and (again.homes, again.links) == (seen.homes, seen.links)
    eye.close()


def test_who_missed_a_removal_reads_the_catalog_again(two: Rig, tmp_path: Path) -> None:
    """The monitor was suspended, and no later version would fit to what it has read."""
    eye, now = Eye(two.cluster), time.time_ns() // 1_000_000
    seen = eventually(lambda: eye.look(now), "the catalog is there")
    assert ("A", "B") in seen.links
    eye._catalog.objects["A/DatabaseA/route/Removed"] = "{}"
    deploy(two.cluster, pair(tmp_path, route=""), prune=True)

    def without_the_route() -> bool:
        again = eye.look(now)
        return again is not None and ("A", "B") not in again.links

    # the commit returns before Kafka has written its marker
    eventually(without_the_route, "the version after the removal")
    eye.close()


@pytest.mark.long
@pytest.mark.parametrize("note", ["0-999999999999", "1 9223372036854775807", "9999999999999999999"])
def test_what_a_forwarder_notes_need_not_be_in_its_log(two: Rig, note: str) -> None:
    """Who may commit in its group may note anything, and the monitor looks at all instances."""
    topic = two.topics.txq("A")
    for key in ("x", "y"):
        two.produce(topic, key, b"")
    group = two.cluster.consumer(f"{two.topics.prefix}forwarder.A")
    group.commit(offsets=[TopicPartition(topic, 0, 2, note + "\n")], asynchronous=False)
    group.close()
    eye = Eye(two.cluster)
    seen = eventually(lambda: eye.look(time.time_ns() // 1_000_000), "the catalog is there")
    eye.close()
    assert seen.held["A"][0] <= 2


@pytest.mark.long
def test_a_link_to_a_silent_instance_is_down_and_has_held_copies(three: Rig, store: Store) -> None:
    """B sends no heartbeat: its gateway buffers the copies that the sender retries."""
    three.endpoint("A", limits=QUICK)
    for name in "AG":
        three.forwarder(name)
    sampler, situation = Sampler(store, Eye(three.cluster)), Situation(store)
    far = three.control("B")

    def was_there() -> bool:
        sampler.look()
        return "B" in {each.instance for each in situation.heartbeats()} or pause()

    eventually(was_there, "a heartbeat of B")
    far.stop()
    with three.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"x" * 1_000, wait=True)

    def down() -> Link | None:
        sampler.look()
        if (at := situation.looked_at()) is None:
            return None
        # a sample has the time at which it began, and may take longer than any window before now
        links = {(link.instance, link.other): link for link in situation.links(at, at + 1)}
        link, up = links["G", "B"], {each.instance: each.up for each in situation.heartbeats()}
        is_complete = up == {"A": True, "G": True, "B": False} and link.held_copies
        return link if is_complete and link.up is False else None

    link = eventually(lambda: down() or pause() or None, "the link is down and its gateway holds")
    assert link.routed
    assert link.held_bytes == link.held_copies * 1_000
    now = time.time_ns() // 1_000_000
    alarms = {alarm.kind: alarm for alarm in situation.alarms(now)}
    assert alarms[AlarmKind.LINK_DOWN].where == "B"
    heartbeats = {heartbeat.instance: heartbeat.up for heartbeat in situation.heartbeats()}
    assert heartbeats == {"A": True, "G": True, "B": False}


def test_where_kafka_does_not_answer_nothing_is_sampled(store: Store) -> None:
    lines: list[str] = []
    sampler = Sampler(store, Eye(Cluster("127.0.0.1:1"), 0.1), say=lines.append)
    sampler.try_to_look()
    sampler.try_to_look()
    assert len(lines) == 1 and lines[0].startswith("sampling failed: ")
    assert sampler.failure is None
    assert Situation(store).looked_at() is None


def test_before_there_is_a_catalog_nothing_is_sampled(
    kafka: str, unique: str, store: Store
) -> None:
    lines: list[str] = []
    sampler = Sampler(store, Eye(Cluster(kafka, Topics(unique))), say=lines.append)
    sampler.try_to_look()
    assert (lines, sampler.failure, Situation(store).looked_at()) == ([], None, None)
