"""Design, "Catalog": workers live by the last version that is complete, and by nothing else."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import (
    CatalogState,
    Cluster,
    KafkaError,
    KafkaException,
    Message,
    UnusableCatalogError,
    bounded_poll,
    change_for,
    create,
    deploy,
    preview,
    publish,
    read_catalog,
    specs_of,
)
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.topology import Topology, apply_sql
from streams.wire import Topics, decode_event, encode_catalog_object
from streams.workers import Control
from streams.workers.control.catalog_follower import CatalogFollower
from streams.workers.control.catch_up import CatchUp
from tests.running import DEADLINE, delete
from tests.workers.compaction import shorten, wait_until_compacted
from tests.workers.rig import Gate, Hook, HookedCluster, Rig, eventually, pair, pause, rig


def write(two: Rig, key: str, version: int, body: str | None) -> None:
    """Write one record of the catalog, as no deployment does."""
    value = encode_catalog_object(version, body) if body is not None else None
    two.produce(two.topics.catalog, key, value)


def close(two: Rig, version: int, objects: dict[str, str]) -> None:
    """Write the record that makes a version of what stands before it."""
    body = {"number": version, "hash": hash_of(objects)}
    write(two, VERSION_KEY, version, json.dumps(body))


def routes(control: Control, instance: str = "A") -> list[str]:
    """Return the routes that a worker knows."""
    table = control.catalog.instances[instance].databases["DatabaseA"].routes
    return [route.name for route in table.routes]


def without(topology: Topology, instance: str) -> Topology:
    """Return a topology that has lost an instance."""
    left = {name: i for name, i in topology.instances.items() if name != instance}
    return replace(topology, instances=left)


def test_running_workers_switch_to_a_new_version(two: Rig, tmp_path: Path) -> None:
    control = two.control("A")
    before = control.catalog
    assert routes(control) == ["ToB"]
    deploy(two.cluster, pair(tmp_path, route=""), prune=True)
    eventually(lambda: control.catalog is not before or pause(), "the new version")
    assert (control.catalog.version, routes(control), control.error) == (2, [], "")


def test_a_worker_begins_with_the_newest_version(two: Rig, tmp_path: Path) -> None:
    """The log has the older ones, too, as long as it is not compacted."""
    deploy(two.cluster, pair(tmp_path, route=""), prune=True)
    assert two.control("A").catalog.version == 2


def test_objects_count_only_when_their_version_is_complete(
    two: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    """An object without the version record that closes it changes nothing."""
    control = two.control("A")
    before, state = control.catalog, read_catalog(two.cluster)
    [key] = [k for k in state.objects if "/route/" in k and k.startswith("A/DatabaseA")]
    write(two, key, 2, json.dumps({**json.loads(state.objects[key]), "service_name": "Other"}))
    close(two, 2, state.objects)  # somebody else's version, that knows nothing of it
    eventually(lambda: control.error or pause(), "the version that does not fit")
    assert control.catalog is before, "half a version was taken"
    assert control.error == "version 2: the hash does not match the objects that were read"
    write(two, key, 3, state.objects[key])  # it is told once, not once a record
    control.catch_up(time.monotonic())
    assert caplog.text.count("the catalog cannot be read") == 1
    assert caplog.text.count("the catalog is read again") == 1, "it is the writer's fault"
    deploy(two.cluster, two.topology)
    eventually(lambda: control.catalog is not before or pause(), "the next good version")
    assert (routes(control), control.error) == (["ToB"], "")


def test_a_folder_that_is_deployed_again_lowers_no_epoch(two: Rig) -> None:
    """ERROR_BROKER_CONVERSATIONS has been said once; its conversations do not end twice."""
    sql = "ALTER DATABASE CURRENT SET ERROR_BROKER_CONVERSATIONS"
    deploy(two.cluster, apply_sql(two.topology, "A", "DatabaseA", sql, 0.0))
    assert not deploy(two.cluster, two.topology).change
    assert not preview(two.cluster, two.topology).change
    live = read_catalog(two.cluster).topology
    assert live is not None and live.instances["A"].databases["DatabaseA"].error_epoch == 1


STRANGE = (
    "[]",
    '{"name": "X", "contracts": 5}',
    '{"name": "X", "queue": "Q", "contracts": [["X"]]}',  # readable, and still no service
)


def test_a_version_that_cannot_be_read_leaves_the_last_good_one(two: Rig) -> None:
    """Its hash fits, so it is what somebody meant, in words that this worker does not know."""
    control, objects, version = two.control("A"), read_catalog(two.cluster).objects, 1
    key = "A/DatabaseA/service/X"
    for body in STRANGE:
        before = control.catalog
        write(two, key, version + 1, body)
        close(two, version + 1, {**objects, key: body})
        eventually(lambda: control.error or pause(), f"{body} is told")
        assert control.catalog is before
        version += 2
        write(two, key, version, None)
        close(two, version, objects)
        eventually(lambda: control.catalog is not before or pause(), "the next one")  # noqa: B023
        assert (control.catalog.version, control.error) == (version, "")


def test_a_writer_whose_plan_is_stale_is_refused(two: Rig, tmp_path: Path) -> None:
    mine = pair(tmp_path, route="")
    change = change_for(read_catalog(two.cluster), mine, prune=True)
    deploy(two.cluster, pair(tmp_path, route="{name: Another, address: LOCAL}"))
    with pytest.raises(SurroundingsError) as refused:
        publish(two.cluster, mine, change)
    assert refused.value.message == "The catalog is now at version 2, but the plan was made for 1."
    assert read_catalog(two.cluster).version == 2


def test_two_writers_at_once_are_one_after_the_other(two: Rig, tmp_path: Path) -> None:
    """The second one begins while the first has written and not committed: one of them fails."""
    mine, theirs = pair(tmp_path, route=""), pair(tmp_path, route="{name: Other, address: LOCAL}")
    base = read_catalog(two.cluster)
    change = change_for(base, mine, prune=True)

    def commit(method: object, *args: object) -> object:
        publish(two.cluster, theirs, change_for(base, theirs))
        return method(*args)  # type: ignore[operator]

    first = HookedCluster(two.cluster.bootstrap, two.topics, hooks={"commit_transaction": commit})
    with pytest.raises(KafkaException):
        publish(first, mine, change)
    state = read_catalog(two.cluster)
    assert (state.version, state.error) == (2, "")
    assert any("/route/Other" in key for key in state.objects)
    assert any("/route/ToB" in key for key in state.objects), "half of the first one's change"


def test_a_version_can_be_read_when_publish_returns(two: Rig, tmp_path: Path) -> None:
    """Kafka's commit returns before it has written the marker, which readers wait for."""
    mine, waited = pair(tmp_path, route=""), threading.Event()
    late: list[threading.Thread] = []

    def commit(method: Hook, *args: Any) -> None:
        """Return when the records are written, and commit when somebody waits for them."""

        def finish() -> None:
            waited.wait(DEADLINE)
            method(*args)

        method.__self__.flush(DEADLINE)  # type: ignore[attr-defined]
        late.append(threading.Thread(target=finish))
        late[0].start()

    def poll(method: Hook, *args: Any) -> Any:
        if late:
            waited.set()
        return method(*args)

    hooks: dict[str, Hook] = {"commit_transaction": commit, "poll": poll}
    cluster = HookedCluster(two.cluster.bootstrap, two.topics, hooks=hooks)
    try:
        version = publish(cluster, mine, change_for(read_catalog(two.cluster), mine, prune=True))
        assert version == 2
        assert read_catalog(two.cluster, to_high=False).version == 2
    finally:
        waited.set()
        late[0].join(DEADLINE)


