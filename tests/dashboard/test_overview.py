"""The overview's figures, made of windows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import Markup

from streams.dashboard.figures import Window
from streams.dashboard.model.buckets import Buckets, buckets_of
from streams.dashboard.model.charts import COUNT_TEXT, bars, lines
from streams.dashboard.model.overview import (
    Found,
    Loss,
    Overview,
    depths_of,
    overview_of,
    read_overview,
)
from streams.dashboard.model.undelivered import Refusal
from streams.dashboard.model.waiting import Waiting
from streams.dashboard.template import part
from streams.store import (
    AlarmKind,
    Cause,
    DialogSide,
    EventWindow,
    LatencyWindow,
    MissingMessage,
    QueueSample,
    Situation,
    Store,
    Verdict,
)
from streams.store.freshness import ARRIVALS, QUERIES, Freshness
from tests.dashboard.rows import ROWS, SINCE, UNTIL, window
from tests.store.build import MISSING
from tests.store.build_state import dialog

LATENCIES = [row for row in ROWS if isinstance(row, LatencyWindow)]
EVENTS = [row for row in ROWS if isinstance(row, EventWindow)]
COPIES = [row for row in EVENTS if row.cause]
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
READ = Freshness(UNTIL + HOUR, dict.fromkeys(QUERIES, UNTIL), UNTIL)
"""All queries and samples have read the range."""


def found(**changes: object) -> Found:
    usual = {"fresh": READ, "latencies": LATENCIES, "copies": COPIES, "losses": EVENTS}
    return Found(Window(SINCE, UNTIL, UNTIL + HOUR), **{**usual, **changes})  # type: ignore[arg-type]


def test_everything_that_was_delivered_is_counted_once() -> None:
    overview = overview_of(found())
    assert overview.delivered.count == 2_000
    assert (overview.delivered.p50, overview.delivered.p99) == (12.0, 80.0)
    assert overview.delivered.max == 80
    assert overview.rate == pytest.approx(2_000 / 120)
    assert overview.rates == (10.0,) * 4 + (20.0,) * 8
    assert sum(each.count for each in overview.quantiles) == 2_000


def test_another_service_in_every_event_makes_no_larger_overview(tmp_path: Path) -> None:
    (event,) = [row for row in EVENTS if row.error == 11285]
    named = [replace(event, to_service=f"Service{n}", count=1) for n in range(3_000)]
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("events", "run", 0, named)
        seen = read_overview(store, Window(SINCE, UNTIL, UNTIL))
    assert [row.count for row in seen.losses] == [3_000]
    assert [(loss.route, loss.count) for loss in overview_of(seen).losses] == [("ToServerB", 3_000)]


def test_paths_and_hops_come_the_busiest_first() -> None:
    overview = overview_of(found())
    assert [(latency.places[1], latency.quantiles.count) for latency in overview.paths] == [
        ("GatewayA", 1_200),
        ("GatewayB", 800),
    ]
    assert overview.hops[0].places == ("", "ServerA")
    assert overview.hops[0].quantiles.count == 2_000
    assert len(overview.hops) == 5


def test_duplicates_are_no_drops() -> None:
    overview = overview_of(found())
    seven = (Cause.RETRY, Cause.REDELIVERY, Cause.SEVERAL_TARGETS)
    assert overview.duplicates == {cause: 7 if cause in seven else 0 for cause in Cause}
    assert overview.duplicates_over_time[Cause.RETRY] == (0, 0, 0, 7, *(0,) * 8)
    assert [(loss.what, loss.error, loss.instance, loss.count) for loss in overview.losses] == [
        ("dropped", 11285, "GatewayA", 7),
        ("undeliverable", 11224, "ServerC", 7),
    ]
    assert isinstance(overview.losses[0], Loss)
    assert overview.losses[0].text


def test_transmission_queues_are_as_deep_as_they_were_at_most() -> None:
    buckets = Buckets(SINCE, 10_000, 4, 3)
    deep = QueueSample("A", SINCE - 5_000, SINCE + 12_000, 7, 1, 0, None, ())
    more = QueueSample("A", SINCE + 12_000, SINCE + 15_000, 9, 1, 0, None, ())
    idle = QueueSample("B", SINCE, SINCE + 30_000, 0, 0, 0, None, ())
    assert depths_of(buckets, [deep, more, idle]) == {"A": (7, 9, None)}
    assert depths_of(buckets, [idle]) == {"all": (0, 0, 0)}
    assert depths_of(buckets, []) == {}
    many = [replace(deep, instance=f"S{n}", messages=n) for n in range(9)]
    assert list(depths_of(buckets, many)) == ["S8", "S7", "S6", "S5"]


def test_what_is_being_filled_is_in_the_totals_and_not_in_the_charts(tmp_path: Path) -> None:
    latest = window(12, "GatewayA", 0, ("ServerA", "ServerB/DatabaseB"), {5: 1})
    live = Window(SINCE, UNTIL + 4_000, UNTIL + 4_000, live=True)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, [*LATENCIES, latest])
        store.reach(dict.fromkeys(QUERIES, UNTIL + 4_000))
        overview = overview_of(read_overview(store, live))
    assert overview.messages == overview.delivered.count == 2_001
    assert len(overview.rates) == 12
    assert overview.buckets.count == 13
    assert overview.rate == 20.0


def test_a_chart_draws_only_what_its_own_query_has_read() -> None:
    """Zeros beyond that looked like an outage, and one query blanked all charts."""
    reached = {**dict.fromkeys(QUERIES, UNTIL), "events": SINCE + 45_000, "gaps": SINCE}
    queue = QueueSample("A", SINCE - 9_000, UNTIL, 3, 1, 0, None, ())
    fresh = Freshness(UNTIL, reached, SINCE + 75_000)
    overview = overview_of(found(fresh=fresh, queues=[queue]))
    assert len(overview.rates) == len(overview.quantiles) == 12
    assert {len(each) for each in overview.duplicates_over_time.values()} == {4}
    assert overview.depths == {"A": (3,) * 7}
    assert (overview.buckets.unread, overview.copy_buckets.unread) == (None, SINCE + 45_000)
    chart = bars(overview.copy_buckets, {}, (), COUNT_TEXT)
    (area,) = chart["series"][-1]["markArea"]["data"]
    end = SINCE + 120_000
    assert area == [{"name": "read until 13:30:45", "xAxis": SINCE + 45_000}, {"xAxis": end}]
    assert lines(overview.buckets, {}, (), COUNT_TEXT)["series"] == []


def test_waiting_messages_are_those_of_the_store(tmp_path: Path) -> None:
    """The tile showed the last sample, which was some seconds or, in a lag, minutes old."""
    live = Window(SINCE, UNTIL, UNTIL, live=True)
    sample = QueueSample("ServerA", SINCE, UNTIL, 99, 1, 0, SINCE, ())
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, [sample])
        sides = [dialog(1, depth=2, waiting_since=SINCE + 5), dialog(2, depth=1)]
        store.write("dialogs", "run", 0, [replace(s, waiting_since=SINCE + 5) for s in sides])
        unknown = overview_of(read_overview(store, live))
        store.reach(dict.fromkeys(QUERIES, UNTIL))
        now = overview_of(read_overview(store, live))
        then = overview_of(read_overview(store, replace(live, live=False)))
        earlier = overview_of(read_overview(store, Window(SINCE - DAY, SINCE - HOUR, UNTIL)))
    assert unknown.waiting is None
    assert now.waiting == Waiting(3, SINCE + 5)
    assert then.waiting == Waiting(99, SINCE)
    assert earlier.waiting is None, "there are no samples"


def test_without_its_query_a_chart_is_empty_and_a_rate_unknown() -> None:
    """It was 0/s beside 45,003 delivered."""
    reached = {query: UNTIL for query in QUERIES if query != "deliveries"}
    overview = overview_of(found(fresh=Freshness(UNTIL, reached, UNTIL)))
    assert (overview.rate, overview.rates, overview.quantiles) == (None, (), ())
    assert len(overview.duplicates_over_time[Cause.RETRY]) == 12
    (area,) = lines(overview.buckets, {}, (), COUNT_TEXT)["series"][-1]["markArea"]["data"]
    assert area[0] == {"name": "not read yet", "xAxis": SINCE}
    tiles = " ".join(striptags(part("overview", "tiles", overview, None)))
    assert "Messages – 2,000 delivered; not all read yet" in tiles


def test_a_lagging_query_of_deliveries_says_up_to_when_the_rate_is_known() -> None:
    reached = {**dict.fromkeys(QUERIES, UNTIL), "deliveries": SINCE + 40_000}
    first = [row for row in LATENCIES if row.window_start < SINCE + 40_000]
    overview = overview_of(found(fresh=Freshness(UNTIL, reached, UNTIL), latencies=first))
    assert (overview.rate, overview.rates) == (10.0, (10.0,) * 4)
    tiles = " ".join(striptags(part("overview", "tiles", overview, None)))
    assert "Messages 10/s 400 delivered; read until 13:30:40" in tiles


def test_a_range_that_begins_within_a_point_of_a_chart_does_not_draw_it() -> None:
    """The first point had only some of its windows, so it was too low, and 0 at full seconds."""
    late = Window(SINCE + 5_000, UNTIL, UNTIL)
    inside = [row for row in LATENCIES if row.window_start >= late.since]
    overview = overview_of(Found(late, latencies=inside, fresh=READ))
    assert overview.rates == (10.0,) * 3 + (20.0,) * 8
    assert overview.buckets.starts[0] == SINCE + 10_000
    assert overview.messages == 1_900


def test_of_nothing_there_are_no_percentiles() -> None:
    overview = overview_of(Found(Window(SINCE, UNTIL, UNTIL), fresh=READ))
    assert overview.delivered.p50 is None
    assert overview.rate == 0.0
    assert overview.paths == overview.losses == ()
    assert [each.p95 for each in overview.quantiles] == [None] * 12


def test_what_was_not_read_is_unknown_and_not_zero(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        empty = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL)))
        store.reach({"deliveries": UNTIL})
        half = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL)))
        store.reach(dict.fromkeys(QUERIES, UNTIL))
        whole = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL)))
    assert (empty.known, empty.exactly_once.verdict) == (frozenset(), Verdict.UNKNOWN)
    assert (half.known, half.exactly_once.verdict) == ({"deliveries"}, Verdict.UNKNOWN)
    assert (whole.known, whole.exactly_once.verdict) == (set(QUERIES), Verdict.KEPT)
    tiles = [" ".join(striptags(part("overview", "tiles", each, None))) for each in (empty, whole)]
    unknown = ("Messages – not read yet", "Missing – not read yet", "Duplicates – not read yet")
    assert all(text in tiles[0] for text in unknown)
    assert "Exactly once unknown queues not read yet" in tiles[0]
    assert "good" not in part("overview", "tiles", empty, None)
    assert "Missing 0 no missing messages" in tiles[1]
    assert "Exactly once kept no repeat, no gap" in tiles[1]


def _tile(overview: Overview, name: str) -> str:
    tiles = " ".join(striptags(part("overview", "tiles", overview, None)))
    return tiles[tiles.index(name) :]


WAITS = dialog(1, acknowledged=3)
LOST = dialog(2, acknowledged=5)


def _missing(side: DialogSide, number: int, seen_at: int) -> MissingMessage:
    """Return a message of a dialog, with which the dialog's sequence numbers agree."""
    return replace(
        MISSING,
        conversation=side.conversation,
        message_id=f"m-{number}",
        seen_at=seen_at,
        expires_at=UNTIL + DAY,
    )


