"""A store returns the cluster state that was written into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.store import (
    AlarmKind,
    HeartbeatSample,
    LatencyWindow,
    Report,
    Row,
    Severity,
    Situation,
    Store,
    Which,
    event_sums,
    figures,
)
from streams.store import store as store_module
from streams.store.drops import find_drops
from streams.store.freshness import QUERIES
from streams.store.message_tables import ACKNOWLEDGED
from streams.store.tables import METADATA
from tests.store.build import EVENT, MALFORMED, MISSING, REPEAT, latency
from tests.store.build_state import DIALOG, GONE, HEARTBEAT, HELD, LAG, LINK, QUEUE, TROUBLE, dialog

NOW = 100_000_000
MINUTE = 60_000


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Return a store in each database that there may be."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/monitor.sqlite"
    else:
        url = request.getfixturevalue("postgres")
    with Store.open(url) as store:
        yield store
    if request.param == "postgresql":
        engine = sa.create_engine(url)
        METADATA.drop_all(engine)
        engine.dispose()


def _write(store: Store, *rows: Row, batch: int = 0) -> Situation:
    """Write a batch of a monitor that has read everything until an hour after NOW."""
    assert store.write("state", "run", batch, rows)
    store.reach(dict.fromkeys(QUERIES, NOW + 60 * MINUTE))
    return Situation(store)


def test_nothing_is_known_of_a_cluster_that_nobody_looked_at(store: Store) -> None:
    situation = Situation(store)
    assert situation.looked_at() is None
    assert situation.queues() == situation.lags() == situation.links(0, NOW) == ()
    [alarm] = situation.alarms(NOW)
    assert (alarm.kind, alarm.severity) == (AlarmKind.STALE, Severity.WARNING)
    assert alarm.what == "No monitor has read the topics yet, so nothing is known about messages."


def test_a_dialog_keeps_its_firsts_while_it_goes_on(store: Store) -> None:
    _write(store, replace(DIALOG, locked_at=None))
    later = replace(DIALOG, position=41, seen_at=13_000, locked_at=13_000, progress_at=13_000)
    _write(store, later, batch=1)
    again = replace(later, position=42, locked_at=14_000, progress_at=14_000, waiting_since=14_000)
    (found,) = _write(store, again, batch=2).dialog(DIALOG.conversation)
    assert (found.locked_at, found.progress_at, found.waiting_since) == (13_000, 12_000, 11_500)
    moved = replace(again, position=43, acknowledged=4, progress_at=15_000, waiting_since=15_000)
    (found,) = _write(store, moved, batch=3).dialog(DIALOG.conversation)
    assert (found.progress_at, found.waiting_since) == (15_000, 15_000)


def test_a_forgotten_side_has_ended_and_waits_for_nothing(store: Store) -> None:
    situation = _write(store, GONE, DIALOG, dialog(2))
    (found,) = situation.dialog(DIALOG.conversation)
    assert (found.state, found.ended_at, found.gone_at, found.depth) == ("CD", 20_000, 20_000, 0)
    assert found.sent == DIALOG.sent
    assert [d.conversation for d in situation.dialogs(Which.OPEN, NOW)] == [dialog(2).conversation]


def test_what_is_forgotten_and_was_never_known_stays_unknown(store: Store) -> None:
    assert _write(store, GONE).dialog(DIALOG.conversation) == ()


def test_dialogs_are_found_by_what_is_the_matter_with_them(store: Store) -> None:
    quiet = {"depth": 0, "waiting_since": None}
    hour = 61 * MINUTE
    made = {
        Which.STUCK: dialog(1, waiting_since=NOW - 2 * MINUTE),
        Which.UNLOCKED: dialog(2, locked_at=None, begun_at=NOW - 2 * MINUTE, **quiet),
        Which.LEAKED: dialog(3, state="DI", progress_at=NOW - 11 * MINUTE, **quiet),
        Which.FAILED: dialog(4, state="ER", error_at=NOW - 5, progress_at=NOW - 5, **quiet),
        Which.IDLE: dialog(5, progress_at=NOW - hour, **quiet),
    }
    fine = [
        dialog(6, waiting_since=NOW - 10, progress_at=NOW),
        dialog(7, progress_at=NOW - 5 * MINUTE, **quiet),
        dialog(8, state="CD", ended_at=NOW - hour, progress_at=NOW - hour, **quiet),
    ]
    made[Which.UNLOCKED] = replace(made[Which.UNLOCKED], progress_at=NOW)
    made[Which.STUCK] = replace(made[Which.STUCK], progress_at=NOW)
    situation = _write(store, *made.values(), *fine)
    for which, row in made.items():
        assert situation.dialogs(which, NOW) == (row,), which
    later = NOW + 11 * MINUTE
    assert situation.dialogs(Which.FAILED, later) == ()
    assert made[Which.FAILED] in situation.dialogs(Which.LEAKED, later)
    counts = situation.dialog_counts(NOW, 0, NOW)
    assert (counts.open, counts.waiting, counts.ended, counts.failed) == (7, 2, 1, 1)
    assert (counts.stuck, counts.unlocked, counts.leaked, counts.idle) == (1, 1, 1, 1)
    assert (counts.begun, counts.locked) == (8, 7)


def test_no_error_is_recent_before_all_dialogs_were_read_once(store: Store) -> None:
    old = dialog(1, state="ER", error_at=12_000, depth=0, waiting_since=None)
    store.write("state", "run", 0, [old])
    situation = Situation(store)
    assert situation.dialogs(Which.FAILED, NOW) == ()
    assert situation.dialogs(Which.OPEN, NOW) == (old,)
    assert AlarmKind.FAILED not in {alarm.kind for alarm in situation.alarms(NOW)}
    assert situation.dialog_counts(NOW, 0, NOW).open == 1


def test_acknowledgements_are_dated_once(store: Store) -> None:
    sender = replace(DIALOG, acknowledged=4)
    store.write("state", "run", 0, [MISSING, sender])
    store.note_acknowledged()
    store.write("state", "run", 1, [replace(sender, sent=6, position=41, progress_at=13_000)])
    store.note_acknowledged()
    (noted,) = store.ask(sa.select(ACKNOWLEDGED.c.at))
    assert noted["at"] == DIALOG.progress_at


def test_the_time_until_the_lock_is_that_of_initiators(store: Store) -> None:
    rows = [dialog(n, begun_at=1_000, locked_at=1_000 + 100 * n) for n in (1, 2, 3)]
    target = dialog(9, is_initiator=False, locked_at=900_000)
    took = _write(store, *rows, target).lock_time(0, NOW)
    assert (took.count, took.mean, took.max) == (3, 200.0, 300)
    assert Situation(store).lock_time(0, 1_000).count == 0


def test_a_sample_holds_as_long_as_somebody_looked(store: Store) -> None:
    then = replace(QUEUE, at=30_000, until=40_000, messages=0, dialogs=0, statuses=())
    situation = _write(store, QUEUE, then)
    assert situation.looked_at() == 40_000
    assert situation.queues() == (then,)
    assert situation.queues(15_000) == (QUEUE,)
    assert situation.queues(5_000) == ()
    assert situation.queues(40_000 + 30_001) == ()
    assert situation.queues_over_time(0, 30_000) == (QUEUE,)
    assert situation.queues_over_time(20_000, 50_000, "ServerA") == (QUEUE, then)
    assert situation.queues_over_time(20_000, 50_000, "ServerB") == ()


def test_a_link_is_what_passed_it_and_whether_its_end_lives(store: Store) -> None:
    legs = [
        latency([10, 20, 30], leg=2, leg_from="ServerA", leg_to="GatewayA"),
        latency([5], leg=3, leg_from="GatewayA", leg_to="ServerB/DatabaseB"),
        latency([1], leg=4, leg_from="ServerB", leg_to="ServerB/DatabaseB"),
    ]
    heartbeats = [
        HeartbeatSample("ServerB", 10_000, 20_000, True, 19_900),
        HeartbeatSample("ServerB", 25_000, 30_000, False, 19_900),
    ]
    held = replace(HELD, until=30_000)
    situation = _write(store, *legs, *heartbeats, replace(LINK, until=30_000), held)
    found = {(link.instance, link.other): link for link in situation.links(10_000, 30_000)}
    assert list(found) == [("GatewayA", "ServerB"), ("ServerA", "GatewayA"), ("ServerA", "ServerB")]
    first = found["ServerA", "GatewayA"]
    assert (first.count, first.rate, first.p50, first.max) == (3, 0.15, 20.0, 30.0)
    assert (first.routed, first.up, first.held_copies) == (False, None, 0)
    down = found["GatewayA", "ServerB"]
    assert (down.up, down.held_copies, down.held_bytes, down.seen_at) == (False, 3, 1_200, 19_900)
    assert down.up_share == pytest.approx(2 / 3)
    assert found["ServerA", "ServerB"].routed
    (before, *_) = situation.links(10_000, 20_000)
    assert before.up and before.up_share == 1.0


def test_drops_and_delays_are_grouped_by_reason_and_place(store: Store) -> None:
    rows = [
        replace(EVENT, event=141, error=9753, cause=None, count=3),
        replace(EVENT, window_start=20_000, window_end=30_000, event=141, error=9753, cause=None),
        replace(EVENT, event=140, error=11291, cause=None, count=1),
        replace(EVENT, event=124, error=8489, cause=None),
        EVENT,
    ]
    found = _write(store, *rows).drops(0, NOW)
    assert [(d.what, d.error, d.count, d.last_at) for d in found] == [
        ("delayed", 9753, 7, 30_000),
        ("dropped", 11291, 1, 20_000),
    ]
    assert found[0].to_service == "TargetService"
    assert "unreach" in found[0].text or found[0].text


def test_alarms_say_what_is_wrong_where_and_what_to_do(store: Store) -> None:
    at, until = NOW - MINUTE, NOW
    quiet = {"depth": 0, "waiting_since": None, "progress_at": NOW - 11 * MINUTE}
    rows: list[Row] = [
        REPEAT,
        replace(TROUBLE, event=160, error=11224, last_at=NOW - 5),
        replace(TROUBLE, event=160, error=11224, conversation="elsewhere", last_at=NOW - 5),
        replace(DIALOG, depth=0, waiting_since=None, progress_at=NOW),
        replace(HEARTBEAT, at=at, until=until, up=False, seen_at=at),
        replace(LINK, at=at, until=until),
        replace(HELD, instance="ServerA", at=at, until=until),
        dialog(1, waiting_since=NOW - 2 * MINUTE, status=9753, progress_at=NOW),
        dialog(2, state="DI", **quiet),
        replace(QUEUE, at=at, until=until, parked=2),
        dialog(3, parked=2, depth=0, waiting_since=None, progress_at=NOW),
        replace(LAG, at=at, until=until, records=500),
        replace(MALFORMED, window_start=NOW - 20_000, window_end=NOW - 10_000),
    ]
    situation = _write(store, *rows)
    store.add_late("state", "run", 0, 4, first_at=10_000, until=20_000, at=NOW)
    alarms = {alarm.kind: alarm for alarm in reversed(situation.alarms(NOW))}
    assert list(reversed(alarms)) == [
        AlarmKind.STUCK,
        AlarmKind.LINK_DOWN,
        AlarmKind.REPEAT,
        AlarmKind.SEVERAL_TARGETS,
        AlarmKind.LAG,
        AlarmKind.MALFORMED,
        AlarmKind.PARKED,
        AlarmKind.LEAKED,
        AlarmKind.LATE,
    ]
    assert alarms[AlarmKind.STUCK].severity is Severity.ERROR
    assert "9753" in alarms[AlarmKind.STUCK].what
    assert alarms[AlarmKind.STUCK].conversations == (dialog(1).conversation,)
    assert alarms[AlarmKind.LINK_DOWN].what == (
        "ServerB sends no heartbeat; ServerA sends to it. "
        "3 copies are buffered for instances that are down."
    )
    several = [a for a in situation.alarms(NOW) if a.kind is AlarmKind.SEVERAL_TARGETS]
    assert [(a.where, a.conversations) for a in several] == [
        ("ServerA", ("elsewhere",)),
        ("ServerA/DatabaseA", (TROUBLE.conversation,)),
    ]
    assert several[1].what == (
        "Copies for TargetService reach several targets: a second target answered 1 dialog."
    )
    assert all(alarm.remedy.endswith(".") for alarm in alarms.values())


def test_incomplete_figures_are_named_with_their_time_and_for_ten_minutes(store: Store) -> None:
    """They stay incomplete, but the figures of later times are complete."""
    situation = _write(store)
    store.write("deliveries", "run", 1, [])
    for batch, rows in enumerate((4, 3)):
        at, span = NOW - MINUTE + batch, {"first_at": 86_400_000 + 60_000 * batch}
        store.add_late("deliveries", "run", batch, rows, **span, until=86_500_000, at=at)
    (alarm,) = [a for a in situation.alarms(NOW) if a.kind is AlarmKind.LATE]
    assert (alarm.where, alarm.count, alarm.since) == ("deliveries", 7, NOW - MINUTE)
    assert alarm.what == (
        "7 rows arrived too late to be counted. Deliveries and latencies from 1970-01-02 00:00:00 "
        "to 1970-01-02 00:01:40 UTC may be incomplete."
    )
    later = situation.alarms(NOW + 10 * MINUTE)
    assert AlarmKind.LATE not in {alarm.kind for alarm in later}


@pytest.mark.parametrize(
    ("counts", "alarms"), [((500, 600, 600), 1), ((500, 499, 600), 0), ((0, 600, 700), 0)]
)
def test_a_lag_is_an_alarm_while_it_never_shrinks(
    store: Store, counts: tuple[int, ...], alarms: int
) -> None:
    begin = NOW - MINUTE
    rows = [
        replace(LAG, at=begin + 20_000 * n, until=begin + 20_000 * n + 19_000, records=count)
        for n, count in enumerate(counts)
    ]
    found = [a for a in _write(store, *rows).alarms(NOW) if a.kind is AlarmKind.LAG]
    assert len(found) == alarms


def test_old_figures_are_an_alarm(store: Store) -> None:
    situation = _write(store, replace(HEARTBEAT, up=True))
    store.reach(dict.fromkeys(QUERIES, HEARTBEAT.until - 1))
    (alarm,) = situation.alarms(NOW)
    assert (alarm.kind, alarm.since) == (AlarmKind.STALE, HEARTBEAT.until)


def test_messages_that_wait_for_a_queue_name_its_service_and_since_when(store: Store) -> None:
    """The number of messages changes, and the time since when they wait does not."""
    target = {"is_initiator": False, "depth": 0, "waiting_since": None, "progress_at": NOW}
    samples = [
        replace(QUEUE, at=NOW - minutes * MINUTE, until=NOW - minutes * MINUTE + 30_000, parked=n)
        for minutes, n in ((9, 5), (8, 0), (7, 1), (6, 3), (1, 4))
    ]
    rows = [
        dialog(1, service="First", parked=3, begun_at=1_000, **target),
        dialog(2, service="First", parked=1, begun_at=1_000, **target),
        dialog(3, service="Second", parked=2, begun_at=NOW - 2 * MINUTE, **target),
        dialog(4, service="Ended", parked=2, ended_at=NOW, **target),
    ]
    alarms = _write(store, *samples, *rows).alarms(NOW)
    found = [alarm for alarm in alarms if alarm.kind is AlarmKind.PARKED]
    assert [(alarm.where, alarm.count, alarm.since) for alarm in found] == [
        ("ServerA/DatabaseA", 4, NOW - 7 * MINUTE),
        ("ServerA/DatabaseA", 2, NOW - 2 * MINUTE),
    ]
    assert found[0].what == "4 messages arrived and wait for the queue of First, which is off."


def test_a_dialog_is_stuck_only_at_the_time_that_was_read(store: Store) -> None:
    """A monitor that lags by ten minutes knows nothing of what happened to a message since."""
    read = NOW - 10 * MINUTE
    unlocked = {"locked_at": None, "begun_at": read - 5_000, "depth": 0, "waiting_since": None}
    rows = [
        dialog(1, progress_at=read, waiting_since=read - 5_000),
        dialog(2, progress_at=read, **unlocked),
        dialog(3, state="DI", progress_at=read - 5_000, depth=0, waiting_since=None),
    ]
    situation = _write(store, *rows, replace(HEARTBEAT, until=NOW, up=True))
    store.reach({**dict.fromkeys(QUERIES, NOW), "dialogs": read})
    assert situation.dialogs(Which.STUCK, NOW) == ()
    counts = situation.dialog_counts(NOW, 0, NOW)
    assert (counts.waiting, counts.stuck, counts.unlocked, counts.leaked) == (1, 0, 0, 0)
    (alarm,) = situation.alarms(NOW)
    assert (alarm.kind, alarm.severity, alarm.where, alarm.since) == (
        AlarmKind.BEHIND, Severity.WARNING, "monitor", read,
    )  # fmt: skip
    assert alarm.what.startswith("The monitor is 600 s behind (dialogs).")
    stuck = dialog(4, progress_at=read, waiting_since=read - 2 * MINUTE)
    store.write("state", "run", 1, [stuck])
    assert situation.dialogs(Which.STUCK, NOW) == (stuck,)
    store.reach({"dialogs": NOW})
    assert {alarm.kind for alarm in situation.alarms(NOW)} == {
        AlarmKind.STUCK, AlarmKind.UNLOCKED, AlarmKind.LEAKED,
    }  # fmt: skip


def test_a_monitor_that_has_not_read_all_dialogs_once_judges_none(store: Store) -> None:
    assert store.write("state", "run", 0, [dialog(1), replace(HEARTBEAT, until=NOW, up=True)])
    store.reach({"deliveries": NOW})
    (alarm,) = Situation(store).alarms(NOW)
    assert (alarm.kind, alarm.since) == (AlarmKind.BEHIND, None)
    assert alarm.what.startswith(
        "The monitor has not yet read all records once (events, messages, dialogs, gaps and "
    )


def test_events_are_added_up_whatever_services_they_name(store: Store) -> None:
    named = [replace(EVENT, to_service=f"Service{n}", from_service=f"From{n}") for n in range(500)]
    later = replace(EVENT, window_start=20_000, window_end=30_000, route="ToServerB")
    _write(store, *named, later)
    nameless = replace(EVENT, instance="", database=None, to_service=None, route=None)
    start, end = later.window_start, later.window_end
    last = replace(nameless, window_start=start, window_end=end)
    counted = (replace(nameless, count=2_000), last)
    assert Report(store).copy_counts() == counted
    assert Report(store, (0, 20_000)).copy_counts() == counted[:1]
    assert Report(store).removed() == 2_004


def test_only_the_largest_windows_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another cluster may state another path, or another service, in each frame."""
    spans = [{"window_start": 10_000 * n, "window_end": 10_000 * n + 10_000} for n in range(3)]
    real = [latency([7] * 9, path="real", **span) for span in spans]
    made_up = [
        latency([7], path="real", from_service=f"S{n}", **s) for n in range(4) for s in spans
    ]
    _write(store, *made_up, *real, replace(real[0], leg=1, leg_from="", leg_to="A"))
    monkeypatch.setattr(figures, "MOST_WINDOWS", 6)
    found, left_out = Report(store).largest_windows()
    assert (found.count(real[0]), len(found), left_out) == (1, 6, 12 - 2)
    assert set(real) <= set(found)
    starts = [row.window_start for row in found]
    assert starts == sorted(starts)
    monkeypatch.setattr(figures, "MOST_WINDOWS", 11)
    found, left_out = Report(store, (0, 20_000)).largest_windows()
    assert (len(found), left_out) == (11, 0)


