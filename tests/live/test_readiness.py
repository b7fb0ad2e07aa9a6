"""What `hopline status` believes: the answer of a worker, whatever listens on its port."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams.kafka import deploy
from streams.live import UpFolder
from streams.live.local import readiness
from streams.live.local.folder import System, WorkerProcess
from streams.live.local.readiness import WorkerStatus
from streams.telemetry import Series, answering, exposition_of, health_answer
from streams.workers import ROLES, Plan, Process
from streams.workers.http import serving
from tests.running import DEADLINE, WorkerThread, eventually
from tests.workers.rig import pair, pause, rig

WANTED = frozenset({"A", "B"})


def asked(port: int, agent: str = "", wanted: frozenset[str] = WANTED) -> WorkerStatus:
    """Ask what listens on a port, in the place of a worker or an agent that is alive."""
    role = "agents" if agent else "forwarder"
    worker = WorkerProcess(role, 1, 0.0, agent=agent, port=port)
    return readiness._ask(worker, True, worker.wanted(wanted))


@contextmanager
def says(*missing: str, gauges: dict[str, float]) -> Iterator[int]:
    """Serve what a process of workers would."""
    samples = [(("forwarder", server), value) for server, value in gauges.items()]
    ready = Series("hopline_worker_ready", "Ready.", samples, ("worker", "server"))
    metrics = exposition_of(lambda: [ready])
    answers = {
        "/readyz": lambda: health_answer(missing),
        "/metrics": lambda: (200, "text/plain", metrics()),
    }
    with answering("0", answers) as port:
        yield port


def test_workers_that_drain_are_no_longer_ready(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "ANSWER_WITHIN", DEADLINE)
    with rig(kafka, unique, pair(tmp_path)) as two:
        deploy(two.cluster, two.topology)
        process = Process(two.cluster, Plan(ROLES, ("A", "B")), timeout=DEADLINE)
        drain(process)


def drain(process: Process) -> None:
    with serving(process, "0", 5.0) as port:
        first = asked(port)
        assert first.answers and not first.ready and not first.serves(WANTED)
        workers = WorkerThread(process)

        def serves() -> WorkerStatus | None:
            found = asked(port)
            return found if found.serves(WANTED) or pause() else None

        try:
            assert eventually(serves, "both are ready").ready == WANTED
        finally:
            workers.stop()
        last = asked(port)
    assert last.answers and not last.serves(WANTED) and last.ready == frozenset()
    assert last.missing[-1] == "The process is draining."
    assert asked(port) == WorkerStatus(last.process, True)


@pytest.mark.parametrize(
    ("missing", "gauges", "ready"),
    [
        ((), {"A": 1, "B": 1, "C": 1}, {"A", "B"}),
        ((), {"A": 1}, {"A"}),
        (("The forwarder of B has no partitions yet.",), {"A": 1, "B": 0}, {"A"}),
        (("The clock differs from Kafka's by +99 s.",), {"A": 1, "B": 1}, set()),
        (("The forwarder of A/Pair has no partitions yet.",), {"A": 1, "A/Pair": 0, "B": 1}, {"B"}),
    ],
)
def test_an_instance_is_ready_if_its_workers_and_their_process_are(
    missing: tuple[str, ...], gauges: dict[str, float], ready: set[str]
) -> None:
    with says(*missing, gauges=gauges) as port:
        found = asked(port)
    assert (found.answers, found.ready, found.missing) == (True, ready, missing)
    assert found.serves(ready) == (not missing)


def test_an_instance_may_have_any_name() -> None:
    names = frozenset({'a"b', "back\\slash", "line\nbreak", 'x="1",server="y', "Übung {1} 1"})
    with says(gauges=dict.fromkeys(names, 1.0)) as port:
        assert asked(port, wanted=names).ready == names


@pytest.mark.parametrize("missing", [(), ("The agents have not started yet.",)])
def test_an_agent_is_ready_if_it_says_so(missing: tuple[str, ...]) -> None:
    with says(*missing, gauges={}) as port:
        found = asked(port, "shop")
    assert (found.answers, found.missing) == (True, missing)
    assert found.ready == (frozenset() if missing else {"shop"})


@contextmanager
def foreign(*parts: bytes, endless: bool = False) -> Iterator[int]:
    """Listen like another program, and send this to every client that connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def send() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client, suppress(OSError):
                        for part in parts:
                            client.sendall(part)
                        while endless:
                            client.sendall(parts[-1])
                        client.shutdown(socket.SHUT_WR)
                        client.recv(1 << 10)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE)


