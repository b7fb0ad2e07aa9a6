"""Options of ECharts, in one style.

Colours are variables of the style sheet, so that a chart follows the theme; this requires charts
drawn as SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.dashboard import wording
from streams.dashboard.model.buckets import Buckets

Options = dict[str, Any]
_TEXT = {"color": "var(--soft)", "fontFamily": "inherit", "fontSize": 11}
_SEPARATION = {"show": True, "lineStyle": {"color": "var(--hair)", "width": 1}}

DURATION_TEXT = (
    "v => v == null ? '–' : v < 0 ? '−' + -v + ' ms' : v < 1000 ? +(+v).toPrecision(3) + ' ms' : "
    "v < 60000 ? +(v / 1000).toPrecision(3) + ' s' : +(v / 60000).toPrecision(3) + ' min'"
)
RATE_TEXT = (
    "v => v == null ? '–' : "
    "v < 1e4 ? +(+v).toPrecision(3) + ' /s' : +(v / 1e3).toPrecision(3) + ' k/s'"
)
COUNT_TEXT = (
    "v => v == null ? '–' : "
    "v < 1e5 ? (+v).toLocaleString('en-US') : +(v / 1e3).toPrecision(3) + ' k'"
)
_AT_LEAST_4 = "range => range.max < 4 ? 4 : null"
"""With null, ECharts ends the axis at a round number, so labels have equal distances."""


def lines(
    buckets: Buckets,
    series: Mapping[str, Sequence[float | None]],
    colours: Sequence[str],
    text: str,
    *,
    area: bool = False,
) -> Options:
    """Return a chart with a line for each series; ``colours`` are names of CSS variables.

    With ``area``, the chart has only one series, which the title names.
    """
    made = [
        {
            **_series(name, buckets, values, colour),
            "type": "line",
            "showSymbol": False,
            "symbol": "circle",
            "symbolSize": 5,
            "lineStyle": {"width": 1.5, "color": f"var(--{colour})"},
            **({"areaStyle": {"color": f"var(--{colour})", "opacity": 0.12}} if area else {}),
        }
        for (name, values), colour in zip(series.items(), colours, strict=True)
    ]
    return _chart(buckets, made, text, legend=not area)


def bars(
    buckets: Buckets, series: Mapping[str, Sequence[float]], colours: Sequence[str], text: str
) -> Options:
    """Return a chart with stacked bars."""
    made = [
        {
            **_series(name, buckets, values, colour),
            "type": "bar",
            "stack": "all",
            "barCategoryGap": "15%",
            "barMaxWidth": 14,
        }
        for (name, values), colour in zip(series.items(), colours, strict=True)
    ]
    return _chart(buckets, made, text, legend=len(series) > 1)


def _series(
    name: str, buckets: Buckets, values: Sequence[float | None], colour: str
) -> dict[str, Any]:
    middle = buckets.width // 2
    data = [
        [start + middle, None if value is None else round(value, 3)]
        for start, value in zip(buckets.starts, values, strict=True)
    ]
    return {
        "name": name,
        "data": data,
        "itemStyle": {"color": f"var(--{colour})"},
        "emphasis": {"disabled": True},
    }


def _unread(buckets: Buckets) -> dict[str, Any] | None:
    """Return a shaded area, without values, for the time that the query has not read."""
    if buckets.unread is None:
        return None
    start = max(buckets.unread, buckets.first)
    text = f"read until {wording.clock(buckets.unread)}" if buckets.unread else "not read yet"
    return {
        "type": "line",
        "data": [],
        "silent": True,
        "tooltip": {"show": False},
        "markArea": {
            "silent": True,
            "itemStyle": {"color": "var(--faint)", "opacity": 0.15},
            "label": {"show": True, "position": "insideTop", **_TEXT},
            "data": [[{"name": text, "xAxis": start}, {"xAxis": buckets.end}]],
        },
    }


def _chart(buckets: Buckets, series: list[dict[str, Any]], text: str, *, legend: bool) -> Options:
    unread = _unread(buckets)
    return {
        "animation": False,
        "useUTC": True,
        "textStyle": {"fontFamily": "Roboto, sans-serif", "fontSize": 11},
        "grid": {
            "left": 8,
            "right": 22,
            "top": 28 if legend else 12,
            "bottom": 4,
            "containLabel": True,
        },
        "legend": {
            "show": legend,
            "top": 0,
            "left": 4,
            "itemWidth": 10,
            "itemHeight": 3,
            "itemGap": 14,
            "icon": "rect",
            "textStyle": _TEXT,
            "inactiveColor": "var(--faint)",
            "selectedMode": "multiple",
        },
        "tooltip": {
            "trigger": "axis",
            "confine": True,
            "className": "tip",
            "transitionDuration": 0,
            "axisPointer": {"type": "line", "lineStyle": {"color": "var(--faint)", "width": 1}},
            ":valueFormatter": text,
        },
        "xAxis": {
            "type": "time",
            "min": buckets.first,
            "max": buckets.end,
            "axisLine": {"lineStyle": {"color": "var(--line)"}},
            "axisTick": {"show": False},
            "axisLabel": {**_TEXT, "hideOverlap": True, "formatter": _TIME},
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "splitNumber": 3,
            # An axis with fractions would suggest that fractions of messages exist.
            **({"minInterval": 1, ":max": _AT_LEAST_4} if text == COUNT_TEXT else {}),
            "axisLabel": {**_TEXT, ":formatter": text},
            "splitLine": _SEPARATION,
        },
        "series": [*series, unread] if unread else series,
    }


_TIME = {
    "year": "{yyyy}",
    "month": "{MMM}",
    "day": "{MMM} {d}",
    "hour": "{HH}:{mm}",
    "minute": "{HH}:{mm}",
    "second": "{HH}:{mm}:{ss}",
    "none": "{HH}:{mm}:{ss}",
}
