"""A worker can be stopped at any time, also while Kafka takes nothing from it."""

from __future__ import annotations

import threading
import uuid
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Consumer, deploy
from streams.protocol import Command, CommandKind
from streams.wire.records import command_record
from streams.workers import Plan, Process
from streams.workers.control.remote_watch import RemoteWatch
from streams.workers.http import serving
from streams.workers.process import trimming
from streams.workers.pulse import Pulses, beat, rest
from tests.health import get
from tests.running import DEADLINE, WorkerThread, eventually
from tests.workers.rig import Gate, Hook, Rig, pause


@pytest.mark.long
@pytest.mark.parametrize("role", ["endpoint", "forwarder"])
def test_a_worker_without_room_for_its_records_can_be_stopped(two: Rig, role: str) -> None:
    """Nothing is committed then; what it has read is read again by the next one."""
    gate = Gate()

    def produce(_: Any, *args: Any, **record: Any) -> None:
        gate.hold()
        raise BufferError("Local: Queue full")

    worker = getattr(two, role)("A", hooks={"produce": produce})
    unknown = Command(uuid.uuid4(), uuid.uuid4(), CommandKind.SEND, "DatabaseA")
    two.produce(two.topics.cmd("A"), *command_record(unknown))  # refused: an event
    two.produce(two.topics.out("A"), "rubbish", b"")  # an event, too
    gate.wait()
    worker._end.set()
    gate.open()
    failure = worker.ended()
    two.running.clear()
    assert isinstance(failure, SurroundingsError)
    assert failure.message == "A was stopped while Kafka accepted no records."
    topic = two.topics.cmd("A") if role == "endpoint" else two.topics.out("A")
    assert two.committed(role, topic) < 0


