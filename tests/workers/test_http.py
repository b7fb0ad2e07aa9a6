"""`/metrics`, `/healthz` and `/readyz` of workers that run, and of some that cannot."""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streams.errors import Number, SurroundingsError, UsageError
from streams.kafka import Cluster, TopicPartition, deploy
from streams.kafka.catalog import VERSION_KEY
from streams.telemetry import address_of, answering, http
from streams.telemetry.http import Answer
from streams.topology import load, share_of
from streams.wire import encode_catalog_object
from streams.workers import ROLES, Plan, Process
from streams.workers.http import serving
from streams.workers.metrics import FIGURES
from tests.health import Samples, get, metrics
from tests.running import DEADLINE, WorkerThread, eventually
from tests.workers.rig import Gate, Hook, HookedCluster, Rig, pause, rig

ASTRAY = """
instances:
  A:
    cluster: here
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services: {InitiatorService: {queue: InitiatorQueue}}
        routes:
          - {name: Near, service_name: TargetService, address: 'tcp://B:4022'}
          - {name: Far, service_name: FarService, address: 'tcp://C:4022'}
  B:
    cluster: here
    databases:
      DatabaseB:
        broker_id: DatabaseB
        services: {TargetService: {queue: TargetQueue}}
        routes: [{name: ToA, service_name: InitiatorService, address: 'tcp://A:4022'}]
  C: {cluster: there}
"""
"""Of the cluster of C nothing says where it is."""
PATIENCE = 60.0
"""Seconds that Kafka may take to answer before a process is not healthy."""
REQUEST = b"GET /page HTTP/1.0\r\n\r\n"


SHUT = """
instances:
  A:
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services: {InitiatorService: {queue: InitiatorQueue}}
        routes: [{name: Via, service_name: TargetService, address: 'tcp://Shut:4022'}]
  Shut:
    msdb: {routes: [{name: Far, service_name: TargetService, address: 'tcp://A:4022'}]}
"""
"""Forwarding is off at Shut, to which the route of A leads."""


@contextmanager
def served(two: Rig) -> Iterator[tuple[Process, int]]:
    """Run all workers of a rig, and serve what they say; yields when all are ready."""
    process = Process(two.cluster, Plan(ROLES, ("A", "B"), watched=True), timeout=DEADLINE)
    with serving(process, "0", PATIENCE) as port:
        assert get(port, "/readyz") == (503, "The catalog has not been read yet.\n")
        workers = WorkerThread(process)
        try:
            eventually(lambda: get(port, "/readyz") == (200, "ok\n") or pause(), "they are ready")
            yield process, port
        finally:
            workers.stop()
        code, said = get(port, "/readyz")
        assert code == 503
        assert "The process is draining." in said


@pytest.fixture
def announced(two: Rig) -> Rig:
    """Return the rig with the schemas in its catalog, without which no process starts."""
    deploy(two.cluster, two.topology)
    return two


def test_a_dialog_is_counted_where_it_passes(
    announced: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.kafka.cluster.STATISTICS_EVERY", 100)
    with served(announced) as (_, port), announced.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"<hello/>", wait=True)
        at_least_one = [
            ("hopline_forwarded_messages_total", "A", "forwarder"),
            ("hopline_forwarded_messages_total", "B", "forwarder"),
            ("hopline_transactions_total", "A", "endpoint"),
            ("hopline_trace_events_total", "0", "124", "A", "endpoint"),
            ("hopline_enqueued_messages_total", "B", "endpoint"),
            ("hopline_dialogs", "B", "endpoint"),
        ]

        def counted() -> bool:
            """Each worker counts by itself, after the others may have seen what it did."""
            found = metrics(port)
            statements = found.get(("hopline_statements_total", "A", "endpoint"))
            return statements == 2 and all(found.get(name, 0) >= 1 for name in at_least_one)

        eventually(lambda: counted() or pause(), "every worker has counted")
        found = metrics(port)
        assert found["hopline_enqueued_messages_total", "B", "endpoint"] == 1
        assert found["hopline_statements_total", "A", "endpoint"] == 2
        assert found["hopline_statements_total", "B", "endpoint"] == 0
        assert found["hopline_dialogs", "B", "endpoint"] == 1
        assert found["hopline_forwarded_pending_messages", "A", "forwarder"] == 0
        assert found["hopline_worker_ready", "A", "forwarder"] == 1
        assert found["hopline_catalog_version",] == 2
        known = {f.name for f in FIGURES} | {"hopline_catalog_version"}
        assert {name for name, *_ in found if name.startswith("hopline_")} <= known
        assert str(dialog.id) not in get(port, "/metrics")[1]
        eventually(lambda: reported(metrics(port), announced) or pause(), "clients report")