@pytest.mark.parametrize(
    ("lost", "tile"),
    [
        ((), "Missing 0 2 waiting"),
        ((SINCE,), "Missing 1 2 waiting"),
        ((UNTIL,), "Missing 0 2 waiting, 1 at other times"),
        ((SINCE - 1, SINCE, UNTIL - 1), "Missing 2 2 waiting, 1 at other times"),
    ],
)
def test_the_missing_messages_of_a_range_are_those_of_the_alarms(
    tmp_path: Path, lost: tuple[int, ...], tile: str
) -> None:
    waiting = [_missing(WAITS, number, SINCE + number) for number in (1, 2)]
    gone = [_missing(LOST, number, at) for number, at in enumerate(lost, 3)]
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.reach(dict.fromkeys((*QUERIES, ARRIVALS), UNTIL + HOUR))
        store.write("messages", "run", 0, [*waiting, *gone, WAITS, LOST])
        overview = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL + HOUR)))
        alarms = Situation(store).alarms(UNTIL + HOUR)
    assert _tile(overview, "Missing").startswith(f"{tile} Exactly once")
    alarmed = sum(alarm.count for alarm in alarms if alarm.kind is AlarmKind.MISSING)
    assert overview.missing.lost + overview.missing.outside == alarmed == len(lost)