def test_nothing_is_consumed_before_there_is_a_version(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(two, 2, {"something": "else"})
    two.control("A")  # the last good version is still there
    delete(two.cluster, two.topics.catalog)  # otherwise, it would be taken for the new one
    create(two.cluster, specs_of(Topology(), two.topics))
    assert read_catalog(two.cluster).version == 0
    monkeypatch.setattr(Cluster, "wait", lambda *_: None)  # it waits as long for Kafka
    control = Control(two.cluster, ("A",), timeout=1)
    with pytest.raises(SurroundingsError, match="no complete version"):
        control.start()
    control.thread.join(DEADLINE)
    assert not control.thread.is_alive(), "it goes on to write heartbeats"


class _Refusal:
    """What a consumer reads where it may know a topic, and may not read it."""

    def error(self) -> KafkaError:
        return KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)

    def topic(self) -> None:
        return None


@pytest.mark.parametrize("at", ["get_watermark_offsets", "poll"])
def test_who_may_not_read_the_catalog_is_told_so_at_once(kafka: str, unique: str, at: str) -> None:
    """Not that there is none, after a whole timeout: somebody may have applied it long ago."""
    cluster = HookedCluster(kafka, Topics(unique))
    create(cluster, specs_of(Topology(), cluster.topics))

    def refuse(*_: object, **__: object) -> _Refusal:
        if at == "poll":
            return _Refusal()
        raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    cluster.hooks[at] = refuse
    control = Control(cluster, ("A",))
    with pytest.raises(SurroundingsError, match=r"denied the request: .*Topic auth") as refused:
        control.start()
    assert "hopline acl" in refused.value.remedy
    control.stop()


@pytest.mark.long
@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_a_worker_whose_instance_is_gone_stops_and_says_so(two: Rig, role: str) -> None:
    """It must not go on: without its databases every message would be one to refuse."""
    control = two.control("A")
    worker = getattr(two, role)("A", control=control)
    with two.client() as client:
        dialog = client.begin(*("A", "DatabaseA", "InitiatorService", "X"), wait=role == "endpoint")
    deploy(two.cluster, without(two.topology, "A"), prune=True)
    eventually(lambda: "A" not in control.catalog.instances or pause(), "the new version")
    with two.client() as client:
        client.send(dialog, b"x")
    two.produce(two.topics.txq("A"), "nobody", b"")
    failure = worker.ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message == "The catalog no longer has A."
    reported = [decode_event(m.value()) for m in two.records(two.topics.event)]
    assert not [e for e in reported if e["error"]], "it has refused what it can know nothing about"