def reported(found: Samples, two: Rig) -> bool:
    """Tell whether Kafka's clients have told of themselves."""
    read = found.get(("hopline_receive_io_bytes_total", "A", "endpoint"), 0)
    sent = found.get(("hopline_send_io_bytes_total", "A", "forwarder"), 0)
    lag = found.get(("hopline_lag_records", "A", "endpoint", two.topics.cmd("A")))
    up = found.get(("hopline_open_connections", "A", "forwarder"), 0)
    return bool(read and sent and up and lag == 0)


def test_nobody_is_ready_before_every_worker_has_its_partitions(announced: Rig) -> None:
    gate = Gate()

    def watermarks(method: Hook, where: TopicPartition, **timeout: Any) -> Any:
        if where.topic == announced.topics.inbox("A"):  # asked when it has been dealt its partition
            gate.hold()
        return method(where, **timeout)

    hooks = {"get_watermark_offsets": watermarks}
    cluster = HookedCluster(announced.cluster.bootstrap, announced.topics, hooks=hooks)
    process = Process(cluster, Plan(("endpoint",), ("A",)), timeout=DEADLINE)
    with serving(process, "0", PATIENCE) as port:
        workers = WorkerThread(process)
        gate.wait()
        assert get(port, "/readyz") == (503, "The endpoint of A has no partitions yet.\n")
        assert metrics(port)["hopline_worker_ready", "A", "endpoint"] == 0
        assert get(port, "/healthz") == (200, "ok\n")
        gate.open()
        eventually(lambda: get(port, "/readyz")[0] == 200 or pause(), "it is ready")
        workers.stop()


@pytest.mark.long
def test_what_cannot_be_understood_is_counted_by_its_number(announced: Rig) -> None:
    with served(announced) as (_, port):
        announced.produce(announced.topics.txq("A"), str(uuid.uuid4()), b"")
        key = ("hopline_corrupted_messages_total", "11235", "A", "forwarder")
        eventually(lambda: metrics(port).get(key) == 1 or pause(), "it is counted")


def test_a_catalog_that_cannot_be_read_is_no_health(announced: Rig) -> None:
    with served(announced) as (process, port):
        assert get(port, "/healthz") == (200, "ok\n")
        body = json.dumps({"number": 9, "hash": "no"})
        announced.produce(announced.topics.catalog, VERSION_KEY, encode_catalog_object(9, body))
        eventually(lambda: list(process.failures()) or pause(), "it is told")
        code, said = get(port, "/healthz")
        assert code == 503
        assert said == (
            "The newest version of the catalog cannot be used: "
            "version 9: the hash does not match the objects that were read.\n"
        )
        assert metrics(port)["hopline_catalog_version",] == 2