def test_missing_messages_that_were_not_evaluated_are_counted(
    tmp_path: Path,
) -> None:
    rows = [_missing(WAITS, number, SINCE + number) for number in range(1_003)]
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("messages", "run", 0, [*rows, WAITS])
        overview = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL + HOUR)))
    assert _tile(overview, "Missing").startswith("Missing 0 1,000 waiting, 3 older not evaluated")


def test_deliveries_that_lack_late_rows_are_incomplete(tmp_path: Path) -> None:
    late = {"first_at": SINCE - 1_000, "until": SINCE + 5_000, "at": UNTIL}
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("deliveries", "run", 0, ROWS)
        store.add_late("deliveries", "run", 0, 4, **late)
        within = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL)))
        after = overview_of(read_overview(store, Window(SINCE + 5_000, UNTIL, UNTIL)))
    note = "2,000 delivered; not all read yet; incomplete 13:29:59 to 13:30:05 Latency"
    assert note in _tile(within, "Messages")
    assert "incomplete" not in _tile(after, "Messages")


def test_refused_statements_are_counted_and_explained(tmp_path: Path) -> None:
    (event,) = [row for row in EVENTS if row.error == 11285]
    refused = replace(event, event=124, error=8429, database="DatabaseA", route=None, count=943)
    other = replace(refused, error=8489, count=2)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.write("events", "run", 0, [refused, other])
        overview = overview_of(read_overview(store, Window(SINCE, UNTIL, UNTIL)))
    assert _tile(overview, "Refused").startswith("Refused or failed 945 mostly 8429 Missing")
    assert overview.refusals[0] == Refusal(
        8429, "the conversation cannot send in its present state", "GatewayA/DatabaseA", 943
    )
    table = part("overview", "losses", (), 0, overview.refusals[:1], 2)
    assert "the conversation cannot send in its present state" in table
    assert "GatewayA/DatabaseA" in table
    assert "and 1 more" in table


def striptags(html: Markup) -> list[str]:
    return html.striptags().split()


@pytest.mark.parametrize(
    ("length", "width"),
    [
        (5 * MINUTE, 10_000),
        (15 * MINUTE, 10_000),
        (HOUR, 30_000),
        (DAY, 15 * MINUTE),
        (400 * DAY, None),
    ],
)
def test_a_chart_has_as_many_points_as_it_has_room_for(length: int, width: int | None) -> None:
    buckets = buckets_of(SINCE, SINCE + length, None)
    assert buckets.count <= 122
    assert width is None or buckets.width == width
    assert buckets.first <= SINCE
    assert buckets.first + buckets.count * buckets.width >= SINCE + length


def test_windows_of_another_length_stay_whole() -> None:
    assert buckets_of(0, HOUR, None, window=7_000) == Buckets(0, 56_000, 65, 64)
    assert buckets_of(0, HOUR, 30_000, window=30_000).complete == 1