def test_a_process_that_cannot_trim_any_more_ends(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on, and the topics would grow without bound: whoever keeps it starts it again."""

    def fail(_: Any) -> None:
        raise ValueError("broken")

    deploy(two.cluster, two.topology)  # with the schemas, which a whole process demands
    monkeypatch.setattr(trimming, "every", lambda _: 0.01)
    monkeypatch.setattr(trimming.Trimming, "once", fail)
    process = Process(two.cluster, Plan(("forwarder",), ("A",), keep=1.0), timeout=DEADLINE)
    with pytest.raises(SurroundingsError, match=r"^Trimming: broken"):
        process.run()


@pytest.mark.long
@pytest.mark.parametrize("cause", ["control", "stop", "nothing"])
def test_a_call_that_never_comes_back_does_not_keep_a_process(
    two: Rig, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    """It did, while its log said that control had failed: nobody started it again."""
    deploy(two.cluster, two.topology)
    gate, never = Gate(), threading.Event()

    def poll(method: Any, *given: Any) -> Any:
        if threading.current_thread().name.startswith("ForwarderWorker"):
            gate.hold()
            never.wait()
        return method(*given)

    cluster = two._hooked({"poll": poll})
    plan = Plan(("forwarder",), ("A",))
    hung = 0.0 if cause == "nothing" else DEADLINE
    process = Process(cluster, plan, timeout=DEADLINE, leave_within=0.0, hung_after=hung)
    failed: list[BaseException] = []

    def run() -> None:
        with suppress(SurroundingsError):
            process.run()
        failed.extend(filter(None, [process.failure]))

    runner = threading.Thread(target=run)
    runner.start()
    gate.wait()
    if cause == "stop":
        process.stop()
    elif cause == "control":
        monkeypatch.setattr(process._control.thread, "error", SurroundingsError("Kafka is gone."))
    gate.open()
    runner.join(DEADLINE)
    never.set()
    assert not runner.is_alive()
    assert process.left_behind == ("ForwarderWorker A",)
    said = {"stop": "has not ended", "control": "Kafka is gone", "nothing": "has made no progress"}
    assert said[cause] in str(failed[0])


class Hang(NamedTuple):
    """A consumer's call that does not return in threads with these names, in a process of ``role``.

    Before that, the call ``fails`` raises an error, if one is named; else, the process is stopped
    if it ``stops``.
    """

    threads: tuple[str, ...]
    call: str
    failure: str
    left_behind: str
    role: str = "forwarder"
    fails: str = ""
    stops: bool = False

    def hook(self, name: str, begun: threading.Event, never: threading.Event) -> Hook:
        """Return what stands between the process and this method of its consumers."""

        def call(method: Any, *given: Any) -> Any:
            here = threading.current_thread().name.startswith(self.threads)
            if begun.is_set() and here and isinstance(method.__self__, Consumer):
                if name == self.fails:
                    raise SurroundingsError("Kafka is gone.")
                if name == self.call:
                    never.wait()
            return method(*given)

        return call


HANGS = {
    "control-polls": Hang(("control",), "poll", "control has made no progress", "control"),
    "control-closes": Hang(("control",), "close", "Kafka is gone", "control", fails="poll"),
    "a-forwarder-closes": Hang(
        ("ForwarderWorker A",), "close", "Kafka is gone", "ForwarderWorker A", fails="poll"
    ),
    "an-endpoint-worker-closes": Hang(
        ("EndpointWorker A",),
        "close",
        "Kafka is gone",
        "EndpointWorker A",
        role="endpoint",
        fails="poll",
    ),
    "the-main-thread-closes": Hang(
        ("workers", "in time"), "close", "control has not ended", "control", stops=True
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_a_consumer_that_hangs_ends_its_process_with_the_first_failure(
    two: Rig, hang: Hang
) -> None:
    """The process is not ready from then on, and its end does not wait for the consumer."""
    deploy(two.cluster, two.topology)
    begun, never = threading.Event(), threading.Event()
    hooks = {name: hang.hook(name, begun, never) for name in ("poll", "close")}
    leave_within = DEADLINE if hang.left_behind == "control" else 1.0
    process = Process(
        two._hooked(hooks),
        Plan((hang.role,), ("A",), slot="1"),
        timeout=DEADLINE,
        leave_within=leave_within,
        hung_after=4.0,
    )
    with serving(process, "0", 5.0) as port:
        workers = WorkerThread(process)
        try:
            eventually(lambda: get(port, "/readyz") == (200, "ok\n") or pause(), "it is ready")
            begun.set()
            if hang.stops:
                process.stop()
            eventually(lambda: get(port, "/readyz")[0] == 503 or pause(), "it is not ready")
            eventually(lambda: not workers.alive or pause(), "it ends")
            assert get(port, "/readyz")[0] == 503
        finally:
            process.stop()
            never.set()
    assert process.left_behind == (hang.left_behind,)
    assert hang.failure in str(process.failure)
    assert workers.failure is process.failure


@pytest.mark.long
@pytest.mark.parametrize("helper", ["Trimming", "remote-there"])
def test_a_helper_thread_that_hangs_ends_its_process(
    two: Rig, monkeypatch: pytest.MonkeyPatch, helper: str
) -> None:
    """Otherwise topics would grow without bound, or messages for a cluster would wait forever."""
    deploy(two.cluster, two.topology)
    begun, never = threading.Event(), threading.Event()
    if helper == "Trimming":
        monkeypatch.setattr(trimming, "every", lambda _: 0.01)
        monkeypatch.setattr(trimming.Trimming, "once", lambda _: begun.is_set() and never.wait())
    process = Process(
        two.cluster, Plan(("forwarder",), ("A",), keep=1.0), timeout=DEADLINE, hung_after=4.0
    )
    workers = WorkerThread(process)
    try:
        eventually(lambda: any(w.assigned for w in process.workers) or pause(), "it is ready")
        if helper != "Trimming":
            assert process._control is not None
            hang = Hang((helper,), "poll", "", "")
            there = two._hooked({"poll": hang.hook("poll", begun, never)})
            process._control.remote._watches["there"] = RemoteWatch("there", there, {"C"})
        begun.set()
        eventually(lambda: not workers.alive or pause(), "it ends")
    finally:
        process.stop()
        never.set()
    assert str(workers.failure).startswith(f"{helper} has made no progress for 4 s.")
    assert process.left_behind == (helper,)


def test_who_gets_on_slowly_does_not_hang() -> None:
    """Only looks count: whoever was stopped together with its process is not late."""
    said: list[threading.Event] = [threading.Event() for _ in range(3)]
    heard = [threading.Event() for _ in said]

    def work() -> None:
        for each, done in zip(said, heard, strict=True):
            each.wait()
            beat()
            done.set()
        rest()
        rested.set()
        never.wait()

    never, rested = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, daemon=True)
    pulses = Pulses(lambda: [thread], hung_after=1.0)
    thread.start()
    assert pulses.hung(5.0) is None  # it has not begun
    for each, done in zip(said[:2], heard, strict=False):
        each.set()
        done.wait()
        assert pulses.hung(5.0) is None
    assert pulses.hung(0.6) is None
    assert pulses.hung(0.6) is thread
    said[2].set()
    rested.wait()
    assert pulses.hung(5.0) is None  # it waits for something that may take any time
    never.set()