def test_a_cluster_that_is_declared_wrongly_holds_up_only_what_is_for_it(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """One neighbour's owner cannot keep everybody else's worker from starting."""
    (tmp_path / "topology.yaml").write_text(ASTRAY, encoding="utf-8")
    with rig(kafka, unique, share_of(load(tmp_path, 0.0), "here")) as made:
        deploy(made.cluster, made.topology)
        process = Process(made.cluster, Plan(ROLES, ("A", "B")), timeout=DEADLINE)
        with serving(process, "0", PATIENCE) as port:
            workers = WorkerThread(process)
            with made.client() as client:
                at = ("A", "DatabaseA", "InitiatorService")
                client.send(client.begin(*at, "FarService"), b"waits", wait=True)
                client.send(client.begin(*at, "TargetService"), b"arrives", wait=True)
            [message] = made.until(made.topics.queue("B", "DatabaseB", "TargetQueue"), 1)
            assert message.value() == b"arrives"
            [delayed] = made.events(1, error=int(Number.TARGET_UNREACHABLE))
            assert delayed["to_service"] == "FarService"
            said = "The cluster there has no bootstrap servers."
            for path in ("/readyz", "/healthz"):
                code, text = get(port, path)
                assert (code, said in text) == (503, True)
            workers.stop()


def test_a_copy_that_may_not_be_forwarded_is_counted_as_discarded(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """9792 at the gateway: its sender has no status, so only the gateway's count shows it."""
    (tmp_path / "topology.yaml").write_text(SHUT, encoding="utf-8")
    with rig(kafka, unique, load(tmp_path, 0.0)) as made:
        deploy(made.cluster, made.topology)
        process = Process(made.cluster, Plan(ROLES, ("A", "Shut")), timeout=DEADLINE)
        with serving(process, "0", PATIENCE) as port:
            workers = WorkerThread(process)
            with made.client() as client:
                dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
                client.send(dialog, b"waits", wait=True)
            [dropped] = made.events(1, instance="Shut")
            found = dropped["event"], dropped["error"], dropped["conversation"]
            assert found == (140, 9792, str(dialog.id))
            counts = metrics(port)
            workers.stop()
    assert counts["hopline_forwarded_messages_discarded_total", "9792", "Shut", "forwarder"] >= 1
    delayed = [key for key in counts if key[0] == "hopline_trace_events_total" and "141" in key]
    assert delayed == []


def test_a_kafka_that_does_not_answer_is_no_health() -> None:
    process = Process(Cluster("127.0.0.1:1"), Plan(ROLES, ("A",)))
    with serving(process, "0", 0.2) as port:
        said = "Kafka at 127.0.0.1:1 has not responded within 0.2 s.\n"
        assert get(port, "/healthz") == (503, said)
        assert get(port, "/metrics")[0] == 200
        assert get(port, "/elsewhere") == (404, "There are /metrics, /healthz, /readyz.\n")


@pytest.mark.long
def test_a_worker_that_failed_is_no_health(announced: Rig) -> None:
    process = Process(announced.cluster, Plan(ROLES, ("A",)), timeout=DEADLINE)
    with serving(process, "0", PATIENCE) as port:
        workers = WorkerThread(process)
        eventually(lambda: get(port, "/readyz")[0] == 200 or pause(), "it is ready")
        b = {"B": announced.topology.instances["B"]}
        deploy(announced.cluster, replace(announced.topology, instances=b), prune=True)
        eventually(lambda: not workers.alive or pause(), "it ends")
        assert get(port, "/healthz") == (
            503,
            "A worker failed: The catalog no longer has A.\n",
        )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9187", ("127.0.0.1", 9187)),
        (":9187", ("127.0.0.1", 9187)),
        ("0.0.0.0:9187", ("0.0.0.0", 9187)),
        ("[::1]:9187", ("::1", 9187)),
    ],
)
def test_an_address_is_on_loopback_unless_it_says_otherwise(
    text: str, address: tuple[str, int]
) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["", "x", "host:", "host:70000", "9187:host"])
def test_what_is_no_address_is_wrong_use(text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"'{text}' is not HOST:PORT.")):
        address_of(text)


def test_an_address_that_is_taken_is_told() -> None:
    process = Process(Cluster("127.0.0.1:1"), Plan(ROLES, ("A",)))
    with (
        serving(process, "0", 0.2) as port,
        pytest.raises(SurroundingsError, match=f"Cannot listen on 127.0.0.1:{port}: "),
        serving(process, str(port), 0.2),
    ):
        pass