REFUSED = "The answer (status {}) is not the 'ok' of a worker."
OK = b"HTTP/1.0 200 OK\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.0 two hundred\r\n\r\nok\n",
        b"HTTP/2 200\r\n\r\nok\n",
        bytes(range(256)) * 100,
    ],
)
def test_a_program_that_does_not_speak_http_is_no_answer(answer: bytes) -> None:
    with foreign(answer) as port:
        for agent in ("", "shop"):
            found = asked(port, agent)
            assert (found.answers, found.ready, found.missing) == (False, frozenset(), ())


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (OK + b"<html>Welcome</html>", REFUSED.format(200)),
        (OK, REFUSED.format(200)),
        (b"HTTP/1.1 404 Not Found", REFUSED.format(404)),
        (b"HTTP/1.0 503 Busy\r\n\r\n", REFUSED.format(503)),
        (b"HTTP/1.0 503 No\r\n\r\n\xff\x00\x1b no", "\ufffd?? no"),
    ],
)
def test_another_program_that_answers_is_not_ready(answer: bytes, missing: str) -> None:
    with foreign(answer) as port:
        for agent in ("", "shop"):
            found = asked(port, agent)
            assert (found.answers, found.ready) == (True, frozenset())
            assert found.missing == (missing,)


@pytest.mark.parametrize("sent", [OK, b"HTTP/1.0 200 OK\r\nX: ", b"x"])
def test_an_answer_without_end_is_not_read_for_ever(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "LARGEST", 1 << 20)
    monkeypatch.setattr(readiness, "ANSWER_WITHIN", DEADLINE)
    with foreign(sent, bytes(1 << 16), endless=True) as port:
        assert readiness.get(port, "/readyz") is None


def test_an_answer_that_is_too_large_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "LARGEST", 1 << 20)
    monkeypatch.setattr(readiness, "ANSWER_WITHIN", DEADLINE)
    with foreign(OK, bytes(4 << 20)) as port:
        assert readiness.get(port, "/readyz") is None


def test_an_answer_that_is_slow_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte that arrives would extend a limit for single reads."""
    ticks = iter(range(1_000))
    monkeypatch.setattr(readiness, "time", SimpleNamespace(monotonic=lambda: 0.3 * next(ticks)))
    with foreign(b"x", endless=True) as port:
        assert readiness.get(port, "/readyz") is None
    assert next(ticks) < 10


def test_a_port_without_a_program_is_no_answer() -> None:
    with socket.socket() as taken:  # nothing listens there, and nothing else can
        taken.bind(("127.0.0.1", 0))
        assert not asked(taken.getsockname()[1]).answers


def test_a_dead_process_is_not_asked() -> None:
    """Another program may have its port, even workers of another system."""
    with says(gauges={"A": 1, "B": 1}) as port:
        worker = WorkerProcess("forwarder", 1, 0.0, port=port)
        assert readiness._ask(worker, False, WANTED) == WorkerStatus(worker, False)


def test_records_of_older_and_newer_versions_are_read(tmp_path: Path) -> None:
    folder = UpFolder(tmp_path)
    old = {"role": "forwarder", "pid": 7, "started": 1.0, "restarts": 2, "log_from": 9, "agent": ""}
    rows = [old, *({**old, "port": port} for port in (8080, "8080", -1, 70_000, None, 1.5, [1]))]
    folder.workers_file.write_text(json.dumps({"workers": rows}))
    workers = folder.workers()
    assert [worker.port for worker in workers] == [0, 8080, 0, 0, 0, 0, 0, 0]
    assert workers[0] == WorkerProcess("forwarder", 7, 1.0, 2)
    system = System(0, "k:1", "ssb.", "t", ("A",), False, 0.0)
    found = readiness.ask_workers(folder, system, ("A",))
    assert found == tuple(WorkerStatus(worker, False) for worker in workers)