def test_only_the_largest_windows_are_rolled_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MOST_WINDOWS", 2)
    _write(store, *(latency([7] * n, path=f"P{n}") for n in range(1, 5)))
    seen: list[Sequence[LatencyWindow]] = []
    store.roll(0, 600_000, lambda rows: seen.append(rows) or ())  # type: ignore[func-returns-value]
    assert [row.path for row in seen[0]] == ["P4", "P3"]


def test_only_the_most_frequent_events_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer of events may name another instance and another route in each of them."""
    monkeypatch.setattr(event_sums, "MOST_TOTALS", 2)
    lost = replace(EVENT, error=11285, cause=None)
    made = [replace(lost, instance=f"A{n}", route=f"R{n}", count=9 - n) for n in range(4)]
    _write(store, *made, replace(made[3], window_start=20_000, window_end=30_000, count=5))
    harmless = [replace(lost, error=0, instance=f"B{n}", count=99) for n in range(3)]
    _write(store, *harmless, batch=1)
    totals, count = Report(store).losses()
    assert [(row.instance, row.route, row.count) for row in totals] == [
        ("A3", "R3", 11),
        ("A0", "R0", 9),
    ]
    assert count == 9 + 8 + 7 + 6 + 5
    assert (totals[0].window_start, totals[0].window_end) == (made[3].window_start, 30_000)
    assert len(Report(store).events()) == 2
    assert [drop.count for drop in find_drops(store, 0, 30_000)] == [11, 9]
