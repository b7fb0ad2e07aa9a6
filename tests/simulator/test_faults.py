"""What a fault loses, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pytest

from streams.protocol.sending import Sender
from streams.simulator import SECOND, Simulation, read_scenario
from streams.simulator.endpoint import EndpointProcess
from streams.simulator.forwarder import ForwarderProcess
from streams.simulator.processes import Applying
from tests.simulator.build import bodies, errors, path_of, run, simulation

T = TypeVar("T")
QUEUE = "ServerB/DatabaseB/TargetQueue"


def scenario(*steps: str, **settings: str) -> str:
    """Return a scenario's text: one dialog, and these steps."""
    head = "".join(f"{key}: {value}\n" for key, value in settings.items())
    listed = "".join(f"  - {{{step}}}\n" for step in steps)
    return (
        f"{head}steps:\n"
        "  - at: 0s\n"
        "    begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}\n"
        f"{listed}"
    )


def peek(run: Simulation, at: float, look: Callable[[], T]) -> list[T]:
    """Return what ``look`` will have seen at a time; look into it after the run."""
    seen: list[T] = []
    run.clock.at(int(at * SECOND), lambda: seen.append(look()))
    return seen


# --- the endpoint worker -------------------------------------------------------------------------


def test_a_crash_loses_the_last_copy_and_nothing_else() -> None:
    text = scenario(
        "at: 0s, send: {dialog: d, body: m, count: 70}",
        "at: 0s, fault: {link: [ServerA, ServerB], state: down}",
        "at: 3s, fault: {endpoint: ServerA, state: crashed}",
        "at: 3s, fault: {endpoint: ServerA, state: up}",
        "at: 20s, fault: {link: [ServerA, ServerB], state: up}",
        until="200s",
    )
    standing = simulation("two_brokers", text)
    instance = standing.instances["ServerA"]

    def dialog() -> object:
        assert isinstance(instance.endpoint, EndpointProcess)
        (found,) = instance.endpoint.node.dialogs.values()
        return found.copy()

    before, after = peek(standing, 2.9, dialog), peek(standing, 3.5, dialog)
    out_end = peek(standing, 2.95, lambda: len(instance.topics.out))
    result = standing.run()
    (old,), (new,) = before, after
    assert old.chunks.keys() == {0, 1}  # type: ignore[attr-defined]
    assert new.last_copy == out_end[0] - 1  # type: ignore[attr-defined]
    new.last_copy = old.last_copy  # type: ignore[attr-defined]
    assert new.in_flight == -1  # type: ignore[attr-defined]
    new.in_flight = old.in_flight  # type: ignore[attr-defined]
    assert new == old
    assert bodies(result, QUEUE) == [f"m {n}" for n in range(70)]


def test_timers_are_armed_again_after_a_crash() -> None:
    text = scenario(
        "at: 0s, fault: {link: [ServerA, ServerB], state: down}",
        "at: 1s, send: {dialog: d, body: m}",
        "at: 2s, fault: {link: [ServerA, ServerB], state: up}",
        "at: 2s, fault: {endpoint: ServerA, state: crashed}",
        "at: 30s, fault: {endpoint: ServerA, state: up}",
    )
    (row,) = run("two_brokers", text).queues[QUEUE]
    assert 30 < row["at"] < 32


def test_an_aborted_transaction_is_read_again() -> None:
    text = scenario(
        "at: 0s, fault: {endpoint: ServerB, aborts: 3}", "at: 0s, send: {dialog: d, body: m}"
    )
    standing = simulation("two_brokers", text)
    endpoint = peek(standing, 60, lambda: standing.instances["ServerB"].endpoint)
    result = standing.run()
    assert bodies(result, QUEUE) == ["m"]
    assert result.summary["duplicates"] == 0
    assert endpoint[0] is not None and endpoint[0].aborts == 0


def test_the_timers_of_an_aborted_transaction_are_armed_again() -> None:
    text = scenario(
        "at: 0s, fault: {link: [ServerA, ServerB], state: down}",
        "at: 1s, send: {dialog: d, body: m}",
        "at: 2s, fault: {link: [ServerA, ServerB], state: up}",
        "at: 3s, fault: {endpoint: ServerA, aborts: 5}",
    )
    (row,) = run("two_brokers", text).queues[QUEUE]
    assert 5 < row["at"] < 5.1


