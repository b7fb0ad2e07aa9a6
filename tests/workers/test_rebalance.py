"""Partitions of a forwarder are revoked before it has committed their offsets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streams.kafka import KafkaError, KafkaException
from streams.protocol import Limits
from streams.resources import topologies_dir
from streams.topology import load
from tests.running import DEADLINE
from tests.workers.rig import Hook, Rig, eventually, pair, pause, rig
from tests.workers.test_partitions import COUNT, one_of

PATIENT = Limits(retries=(60_000,))
_SOON = 60.0
"""Seconds until a commit has arrived; if it waits for the callback's end, it never does."""


class Revocation:
    """Hooks of a forwarder that cannot commit before its partitions are revoked.

    ``check`` is called at the end of the callback. ``ended``: the callback has returned.
    """

    def __init__(self, check: Callable[[], object] = lambda: None) -> None:
        self._check, self._begun, self.ended = check, threading.Event(), threading.Event()

    @property
    def hooks(self) -> dict[str, Hook]:
        """Return the hooks."""
        return {"subscribe": self._subscribe, "commit": self._commit}

    def _subscribe(self, method: Hook, topics: list[str], **callbacks: Any) -> None:
        revoke = callbacks.pop("on_revoke")

        def on_revoke(*args: Any) -> None:
            self._begun.set()
            revoke(*args)
            self._check()
            self.ended.set()

        method(topics, on_revoke=on_revoke, **callbacks)

    def _commit(self, method: Hook, **asked: Any) -> Any:
        if not self._begun.is_set():
            raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))
        return method(**asked)


def send(three: Rig) -> None:
    """Let A send a message in each partition; no endpoint worker remains that could retry."""
    endpoint = three.endpoint(limits=PATIENT)
    with three.client() as client:
        for number in range(COUNT):
            dialog = client.begin(
                *("A", "DatabaseA", "InitiatorService", "TargetService"),
                conversation=one_of(number),
            )
            client.send(dialog, b"body", wait=True)
    endpoint.stop()


def test_copies_before_a_rebalance_are_not_forwarded_again(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Copies of a dialog are forwarded in order, so later copies show that none was repeated."""
    revocation = Revocation()
    with rig(kafka, unique, pair(tmp_path, partitions=COUNT)) as three:
        out, txq = three.topics.out("A"), three.topics.txq("B")
        send(three)
        control = three.control("A", "B")
        three.forwarder(control=control, hooks=revocation.hooks)
        three.until(txq, COUNT)
        second = three.forwarder(control=control)
        eventually(lambda: second.worker.assigned or pause(), "both have partitions")
        assert revocation.ended.is_set()
        for message in three.records(out):
            three.copy(message, out)
        three.until(txq, 2 * COUNT)
        ends = {m.partition(): m.offset() for m in three.records(out)}

        def is_done() -> bool:
            three.check()
            now = {n: three.committed("forwarder", out, partition=n) for n in ends}
            return all(now[n] > (end or 0) for n, end in ends.items())

        eventually(lambda: is_done() or pause(), "everything is committed")
        assert len(three.records(txq)) == 2 * COUNT


def test_offsets_are_committed_before_the_partitions_are_revoked(two: Rig) -> None:
    """A commit of another thread would wait until then, and Kafka would reject it."""
    out = two.topics.out("A")

    def is_committed() -> bool:
        return two.committed("forwarder", out) > 0 or pause()

    revocation = Revocation(lambda: eventually(is_committed, "they are committed", _SOON))
    two.produce(out, "rubbish", b"")
    two.forwarder(hooks=revocation.hooks)
    two.until(two.topics.event, 1)
    two.forwarder()
    eventually(lambda: two.check() or revocation.ended.is_set() or pause(), "they are revoked")


def test_offsets_of_a_pair_are_committed_when_the_callback_returns(kafka: str, unique: str) -> None:
    """They are committed in another group, where a commit has no order with the rebalance."""
    committed: list[int] = []
    topology = load(topologies_dir() / "mirrored", time.time())
    with rig(kafka, unique, topology) as partners:
        out = partners.topics.out("Orders")
        revocation = Revocation(
            lambda: committed.append(partners.committed("forwarder", out, "Orders"))
        )
        commit = revocation.hooks["commit"]

        def slowly(method: Hook, **asked: Any) -> Any:
            """Let a commit that is not waited for take effect at any later time."""
            return None if asked["asynchronous"] else commit(method, **asked)

        partners.produce(out, "rubbish", b"")
        partners.forwarder("Partner1", pair="Orders", hooks={**revocation.hooks, "commit": slowly})
        partners.until(partners.topics.event, 1)
        partners.forwarder("Partner1", pair="Orders")
        assert revocation.ended.wait(DEADLINE)
    assert committed[0] > 0
