"""All processes of an application's agents have the same secret, from the first start on."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from streams.client import id_secret
from streams.client.id_secret import establish_secret
from streams.errors import SurroundingsError
from streams.kafka import Cluster, TopicPartition, create, read_all
from streams.protocol import SECRET_BYTES
from streams.wire import MalformedError, Topics
from streams.wire.id_secret import decode_secret, encode_secret, secret_key, secret_owner
from streams.wire.reading import Reading, reading_record
from streams.wire.specs import spec
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

WANTED, OTHER = bytes(range(SECRET_BYTES)), bytes(reversed(range(SECRET_BYTES)))


def made(kafka: str, prefix: str, *instances: str) -> Cluster:
    """Return a cluster with the topics of positions of these instances."""
    cluster = Cluster(kafka, Topics(prefix))
    create(cluster, [spec(cluster.topics.reading(name), "reading") for name in instances or ("A",)])
    return cluster


def put(cluster: Cluster, *records: tuple[bytes, bytes | None]) -> None:
    """Write records into the topic of positions, in this order."""
    producer = cluster.producer()
    for key, value in records:
        producer.produce(cluster.topics.reading("A"), key=key, value=value, partition=0)
    assert producer.flush(DEADLINE) == 0


def key(number: int, application: str = "orders") -> bytes:
    return secret_key(uuid.UUID(int=number), application)


def stored(cluster: Cluster) -> list[bytes]:
    """Return the secrets in the topic, in the order of their offsets."""
    found = read_all(cluster, cluster.topics.reading("A"), 0, to_high=True)
    return [decode_secret(m.value()) for m in found if secret_owner(m.key())]  # type: ignore[arg-type]


def test_a_secret_is_made_once_and_kept(kafka: str, unique: str) -> None:
    cluster = made(kafka, unique)
    first = establish_secret(cluster, "A", "orders")
    assert len(first) == SECRET_BYTES and any(first)
    assert [establish_secret(cluster, "A", "orders") for _ in range(2)] == [first, first]
    assert stored(cluster) == [first]


def test_each_application_at_each_instance_has_a_secret_of_its_own(kafka: str, unique: str) -> None:
    cluster = made(kafka, unique, "A", "B")
    names = "orders", "audit", "orders:audit", "audit:orders", "é/\n"
    found = [establish_secret(cluster, at, name) for at in ("A", "B") for name in names]
    assert len(set(found)) == 10
    assert [establish_secret(cluster, at, name) for at in ("A", "B") for name in names] == found


@pytest.mark.parametrize("writes_first", [False, True])
def test_a_process_that_starts_meanwhile_gets_the_same_secret(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch, writes_first: bool
) -> None:
    """Both have found no secret; the other one starts before this one has written, or after it."""
    cluster, write, others = made(kafka, unique), id_secret._write, list[bytes]()

    def other() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(id_secret, "_write", write)
            others.append(establish_secret(cluster, "A", "orders"))

    def overtaken(*args: Any) -> None:
        steps: list[Callable[[], None]] = [other, lambda: write(*args)]
        for step in reversed(steps) if writes_first else steps:
            step()

    monkeypatch.setattr(id_secret, "_write", overtaken)
    assert establish_secret(cluster, "A", "orders") == others[0] == stored(cluster)[0]
    assert len(stored(cluster)) == (1 if writes_first else 2)


def test_processes_that_start_at_once_get_the_same_secret(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, write, together = made(kafka, unique), id_secret._write, threading.Barrier(4)

    def at_once(*args: Any) -> None:
        together.wait(DEADLINE)  # none of them has found a secret
        write(*args)

    monkeypatch.setattr(id_secret, "_write", at_once)
    with ThreadPoolExecutor(4) as pool:
        starts = [pool.submit(establish_secret, cluster, "A", "orders") for _ in range(4)]
        found = {start.result(DEADLINE) for start in starts}
    assert found == {stored(cluster)[0]} == {establish_secret(cluster, "A", "orders")}
    assert len(set(stored(cluster))) == 4


def test_what_an_open_transaction_hides_is_waited_for(kafka: str, unique: str) -> None:
    """A record before it could be of another process that has started at the same time."""
    cluster, found = made(kafka, unique), list[bytes | Exception]()
    place = TopicPartition(cluster.topics.reading("A"), 0)
    hiding = cluster.producer(transactional_id=f"{unique}hiding")
    hiding.init_transactions(DEADLINE)
    hiding.begin_transaction()
    hiding.produce(cluster.topics.reading("A"), key=key(1), value=encode_secret(WANTED))
    assert hiding.flush(DEADLINE) == 0

    def start() -> None:
        try:
            found.append(establish_secret(cluster, "A", "orders"))
        except Exception as error:
            found.append(error)

    starting = threading.Thread(target=start, daemon=True)
    starting.start()

    def has_written() -> bool:
        reader = cluster.consumer(f"{unique}reader", isolation_level="read_uncommitted")
        try:
            return reader.get_watermark_offsets(place, timeout=DEADLINE)[1] >= 2
        finally:
            reader.close()

    eventually(lambda: has_written() or pause(), "its own record")
    hiding.commit_transaction(DEADLINE)
    starting.join(DEADLINE)
    assert found == [WANTED]


def test_other_and_unreadable_records_are_skipped(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = made(kafka, unique)
    record = Reading("orders", f"{unique}queue.A.D.Q", uuid.UUID(int=1), 0, 7, 1)
    put(
        cluster,
        reading_record(record),
        (key(1), b""),
        (key(2), None),
        (key(3), b"\xff" * 900_000),
        (key(4), encode_secret(OTHER)[:-1]),
        (key(5), encode_secret(OTHER) + b"!"),
        (key(6, "others"), encode_secret(OTHER)),
        (b"secret:orders", encode_secret(OTHER)),
        (b"secret:" + b"x" * 32 + b":orders", encode_secret(OTHER)),
        (b"\xff", encode_secret(OTHER)),
        (key(7), encode_secret(OTHER)),
        (key(8), encode_secret(WANTED)),
        (key(9), encode_secret(OTHER)),
        (key(7), None),
    )
    with caplog.at_level(logging.DEBUG):
        assert establish_secret(cluster, "A", "orders") == WANTED
    assert len([r for r in caplog.records if "skipped: Secret:" in r.getMessage()]) == 4
    for secret in (WANTED, OTHER):
        assert secret.hex() not in caplog.text and repr(secret[:31])[2:-1] not in caplog.text


def test_a_topic_in_which_nothing_is_readable_gets_a_new_secret(kafka: str, unique: str) -> None:
    cluster = made(kafka, unique)
    put(cluster, (key(1), b"?"), (key(2), encode_secret(OTHER)), (key(2), b"?"))
    found = establish_secret(cluster, "A", "orders")
    assert found != OTHER and found == establish_secret(cluster, "A", "orders")


def test_without_the_topic_the_remedy_is_stated(kafka: str, unique: str) -> None:
    with pytest.raises(SurroundingsError, match="does not exist") as refused:
        establish_secret(Cluster(kafka, Topics(unique)), "A", "orders")
    assert "hopline apply" in (refused.value.remedy or "")


@pytest.mark.parametrize("raw", [None, b"", b"?", encode_secret(WANTED)[:-1], bytes(42)])
def test_a_malformed_value_is_an_error_without_its_content(raw: bytes | None) -> None:
    with pytest.raises(MalformedError) as refused:
        decode_secret(raw)
    assert WANTED[:8].hex() not in str(refused.value)


def test_a_key_of_a_position_is_no_key_of_a_secret() -> None:
    record = Reading("secret:" + "0" * 32 + ":x", "t", uuid.UUID(int=1), 0, 7, 1)
    assert [secret_owner(k) for k in (reading_record(record)[0], b"", None)] == [None] * 3
    assert secret_owner(key(1, "a:b\nc")) == b"a:b\nc"
