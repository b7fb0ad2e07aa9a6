"""The state of workers: the current HTTP response of each process, and how a process exited."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from streams.live.local.folder import System, UpFolder, WorkerProcess

HOST = "127.0.0.1"
ANSWER_WITHIN = 1.0
"""Seconds within which the whole response must have arrived."""
LARGEST = 1 << 24
"""Maximum size of a response in bytes; the metrics of a thousand instances take 1.3 MB."""
_LONGEST = 1 << 17
"""Maximum size of the displayed reasons; a sentence for each worker takes about 50 bytes."""
_AT_ONCE = 16
"""Maximum number of processes that are queried at the same time."""
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_OK, _FAILED = 200, (500, 503)
_READY = re.compile(rb"^hopline_worker_ready\{([^\n]*)\} ([01])", re.MULTILINE)
_SERVER = re.compile(rb'\bserver="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """A process of workers; ``ready`` are the instances that it serves, or an agent's name.

    ``answers``: the process has answered over HTTP. ``missing``: why the process is not ready, in
    its own words.
    """

    process: WorkerProcess
    alive: bool
    ready: frozenset[str] = frozenset()
    answers: bool = False
    missing: tuple[str, ...] = ()

    def serves(self, instances: Iterable[str]) -> bool:
        """Return whether the process is ready for all of these instances, or ready as an agent."""
        return self.answers and not self.missing and self.ready >= self.process.wanted(instances)


def ask_workers(
    folder: UpFolder, system: System, instances: Iterable[str]
) -> tuple[WorkerStatus, ...]:
    """Return the current state of all processes for these instances; query them in parallel."""
    workers = folder.workers()
    alive = [folder.works(system, worker) for worker in workers]
    wanted = [worker.wanted(instances) for worker in workers]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(_ask, workers, alive, wanted))


def _ask(worker: WorkerProcess, alive: bool, wanted: frozenset[str]) -> WorkerStatus:
    """Query a process; it is not ready if it is dead or does not respond in time."""
    silent = WorkerStatus(worker, alive)
    if not (alive and worker.port):  # another program may use the port of a dead process
        return silent
    answer = get(worker.port, "/readyz")
    metrics = (_OK, b"") if worker.agent else get(worker.port, "/metrics")
    if answer is None or metrics is None:
        return silent
    status, body = answer
    is_ready = status == _OK and body.strip() == b"ok"
    if worker.agent:
        ready = wanted if is_ready else frozenset[str]()
    else:
        ready = _ready_instances(metrics[1], is_ready) & wanted
    missing = () if is_ready else _sentences(status, body)
    return WorkerStatus(worker, alive, ready, answers=True, missing=missing)


def _ready_instances(metrics: bytes, is_ready: bool) -> frozenset[str]:
    """Return the ready instances, and pairs as INSTANCE/PAIR, according to a process's metrics.

    An instance is not ready while one of its pairs is not. If the process is not ready although all
    its workers are ready, the result is empty.
    """
    found = {
        _unescaped(server[1]): value == b"1"
        for labels, value in _READY.findall(metrics)
        if (server := _SERVER.search(labels))
    }
    waiting = [name for name, serves in found.items() if not serves]
    if not (is_ready or waiting):
        return frozenset()
    return frozenset(
        name
        for name, serves in found.items()
        if serves and not any(other.startswith(f"{name}/") for other in waiting)
    )


def _unescaped(label: bytes) -> str:
    """Return the value of a label in the Prometheus text format."""
    text = label.decode(errors="replace")
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def _sentences(status: int, body: bytes) -> tuple[str, ...]:
    """Return why a process is not ready, in lines of printable characters."""
    text = body[:_LONGEST].decode(errors="replace") if status in _FAILED else ""
    lines = ["".join(c if c.isprintable() else "?" for c in line) for line in text.splitlines()]
    return tuple(lines) or (f"The answer (status {status}) is not the 'ok' of a worker.",)


def get(port: int, path: str) -> tuple[int, bytes] | None:
    """Return the status and body of a page on loopback; None if no HTTP answer arrives in time.

    Any program may listen on the port, and may send anything, slowly and endlessly.
    """
    deadline = time.monotonic() + ANSWER_WITHIN
    data = bytearray()
    try:
        with socket.create_connection((HOST, port), ANSWER_WITHIN) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            while (left := deadline - time.monotonic()) > 0 and len(data) <= LARGEST:
                connection.settimeout(left)
                part = connection.recv(1 << 16)
                if not part:
                    head, _, body = bytes(data).partition(b"\r\n\r\n")
                    status = _STATUS.match(head)
                    return (int(status[1]), body) if status else None
                data += part
    except OSError:  # nothing listens, or no response arrives in time
        pass
    return None


def last_words(log: Path) -> str:
    """Return the last line of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except FileNotFoundError:
        lines = []
    own = [line for line in lines if not line.startswith(" ")]
    return own[-1] if own else "no output"
