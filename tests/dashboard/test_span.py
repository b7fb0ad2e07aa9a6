"""The time that a page shows, as addresses and people say it."""

from __future__ import annotations

import pytest

from streams.dashboard.address import Address
from streams.dashboard.header import _jump
from streams.dashboard.span import PRESETS, Span, instant_of, span_of

NOON = 1_795_262_400_000  # 2026-11-21T12:00:00Z
HOUR = 3_600_000


def test_without_a_word_it_is_the_last_quarter_of_an_hour() -> None:
    assert span_of({}) == Span("15m")
    assert span_of({}).bounds(NOON) == (NOON - HOUR // 4, NOON)
    assert span_of({}).parameters() == {}


@pytest.mark.parametrize("span", [*map(Span, PRESETS), Span("", NOON, NOON + 1_500)])
def test_an_address_reads_as_it_was_written(span: Span) -> None:
    assert span_of(span.parameters()) == span
    assert Address.of(str(Address("/topology", span, {"instance": "Gåte way&=A"}))) == Address(
        "/topology", span, {"instance": "Gåte way&=A"}
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"last": "0m"},
        {"last": "minutes"},
        {"last": "15x"},
        {"from": "2026-11-21T12:00:00Z"},
        {"from": "2026-11-21T12:00:00Z", "until": "2026-11-21T12:00:00Z"},
        {"from": "yesterday", "until": "today"},
        {"from": "0001-01-01T00:00:00+14:00", "until": "9999-12-31T23:59:59-14:00", "last": "²m"},
    ],
)
def test_invalid_parameters_count_as_absent(parameters: dict[str, str]) -> None:
    assert span_of(parameters).bounds(NOON)[0] < NOON


def test_all_of_time_has_a_step_back_and_any_text_is_an_address() -> None:
    """What somebody types must not end in an error: brackets, half a surrogate pair, the year 1."""
    parameters = {"from": "1970-01-02T00:00:00Z", "until": "9999-12-31T23:59:59Z"}
    whole = span_of(parameters)
    assert not whole.live
    assert span_of(whole.moved(-1, 2 * whole.until).parameters()).bounds(NOON)[0] >= 0
    assert whole.moved(-1, NOON).parameters()["from"] == "1970-01-01T00:00:00Z"
    ancient = span_of({**parameters, "from": "0001-01-01T00:00:00Z"})
    assert ancient == Span("15m")
    assert Address.of("//[") == Address()
    assert str(Address.of("/?find=\ud800")) == "/?find=%3F"


def test_an_instant_without_a_zone_is_utc() -> None:
    assert instant_of("2026-11-21T12:00") == instant_of("2026-11-21T13:00+01:00") == NOON


def test_a_step_is_as_long_as_what_is_shown_and_never_ends_after_now() -> None:
    hour = Span("1h")
    before = hour.moved(-1, NOON)
    assert before == Span("", NOON - 2 * HOUR, NOON - HOUR)
    assert before.moved(-1, NOON) == Span("", NOON - 3 * HOUR, NOON - 2 * HOUR)
    assert before.moved(1, NOON).bounds(NOON) == (NOON - HOUR, NOON)
    assert hour.moved(1, NOON) == hour


def test_the_day_is_shown_once() -> None:
    assert Span("1h").words == "last hour"
    assert Span("15m").words == "last 15 minutes"
    assert Span("", NOON, NOON + HOUR).words == "2026-11-21 12:00:00 – 13:00:00 UTC"
    assert Span("", NOON, NOON + 13 * HOUR).words == (
        "2026-11-21 12:00:00 – 2026-11-22 01:00:00 UTC"
    )


def test_another_choice_leaves_the_rest_of_an_address() -> None:
    address = Address.of("/topology?last=1h&filter=Gate&instance=GatewayA")
    assert str(address.with_(instance="")) == "/topology?filter=Gate&last=1h"
    assert str(address.to("/dialog", id="x")) == "/dialog?id=x&last=1h"
    assert str(address.at(Span())) == "/topology?filter=Gate&instance=GatewayA"


@pytest.mark.parametrize("as_of", [0, 999, 299_999])
def test_figures_as_of_1970_have_no_link(as_of: int) -> None:
    """A span that ended at 0 would be a live one of no length: no page could be shown."""
    assert _jump(Address.of("/?last=5m"), as_of, 1_800_000_000_000) is None
    assert _jump(Address.of("/?last=5m"), 300_000, 1_800_000_000_000) is not None
