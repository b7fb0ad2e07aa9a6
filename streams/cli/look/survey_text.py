"""Format a capture's survey as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams.capture.survey import Flow, Survey
from streams.cli.text.values import instant, shorten, type_text
from streams.errors import text_of
from streams.prose import counted

_BARS = " ▁▂▃▄▅▆▇█"
_MOST = 12


def survey_text(survey: Survey) -> Iterator[str]:
    """Yield the lines of a survey, each at most 100 characters wide."""
    span = f"{instant(survey.first)} to {instant(survey.last)}" if survey.first is not None else ""
    yield f"{counted(survey.records, 'record')}, {survey.body_bytes / 1e6:,.1f} MB of bodies"
    if span:
        yield span
    yield f"{counted(survey.dialogs, 'dialog')}: {survey.begun:,} begin here, {survey.ended:,} end"
    yield from _chart(survey)
    yield from _flows(survey.flows)
    yield from _list("Records:", survey.what)
    yield from _list("Topics:", survey.topics)
    yield from _list("Message types:", {type_text(k): n for k, n in survey.types.items()})
    errors = {f"{n} {text_of(n)}".strip(): count for n, count in survey.errors.items()}
    yield from _list("Errors:", errors)
    yield from _odd(survey)


def _chart(survey: Survey) -> Iterator[str]:
    most = max(survey.rates, default=0)
    if not most:
        return
    bars = "".join(_BARS[-(-count * 8 // most)] for count in survey.rates)
    yield ""
    yield f"|{bars}|"
    rate, records = most * 1000 / survey.width, counted(most, "record")
    yield f"each column {_duration(survey.width)}, at most {records} ({rate:,.1f}/s)"
    if survey.silent_from is not None and survey.silence > survey.width:
        at = instant(survey.silent_from)
        yield f"longest silence {_duration(survey.silence)}, from {at}"


def _flows(flows: Sequence[Flow]) -> Iterator[str]:
    if not flows:
        return
    yield ""
    yield "Dialogs, messages, between:"
    for flow in flows[:_MOST]:
        contract = f" ({type_text(flow.contract)})" if flow.contract else ""
        between = shorten(f"{flow.from_service} -> {flow.to_service}{contract}", 74)
        yield f"  {flow.dialogs:>9,}  {flow.messages:>9,}  {between}"
    if len(flows) > _MOST:
        yield f"  and {len(flows) - _MOST:,} more"


def _list(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if not counts:
        return
    yield ""
    yield title
    shown = sorted(counts.items(), key=lambda item: -item[1])
    for name, count in shown[:_MOST]:
        yield f"  {count:>9,}  {shorten(name, 86)}"
    if len(shown) > _MOST:
        yield f"  and {len(shown) - _MOST:,} more"


def _odd(survey: Survey) -> Iterator[str]:
    """Yield anomalies."""
    found = {
        "offsets missing within a partition (transaction markers count too)": survey.offsets,
        "sequence numbers missing in a queue": survey.sequences,
        "records captured twice": survey.repeated_records,
        "commands repeated with the same id": survey.repeated_commands,
        "messages delivered twice to one queue": survey.repeated_deliveries,
        "records that cannot be read": survey.malformed,
    }
    yield ""
    odd = {what: count for what, count in found.items() if count}
    yield "Gaps and duplicates:" if odd else "No gaps, no duplicates."
    yield from (f"  {count:>9,}  {what}" for what, count in odd.items())


def _duration(milliseconds: float) -> str:
    """Return a duration: ``12 ms``, ``1.5 s``, ``3 min``, ``2.5 h``."""
    for unit, name in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if milliseconds >= unit:
            return f"{milliseconds / unit:.3g} {name}"
    return f"{milliseconds:.3g} ms"


def survey_json(survey: Survey) -> dict[str, Any]:
    """Return a survey as plain values for scripts; times are in epoch milliseconds."""
    return {
        "records": survey.records,
        "body_bytes": survey.body_bytes,
        "first": survey.first,
        "last": survey.last,
        "dialogs": {"seen": survey.dialogs, "begun": survey.begun, "ended": survey.ended},
        "flows": [
            {
                "from": flow.from_service, "to": flow.to_service, "contract": flow.contract,
                "dialogs": flow.dialogs, "messages": flow.messages,
            }
            for flow in survey.flows
        ],
        "topics": survey.topics,
        "what": survey.what,
        "types": survey.types,
        "errors": {str(number): count for number, count in survey.errors.items()},
        "rates": {"width_ms": survey.width, "counts": list(survey.rates)},
        "silence": {"ms": survey.silence, "from": survey.silent_from},
        "gaps": {"offsets": survey.offsets, "sequences": survey.sequences},
        "duplicates": {
            "records": survey.repeated_records, "commands": survey.repeated_commands,
            "deliveries": survey.repeated_deliveries,
        },
        "malformed": survey.malformed,
    }  # fmt: skip
