"""Fuzz what workers and commands read from others: frames of other clusters, rows, HTTP answers."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from types import SimpleNamespace
from typing import Any

from streams.errors import Event
from streams.kafka import Headers, Message
from streams.live.local import readiness
from streams.live.local.folder import WorkerProcess
from streams.live.local.readiness import WorkerStatus
from streams.node import catalog_of
from streams.outbox.rows import Statement
from streams.outbox.table import OutboxTable
from streams.protocol import DEFAULT, Ack, Header, Journey, Limits, Parties
from streams.resources import topologies_dir
from streams.topology import load, share_of
from streams.wire import Topics, encode_event
from streams.wire.frame_headers import decode_parties
from streams.wire.hop import Hop
from streams.wire.records import HOP, ROUTE, ack_record, header_of, message_record
from streams.workers.forwarder.buffered_copies import BufferedCopies
from streams.workers.forwarder.offset_tracker import OffsetTracker
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.remote_producers import RemoteCopy
from streams.workers.forwarder.restart_state import Lasting
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.on_records import parsed
from tests.fuzz.target import ID, TOPICS, Target, documented_or, folder

# --- frames of another cluster -------------------------------------------------------------------

_AT = 1_790_000_000_000
_LIMITS = Limits()
_WRITER = "seller"
_FAILED = "it cannot be processed"


class _Written:
    """Stands where the producers of a forwarder do: checks what they are given.

    ``allowed``: the senders that a writer may name, if it is another cluster.
    """

    def __init__(self, allowed: Callable[[Parties], bool] | None) -> None:
        self.allowed = allowed

    def report(self, *_: object) -> Callable[..., None]:
        return lambda *_: None

    def copy(
        self, _: object, topic: str, value: Any, key: bytes, at: int, headers: Headers
    ) -> None:
        self._check(topic, headers)

    def produce(
        self, source: object, topic: str, key: Any, value: Any, headers: Any = None, at: int = 0
    ) -> None:
        self._check(topic, headers or [])

    def take(self, copy: RemoteCopy, headers: Headers, at: int) -> bool:
        self._check("there", headers)
        return True

    def emit(self, source: Any, key: Any, event: Event, value: bytes | None = None) -> None:
        """Raise where the forwarder has failed, which it reports like a malformed record."""
        assert _FAILED not in str(event["detail"]), event
        encode_event(event)

    def limit(self, size: int) -> None:
        pass

    def come_back(self) -> tuple[()]:
        return ()

    def _check(self, topic: str, headers: Headers) -> None:
        """What another cluster wrote has its own senders, and no more time and hops than ours."""
        topic.encode()
        route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
        if self.allowed is None or route is None or hop is None:
            return  # of the same cluster, or a status
        seen = Hop(hop)  # the path of a first copy may be damaged
        assert self.allowed(decode_parties(route)), "a sender of somebody else"
        assert seen.hops_remaining <= _LIMITS.hops
        assert seen.expires_at <= _AT + _LIMITS.time_to_live


@cache
def _share() -> Any:
    return catalog_of(share_of(load(topologies_dir() / "two_clusters", 0.0), "buyer"), 1)


def _gateway(written: _Written, *, is_alone: bool) -> tuple[Processor, BufferedCopies]:
    buffered = BufferedCopies(lambda _: not is_alone)
    control = SimpleNamespace(
        catalog=_share(), now=lambda: _AT, claims=lambda _: None, try_catch_up=lambda _: None
    )
    made = Processor(
        SimpleNamespace(topics=TOPICS),  # type: ignore[arg-type]
        SimpleNamespace(instance="GatewayA", home="GatewayA", may_go=False),  # type: ignore[arg-type]
        control,  # type: ignore[arg-type]
        Lasting(buffered, written),  # type: ignore[arg-type]
        written,  # type: ignore[arg-type]
        OffsetTracker(),
    )
    made.inputs()  # learns which cluster writes to which topic
    return made, buffered


def _far_frame(data: bytes) -> None:
    """Let a gateway forward, drop or buffer a frame, from another cluster and from its own."""
    _, key, value, headers = parsed(data)
    allowed = _share().ingress["GatewayA"][_WRITER].allow
    ingress, txq = TOPICS.ingress("GatewayA", _WRITER), TOPICS.txq("GatewayA")
    for topic, senders in ((ingress, allowed), (txq, None)):
        for is_alone in (False, True):
            made, buffered = _gateway(_Written(senders), is_alone=is_alone)
            batch = [_message(topic, at, key, value, headers) for at in (3, 4)]
            made.pass_on(batch)  # the second record takes the fast path if there is one
            made.postponed.write_all()
            if buffered:
                buffered.limit(1 << 20)  # all are decided again
                made.look_around()
            list(made.notes().values())


def _message(
    topic: str, at: int, key: bytes | None, value: bytes | None, headers: Headers
) -> Message:
    given: dict[str, Any] = {"headers": list(headers), "timestamp": (1, _AT)}
    return Message(topic=topic, partition=0, offset=at, key=key, value=value, **given)


def _far_frames() -> list[bytes]:
    """Return messages and acknowledgements with few and with too many hops, first and again."""
    to, sender = ("OrderService", "DatabaseA"), ("SupplierService", "DatabaseB")
    header = Header(uuid.UUID(int=5), DEFAULT, 0, _AT, _AT + 3_600_000)
    found = []
    for parties in (Parties(*to, *sender, DEFAULT, False), Parties(*sender, *to, DEFAULT, True)):
        for journey in (
            Journey(16, _AT + 60_000, 0, _AT, 0, (("GatewayB", _AT),)),
            Journey(63, _AT + 10**9, 0, _AT, 0, (("GatewayB", _AT),)),
            Journey(1_000, _AT + 10**9, 70, _AT, 65, (("GatewayB", _AT), ("X", _AT))),
            Journey(0, _AT - 1, 1, _AT, 0),
        ):
            found.append(message_record(ID, parties, header, journey, b"<a/>"))
            found.append(ack_record(ID, parties, Ack(1), journey))
    return [
        joined([b"txq.GatewayA", key, value or b"", *(
            raw or b"" for name, one in headers for raw in (name.encode(), one)
        )])
        for key, value, headers in found
    ]  # fmt: skip


# --- rows of an outbox ---------------------------------------------------------------------------

_NOTE = ("batch", "batch_at", "positions")


@cache
def _outbox() -> tuple[OutboxTable, sqlite3.Connection]:
    path = folder() / "outbox.sqlite"
    table = OutboxTable.open(f"sqlite:///{path}")
    table.claim()
    with table._engine.connect() as connection:  # the pool's only one
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("PRAGMA synchronous = off")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA synchronous = off")
    return table, other


def _cells(data: bytes) -> Iterator[Any]:
    """Yield values of the types that SQLite stores in any column; the first byte is the type."""
    for part in parts_of(data):
        kind, rest = part[:1], part[1:]
        text = rest.decode("utf-8", "replace")
        if kind == b"b":
            yield rest
        elif kind == b"u":  # text that need not be UTF-8
            yield _Text(rest)
        elif kind in b"if" and kind:
            yield _number(text, float if kind == b"f" else int)
        else:
            yield text if kind == b"t" else None


class _Text(bytes):
    """Bytes to be stored as text."""


def _number(text: str, kind: type[int] | type[float]) -> int | float:
    with suppress(ValueError, OverflowError):
        found = kind(text[:400])
        if isinstance(found, float) or -(2**63) <= found < 2**63:
            return found
    return 7


def _outbox_row(data: bytes) -> None:
    """Two rows, then the note of a batch in flight: the relay takes rows, or says what is wrong."""
    table, other = _outbox()
    cells = [*_cells(data)]
    other.execute("DELETE FROM hopline_outbox")
    other.execute("UPDATE hopline_relay SET batch = NULL, batch_at = NULL, positions = NULL")
    rows, note = (cells[:6], cells[6:12]), cells[12:15]
    for position, row in enumerate(rows, 1):
        values = [position, *row, *("x",) * (6 - len(row))]
        with suppress(sqlite3.IntegrityError):  # NULL, where the table has none
            _write(
                other,
                f"INSERT INTO hopline_outbox VALUES ({', '.join(map(_mark, values))})",
                values,
            )
    if len(note) == 3:
        marks = ", ".join(
            f"{name} = {_mark(value)}" for name, value in zip(_NOTE, note, strict=True)
        )
        _write(other, f"UPDATE hopline_relay SET {marks}", note)
    names = frozenset(table.instances())
    batch = table.take(5, names if len(cells) % 2 else None)
    table.too_large()
    if batch is None:
        return
    assert isinstance(batch.id, str) and batch.at >= 0
    for statement in batch.statements:
        _sendable(statement)
    table.finish(batch)


def _mark(value: object) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, _Text) else "?"


def _write(other: sqlite3.Connection, statement: str, values: list[Any]) -> None:
    plain = [bytes(value) if isinstance(value, _Text) else value for value in values]
    other.execute(statement, plain)


def _sendable(said: Statement) -> None:
    """What a relay does with a statement: names its topic, and gives Kafka its bytes."""
    Topics().cmd(said.instance).encode()
    assert said.id.encode() is not None and said.kind.encode() is not None
    given: dict[str, Any] = {"headers": [("sb-command", said.command)]}
    Message(key=said.conversation.encode(), value=said.body, **given)


def _outbox_rows() -> list[bytes]:
    one = [f"t{ID}", "tServerA", f"t{ID}", "tSEND", "b\x02x", "b<a/>"]
    odd = ["i7", "bServerA", "f1.5", "n", "t{}", "n"]
    note = [f"t{ID}", "i5", "t[1, 2]"]
    wrong = ["i1", "tx", "b[1]"]
    texts = ((*one, *odd), (*one, *one, *note), (*odd, *one, *wrong), (*one, "u\\\xff", *odd[1:]))
    return [joined([text.encode("latin-1") for text in row]) for row in texts]


# --- the answer of a health port -----------------------------------------------------------------

_WANTED = frozenset({"A", "B", 'a"b'})


class _Port:
    """Listens like a worker, and answers with what is to be read."""

    def __init__(self) -> None:
        self.answers: dict[bytes, bytes] = {}
        self._server = socket.create_server(("127.0.0.1", 0))
        self.number: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self._server.accept()
            with closing(client), suppress(OSError, IndexError):
                request = client.recv(1 << 12)
                client.sendall(self.answers.get(request.split(b" ")[1], b""))
                client.shutdown(socket.SHUT_WR)
                client.recv(1)


@cache
def _port() -> _Port:
    return _Port()


def _health_answer(data: bytes) -> None:
    """The answers of /readyz and of /metrics, whatever program it is that has the port."""
    ready, metrics, *_ = (*parts_of(data), b"", b"")
    port = _port()
    port.answers = {b"/readyz": ready, b"/metrics": metrics}
    for agent in ("", "shop"):
        role = "agents" if agent else "forwarder"
        worker = WorkerProcess(role, 1, 0.0, agent=agent, port=port.number)
        found: WorkerStatus = readiness._ask(worker, True, worker.wanted(_WANTED))
        assert found.answers or not (found.ready or found.missing)
        assert found.ready <= worker.wanted(_WANTED)
        assert all(line.isprintable() for line in found.missing)
        json.dumps(found.missing, ensure_ascii=False).encode()
        assert found.serves(_WANTED) <= found.answers


def _health_answers() -> list[bytes]:
    head = b"HTTP/1.0 %d %s\r\nContent-Type: text/plain\r\n\r\n"
    ok, busy = head % (200, b"OK"), head % (503, b"Service Unavailable")
    gauge = 'hopline_worker_ready{worker="forwarder",server="%s"} %d\n'
    names = ("A", "B", r"a\"b", "A/Pair", "C")
    metrics = [
        ok + b"# TYPE hopline_worker_ready gauge\n" + "".join(
            gauge % (name, number not in waiting) for number, name in enumerate(names)
        ).encode()
        for waiting in ((), (1,), (3,))
    ]  # fmt: skip
    reasons = busy + b"The forwarder of B has no partitions yet.\nThe clock differs.\n"
    return [
        *(joined([answer, found]) for answer in (ok + b"ok\n", reasons) for found in metrics),
        joined([busy.replace(b"503", b"404"), ok]),
    ]


TARGETS: Mapping[str, Target] = {
    "far_frame": Target(_far_frames, _far_frame),
    "outbox_row": Target(_outbox_rows, documented_or(_outbox_row)),
    "health_answer": Target(_health_answers, _health_answer),
}