def test_the_backlog_comes_before_the_timers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An acknowledgement that waits at a restart must not be answered with a retry."""
    retries: list[int] = []
    retry = Sender.retry

    def counted(sender: Sender) -> None:
        retries.append(sender.now)
        retry(sender)

    monkeypatch.setattr(Sender, "retry", counted)
    text = scenario(
        "at: 1s, send: {dialog: d, body: m}",
        "at: 1010ms, fault: {endpoint: ServerA, state: crashed}",
        "at: 60s, fault: {endpoint: ServerA, state: up}",
        network="{latency: 100ms}",
    )
    for seed in range(5):
        result = run("two_brokers", text, seed)
        assert bodies(result, QUEUE) == ["m"]
        assert not result.transmission_queue
    assert not retries


# --- the forwarder -------------------------------------------------------------------------------


def test_ex_48_what_a_forwarder_holds_dies_with_it() -> None:
    standing = Simulation(*read_scenario(path_of("forwarding_chain", "forwarder_crash")))

    def held() -> int:
        forwarder = standing.instances["SQL2"].forwarder
        return len(forwarder.holding) if isinstance(forwarder, ForwarderProcess) else -1

    seen = [peek(standing, at, held) for at in (11.9, 12.5, 13.5, 29.0, 31.0)]
    assert standing.run().good
    assert seen[:3] == [[12], [-1], [0]]
    assert seen[3][0] > 0
    assert seen[4] == [0]


def test_a_forwarder_hands_on_twice_what_it_has_not_committed() -> None:
    text = scenario(
        "at: 1s, send: {dialog: d, body: m}",
        *(
            f"at: {1010 + 20 * n}ms, fault: {{forwarder: ServerA, state: {state}}}"
            for n, state in enumerate(("crashed", "up"))
        ),
    )
    results = [run("two_brokers", text, seed) for seed in range(20)]
    assert all(bodies(result, QUEUE) == ["m"] for result in results)
    assert any(result.summary["duplicates"] for result in results)


@pytest.mark.parametrize("instance", ["ServerA", "GatewayA", "ServerB"])
def test_6_killing_a_forwarder_changes_nothing_but_time(instance: str) -> None:
    """Invariant 6 over whole runs: at whatever instant, the same messages in the same order."""

    def deliveries(*faults: str) -> dict[str, list[tuple[str, int, str]]]:
        text = scenario(
            "at: 1s, send: {dialog: d, body: m, count: 5}",
            *faults,
            "at: 4s, end: {dialog: d}",
            until="300s",
            applications=f"[{{service: {QUEUE.replace('Queue', 'Service')}, does: [reply, end]}}]",
        )
        result = run("high_availability", text)
        assert result.violation is None
        return {
            queue: [(row["service"], row["sequence"], row["body"]) for row in rows]
            for queue, rows in result.queues.items()
        }

    undisturbed = deliveries()
    assert sum(map(len, undisturbed.values())) == 11
    for instant in range(0, 60, 3):
        crash = f"at: {1000 + instant}ms, fault: {{forwarder: {instance}, state: crashed}}"
        start = f"at: {1500 + instant}ms, fault: {{forwarder: {instance}, state: up}}"
        assert deliveries(crash, start) == undisturbed


def test_ex_46_a_held_copy_dies_with_its_time_to_live() -> None:
    text = """
        until: 70s
        steps:
          - {at: 0s, fault: {instance: SQL3, state: crashed}}
          - at: 8s
            begin:
              dialog: d
              from: SQL1/DatabaseA///sqltalk/sendTweetService
              to: //sqltalk/rcvTweetService
          - {at: 8s, send: {dialog: d, body: m}}
    """
    result = run("forwarding_chain", text)
    gone = [e for e in result.events if e["error"] == 11290]
    assert [e["instance"] for e in gone] == ["SQL2"]
    assert gone[0]["at"] == pytest.approx(68, abs=0.1)
    # Every retry was the same copy to the forwarder that held one already.
    assert errors(result, "SQL2").count(11288) == 3
    assert result.summary["waiting"] == 1


def test_ex_47_a_forwarder_holds_no_more_than_its_memory() -> None:
    body = "x" * 20_474  # and " 17" behind it: 20 KiB at most
    text = f"""
        until: 300s
        limits: {{window: 200}}
        memory: {{SQL2: 1048576}}
        steps:
          - {{at: 0s, fault: {{instance: SQL3, state: crashed}}}}
          - at: 8s
            begin:
              dialog: d
              from: SQL1/DatabaseA///sqltalk/sendTweetService
              to: //sqltalk/rcvTweetService
          - {{at: 8s, send: {{dialog: d, body: {body}, count: 100}}}}
          - {{at: 20s, fault: {{instance: SQL3, state: up}}}}
    """
    result = run("forwarding_chain", text)
    assert result.summary["dropped"]["11289"] == 49
    assert result.summary["delivered"] == 100
    assert result.good


def test_copies_count_with_the_size_that_workers_count() -> None:
    """A body counts as at least 256 bytes, so 1,024 bytes are enough for four small copies."""
    text = """
        until: 300s
        limits: {window: 200}
        memory: {SQL2: 1024}
        steps:
          - {at: 0s, fault: {instance: SQL3, state: crashed}}
          - at: 8s
            begin:
              dialog: d
              from: SQL1/DatabaseA///sqltalk/sendTweetService
              to: //sqltalk/rcvTweetService
          - {at: 8s, send: {dialog: d, body: tweet, count: 10}}
          - {at: 20s, fault: {instance: SQL3, state: up}}
    """
    result = run("forwarding_chain", text)
    assert result.summary["dropped"]["11289"] == 6
    assert result.summary["delivered"] == 10
    assert result.good


# --- the network ---------------------------------------------------------------------------------


def test_a_link_that_is_down_drops_everything_silently() -> None:
    text = scenario(
        "at: 1s, send: {dialog: d, body: early}",
        "at: 1020ms, fault: {link: [ServerA, ServerB], state: down}",
        "at: 2s, send: {dialog: d, body: late}",
        until="4s",
        network="{latency: 50ms}",
    )
    standing = simulation("two_brokers", text)
    result = standing.run()
    assert not result.queues
    assert not errors(result)
    assert result.summary["waiting"] == 2
    copies = standing.network.passages
    assert [(copy.sender, copy.receiver, copy.arrived) for copy in copies] == [
        ("ServerA", "ServerB", None),
        ("ServerA", "ServerB", None),
    ]
    assert copies[0].sent < 1_020_000 < copies[1].sent


def test_a_hop_is_unreachable_five_seconds_after_its_last_heartbeat() -> None:
    text = scenario(
        "at: 10s, fault: {link: [ServerA, ServerB], state: down}",
        "at: 10s, send: {dialog: d, body: m}",
        until="60s",
    )
    times = [e["at"] for e in run("two_brokers", text).events if e["error"] == 9753]
    # Retries at 14 s and 22 s: at 14 s the last heartbeat is four seconds old.
    assert round(times[0]) == 22


def test_a_held_copy_leaves_when_its_hop_is_there_again() -> None:
    text = """
        steps:
          - {at: 0s, fault: {link: [SQL2, SQL3], state: down}}
          - at: 8s
            begin:
              dialog: d
              from: SQL1/DatabaseA///sqltalk/sendTweetService
              to: //sqltalk/rcvTweetService
          - {at: 8s, send: {dialog: d, body: m}}
          - {at: 17500ms, fault: {link: [SQL2, SQL3], state: up}}
    """
    result = run("forwarding_chain", text)
    assert 17.5 < result.queues["SQL3/DatabaseB/rcvTweetQueue"][0]["at"] < 17.6


def test_skewed_clocks_do_not_lose_messages() -> None:
    text = scenario(
        "at: 0s, send: {dialog: d, body: m, count: 5}",
        "at: 5s, fault: {instance: ServerB, skew: -10s}",
        "at: 6s, send: {dialog: d, body: n, count: 5}",
        skew="{ServerA: 3s}",
    )
    result = run("two_brokers", text)
    assert result.summary["delivered"] == 10
    enqueued = [e for e in result.events if e["event"] == 124]
    assert all(0 <= e["at"] < 60 for e in enqueued)


def test_without_reordering_copies_keep_their_order() -> None:
    text = scenario(
        "at: 0s, send: {dialog: d, body: m, count: 30}", network="{latency: [1ms, 500ms]}"
    )
    standing = simulation("two_brokers", text)
    arrived = peek(standing, 100, lambda: list(standing.instances["ServerB"].topics.txq))
    standing.run()
    values = [entry.value for entry in arrived[0] if entry.message]
    assert len(values) == 30
    assert all(int(a[2:]) < int(b[2:]) for a, b in pairwise(values))


# --- the catalog ---------------------------------------------------------------------------------


def test_ex_51_a_dropped_route_delays_until_there_is_one_again() -> None:
    text = scenario(
        "at: 0s, send: {dialog: d, body: first}",
        "at: 5s, sql: {at: ServerA/DatabaseA, text: DROP ROUTE TargetRoute}",
        "at: 6s, send: {dialog: d, body: second}",
        'at: 30s, sql: {at: ServerA/DatabaseA, text: "'
        "CREATE ROUTE TargetRoute WITH SERVICE_NAME = 'TargetService', ADDRESS = 'tcp://ServerB'"
        '"}',
    )
    result = run("two_brokers", text)
    assert bodies(result, QUEUE) == ["first", "second"]
    assert result.queues[QUEUE][1]["at"] > 30
    assert 9796 in errors(result, "ServerA")


def test_ex_54_delivery_off_in_the_sending_database() -> None:
    text = scenario(
        "at: 1s, sql: {at: ServerA/DatabaseA, text: ALTER DATABASE DatabaseA SET DISABLE_BROKER}",
        "at: 3s, send: {dialog: d, body: m}",
        "at: 60s, sql: {at: ServerA/DatabaseA, text: ALTER DATABASE DatabaseA SET ENABLE_BROKER}",
    )
    result = run("two_brokers", text)
    assert 9791 in errors(result, "ServerA")
    (row,) = result.queues[QUEUE]
    assert row["at"] > 60


def test_t_sql_that_the_engine_would_refuse_is_noted() -> None:
    text = scenario("at: 1s, sql: {at: ServerA/DatabaseA, text: DROP ROUTE Missing; SELECT 1}")
    refused, skipped = run("two_brokers", text).notes
    assert refused.startswith("1 s: ServerA/DatabaseA: there is no route Missing")
    assert skipped == "1 s: SELECT: this statement changes nothing here"


def test_ex_61_a_contract_that_the_target_does_not_accept() -> None:
    text = """
        steps:
          - at: 0s
            sql: {at: ServerB/DatabaseB, text: CREATE SERVICE Strict ON QUEUE TargetQueue}
          - at: 0s
            sql:
              at: ServerA/DatabaseA
              text: CREATE ROUTE R WITH SERVICE_NAME = 'Strict', ADDRESS = 'tcp://ServerB:4022'
          - at: 2s
            begin: {dialog: e, from: ServerA/DatabaseA/InitiatorService, to: Strict}
          - {at: 2s, send: {dialog: e, body: m}}
    """
    result = run("two_brokers", text)
    (error,) = result.queues["ServerA/DatabaseA/InitiatorQueue"]
    assert "<Code>-8408</Code>" in error["body"]
    assert result.summary["discarded"] == 1
    assert result.good


def test_an_endpoint_worker_that_never_runs_again_is_no_lost_message() -> None:
    text = scenario(
        "at: 0s, send: {dialog: d, body: m, count: 3}",
        "at: 2s, fault: {instance: ServerB, state: crashed}",
        "at: 3s, send: {dialog: d, body: n, count: 3}",
    )
    summary = run("two_brokers", text).summary
    assert (summary["delivered"], summary["waiting"], summary["lost"]) == (3, 3, 0)


def test_7_state_does_not_grow_with_the_backlog() -> None:
    text = scenario(
        "at: 0s, fault: {link: [ServerA, ServerB], state: down}",
        "at: 0s, send: {dialog: d, body: m, count: 2000}",
        "at: 30s, fault: {link: [ServerA, ServerB], state: up}",
        until="300s",
    )
    standing = simulation("two_brokers", text)
    state = standing.instances["ServerA"].state

    def sizes() -> tuple[int, int]:
        (record,), (chunks,) = state.dialogs.values(), state.chunks.values()
        return len(record), max(map(len, chunks.values()))

    seen = peek(standing, 29, sizes)
    result = standing.run()
    assert result.good
    assert result.summary["delivered"] == 2000
    assert max(seen[0]) < 1_200  # a chunk has 64 positions
    assert not any(state.chunks.values())


def test_a_process_that_starts_twice_is_one() -> None:
    text = scenario("at: 1s, fault: {instance: ServerA, state: up}")
    standing = simulation("two_brokers", text)
    process: list[Applying | None] = peek(
        standing, 0.5, lambda: standing.instances["ServerA"].endpoint
    )
    standing.run()
    assert standing.instances["ServerA"].endpoint is process[0]


# --- a replica of a forwarder that stalls --------------------------------------------------------


def test_what_a_stalled_forwarder_writes_later_opens_no_dialog_again() -> None:
    """Each copy is written twice, up to five times to live apart; keys last one and a half."""
    text = scenario(
        "at: 0s, send: {dialog: d, body: m, count: 20}",
        "at: 2s, end: {dialog: d, side: initiator}",
        "at: 4s, end: {dialog: d, side: target}",
        stalls="1.0",
        limits="{time_to_live: 10s}",
        until="120s",
    )
    result = run("two_brokers", text)
    assert len(result.queues[QUEUE]) == 21
    assert result.summary["delivered_twice"] == 0
    assert set(errors(result)) == {11218, 11291}