def test_what_nobody_can_use_is_not_made_a_version_of(two: Rig) -> None:
    """A publication would say that all is well, and no worker would ever take it over."""
    write(two, "A/DatabaseA/route/Strange", 1, '{"name": "R", "position": 0, "address": 5}')
    write(two, "//schema/Route.strange", 1, "[" * 5_000)
    sql = "CREATE ROUTE New WITH ADDRESS = 'LOCAL'"
    changed = apply_sql(two.topology, "A", "DatabaseA", sql, 0.0)
    change = change_for(read_catalog(two.cluster), changed)
    with pytest.raises(UnusableCatalogError, match="'5' is not a str"):
        publish(two.cluster, changed, change)
    assert read_catalog(two.cluster).version == change.base
    pruned = change_for(read_catalog(two.cluster), changed, prune=True)
    assert pruned.removed == ("A/DatabaseA/route/Strange",)
    assert publish(two.cluster, changed, pruned) == change.base + 1
    state = read_catalog(two.cluster)
    assert (state.version, state.error) == (change.base + 1, "")


@pytest.mark.long
def test_who_missed_a_removal_reads_the_catalog_again(
    compacting_kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is suspended until Kafka has removed the tombstone, and no later version could fit.

    What it has read before is used until all is read again.
    """
    other = ["{name: Other, address: LOCAL}", "{name: Other, address: 'tcp://B:1'}"]
    with rig(compacting_kafka, unique, pair(tmp_path)) as two:
        catalog = two.topics.catalog
        shorten(two, "catalog", catalog, monkeypatch)
        cluster, gate = HookedCluster(compacting_kafka, two.topics), Gate()
        control = two.controls["A",] = Control(cluster, ("A",), timeout=DEADLINE)
        control.start()

        def suspended(consume: Hook, *args: Any, **kwargs: Any) -> Any:
            del cluster.hooks["consume"]
            consumer = consume.__self__  # type: ignore[attr-defined]
            places = consumer.assignment()
            consumer.pause(places)  # its client must not read ahead, either
            gate.hold()
            consumer.resume(places)
            return consume(*args, **kwargs)

        cluster.hooks["consume"] = suspended
        gate.wait()
        [key] = [k for k in read_catalog(two.cluster).objects if k.endswith("/route/ToB")]

        def change() -> None:
            other.reverse()
            deploy(two.cluster, pair(tmp_path, route=other[0]), prune=True)

        wait_until_compacted(two, catalog, key.encode(), change)
        newest, seen = read_catalog(two.cluster).version, list[int]()
        read = CatalogState.read

        def noted(self: CatalogState, message: Message) -> bool:
            seen.append(control.version)
            return read(self, message)

        monkeypatch.setattr(CatalogState, "read", noted)
        gate.open()
        control.catch_up(time.monotonic())
        assert (control.version, control.error, routes(control)) == (newest, "", ["Other"])
        assert set(seen) == {1}, "an old version was used, or none"


def test_the_end_is_found_although_no_fetch_is_empty(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a record every 30 ms, the client never reports the end."""

    def take(consumer: Any, timeout: float) -> list[Message]:
        return [
            message for message in bounded_poll.take(consumer, timeout) if message.error() is None
        ]

    monkeypatch.setattr("streams.workers.control.consumer.take", take)
    control = two.control("A")
    close(two, 2, {})
    control.catch_up(time.monotonic())
    assert (control.version, control.error != "") == (1, True)
    deploy(two.cluster, two.topology)  # in a transaction, whose marker is the last record
    control.catch_up(time.monotonic())
    assert (control.version, control.error) == (2, "")


def test_a_doubtful_version_ends_no_wait(two: Rig) -> None:
    """Whoever waits for the catalog's end would rely on a version that may be long out of date."""
    end = CatchUp(two.cluster, two.topics.catalog, DEADLINE)
    follower = CatalogFollower(end)
    records = two.records(two.topics.catalog)

    def reach(position: int) -> tuple[int, bool]:
        follower.end_read(position)
        return end._position, follower.begins_again()

    for record in records:
        follower.read(record)
    assert reach(100) == (100, False)
    body = json.dumps({"number": 2, "hash": "of others"})
    value = encode_catalog_object(2, body)
    refused = Message(two.topics.catalog, 0, 100, VERSION_KEY.encode(), value)
    assert not follower.read(refused)
    assert reach(101) == (100, True)
    view = follower.view
    for record in [*records, refused]:
        follower.read(record)
        assert end._position == 100
    assert reach(101) == (101, False), "once"
    assert follower.view is view