def page() -> Answer:
    return 200, "text/plain", b"here"


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """Open a connection on which nothing is sent yet."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as connection:
        yield connection


def answered(connection: socket.socket) -> bytes:
    """Send a request, and return what is read until the connection is closed."""
    connection.sendall(REQUEST)
    return received(connection)


def received(connection: socket.socket) -> bytes:
    """Return what is read until the connection is closed."""
    return b"".join(iter(lambda: connection.recv(1_000), b""))


def test_an_answer_that_fails_is_status_500(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> Answer:
        raise ZeroDivisionError("of course")

    with answering("0", {"/page": fail}) as port:
        assert get(port, "/page") == (500, "ZeroDivisionError; see the log.\n")
    assert "/page failed" in caplog.text and "Traceback" in caplog.text


def test_more_requests_than_threads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answered_now, released = threading.Semaphore(0), threading.Event()

    def slow() -> Answer:
        answered_now.release()
        released.wait(DEADLINE)
        return page()

    monkeypatch.setattr(http, "AT_ONCE", 2)
    with answering("0", {"/page": slow}) as port, connected(port) as one, connected(port) as two:
        for waiting in (one, two):
            waiting.sendall(REQUEST)
            assert answered_now.acquire(timeout=DEADLINE)
        with connected(port) as three:
            assert three.recv(1_000).startswith(b"HTTP/1.0 503 ")
        released.set()
        for waiting in (one, two):
            assert received(waiting).endswith(b"\r\n\r\nhere")
        eventually(lambda: _status(port) == 200 or pause(), "there is room again")


def test_connections_without_a_request_do_not_lock_out_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Idle connections could otherwise let all probes fail with 503."""
    monkeypatch.setattr(http, "AT_ONCE", 2)
    monkeypatch.setattr(http, "READ_WITHIN", DEADLINE)
    monkeypatch.setattr(http._Handler, "timeout", DEADLINE)
    with answering("0", {"/page": page}) as port, connected(port) as one, connected(port) as two:
        one.sendall(b"GET /page HTTP/1.0\r\nX-")
        assert get(port, "/page") == (200, "here")
        assert one.recv(1_000).startswith(b"HTTP/1.0 503 ")
        assert answered(two).endswith(b"\r\n\r\nhere")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /page HTTP/1.0\r\n" + b"X: y\r\n" * 90 + b"Y: " + b"y" * http.HEAD_BYTES,
        b"GET /page HTTP/1.0\r\n" + (b"X: " + b"y" * 200 + b"\r\n") * 90,
        b"GET /" + b"x" * http.HEAD_BYTES,
        b"GET /page HTTP/1.0\r\na:b\ra:b\r\n",
        b"GET /page HTTP/1.0\r\na:b\r\r\n",
    ],
    ids=["a long header", "many headers", "a long path", "headers without LF", "two CRs"],
)
def test_large_headers_are_refused_before_they_are_parsed(request_: bytes) -> None:
    """99 lines of 64 kB with CRs are 1.6 million headers: 3.5 s of CPU time, and 341 MB."""
    with answering("0", {"/page": page}) as port, connected(port) as connection:
        connection.sendall(request_)
        assert connection.recv(1_000).startswith(b"HTTP/1.0 431 ")


def test_headers_up_to_the_limit_are_read() -> None:
    begin, end = b"GET /page HTTP/1.0\r\nX: ", b"\r\n\r\n"
    with answering("0", {"/page": page}) as port, connected(port) as connection:
        connection.sendall(begin + b"y" * (http.HEAD_BYTES - len(begin + end)) + end)
        assert received(connection).endswith(b"\r\n\r\nhere")


def _status(port: int) -> int:
    """Return the status of the page; 0 if the connection was closed, which may discard a 503."""
    try:
        return get(port, "/page")[0]
    except OSError:
        return 0


def test_a_request_that_never_ends_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte that arrives would extend a limit for single reads."""
    monkeypatch.setattr(http, "READ_WITHIN", 0.1)
    with answering("0", {"/page": page}) as port, connected(port) as slow:
        slow.settimeout(0.02)

        def closed() -> bool:
            with suppress(TimeoutError):
                with suppress(ConnectionError):  # it is closed, and what it has said can be read
                    slow.sendall(b"x")
                return b"400" in slow.recv(1_000)
            return False

        eventually(closed, "it is closed")


def test_a_long_answer_outlasts_the_deadline_of_its_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[http._Server] = []
    create = http._Server

    def remember(*where: Any) -> http._Server:
        made.append(create(*where))
        return made[-1]

    def late() -> Answer:
        [server] = made
        server._deadlines = dict.fromkeys(server._deadlines, 0.0)
        server.service_actions()
        return page()

    monkeypatch.setattr(http, "_Server", remember)
    with answering("0", {"/page": late}) as port:
        assert get(port, "/page") == (200, "here")
