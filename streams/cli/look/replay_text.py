"""The output of ``hopline replay``, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from streams.capture.compare import Comparison, Differing, Latency
from streams.capture.forecast import Forecast
from streams.capture.job import Job
from streams.capture.judge import Standing
from streams.capture.replay import LATE, Progress, Replayed
from streams.capture.rerun import Rerun
from streams.cli.options.confirm import step
from streams.cli.text.refusals import refused_lines
from streams.errors import text_of
from streams.errors.refusals import Refusals
from streams.prose import counted

SHOWN = 10
"""Maximum number of changed dialogs in the text output; the JSON output lists more."""
_NAME = 17
_OUTCOMES = {
    "same": "same database, same path",
    "moves": "arrived at another database",
    "way": "arrived at the same database by another path",
    "stops": "arrived in the capture only",
    "begins": "arrived in the replay only",
    "neither": "arrived in neither",
}
_STANDINGS = {
    Standing.UNKNOWN_SENDER: "from a sender that is not in the topology",
    Standing.NO_BEGIN: "of dialogs whose BEGIN is not in the capture",
    Standing.UNREADABLE: "unreadable",
}


# --- Before --------------------------------------------------------------------------------------


def forecast_text(
    rerun: Rerun, forecast: Forecast | None, topics: Sequence[str], refused: Refusals | None
) -> str:
    """Return the commands that a replay would produce, the topics, and the predicted outcome."""
    found, loops = rerun.found, rerun.naming.loops
    lasts = "without pauses" if rerun.seconds is None else f"in {span(rerun.seconds)}"
    many = f", {loops:,} times" if loops > 1 else ""
    ids = "new ids" if rerun.naming.new else "original ids"
    lines = [
        f"Would produce {counted(rerun.commands, 'command')} {lasts}: "
        f"{counted(found.dialogs, 'dialog')}{many}, with {ids}",
        *(f"  {n * loops:>12,}  {t}" for t, (_, n) in zip(topics, found.topics, strict=True)),
    ]
    if found.skipped:
        lines.append(f"  {found.skipped:>12,}  other records skipped: only commands are replayed")
    if found.large:
        lines.append(f"  {found.large:>12,}  bodies larger than Kafka's limit")
    if forecast is None:
        return "\n".join([*lines, "Their destinations are unknown: give --topology."])
    lines.append(f"Destinations of their {counted(forecast.messages, 'message')}:")
    ranked = sorted(forecast.places.items(), key=lambda item: (-item[1], item[0]))
    lines += [f"  {n:>12,}  {' or '.join(at) or 'nowhere'}" for at, n in ranked]
    lines += [f"  {n:>12,}  not known: {_STANDINGS[s]}" for s, n in forecast.unjudged.items()]
    if refused:
        each = " in each loop" if loops > 1 else ""
        lines.append(f"Statements that the endpoint workers will refuse{each}: {refused.total:,}")
        lines += [f"  {line}" for line in refused_lines(refused)]
    return "\n".join(lines)


def sent(rerun: Rerun, topics: Sequence[str]) -> Iterator[str]:
    """Yield the steps that a replay is about to perform, for the confirmation."""
    ids = "new ids" if rerun.naming.new else "their original ids"
    commands = counted(rerun.commands, "command")
    dialogs = rerun.found.dialogs * rerun.naming.loops
    yield step(f"send {commands} of {counted(dialogs, 'dialog')} with {ids} to", topics)


def forecast_json(
    rerun: Rerun, forecast: Forecast | None, topics: Sequence[str], refused: Refusals | None
) -> dict[str, Any]:
    """Return the plan of a replay as plain values, for scripts."""
    found, naming = rerun.found, rerun.naming
    answer: dict[str, Any] = {
        "dry_run": True,
        "file": str(rerun.reader.path),
        "job": naming.job,
        "commands": rerun.commands,
        "dialogs": found.dialogs * naming.loops,
        "skipped": found.skipped,
        "large": found.large,
        "seconds": rerun.seconds,
        "topics": {t: n * naming.loops for t, (_, n) in zip(topics, found.topics, strict=True)},
    }
    if forecast is not None:
        ranked = sorted(forecast.places.items(), key=lambda item: (-item[1], item[0]))
        answer["messages"] = forecast.messages
        answer["forecast"] = [{"at": list(at), "messages": n} for at, n in ranked]
        answer["refused"] = {} if refused is None else refused.to_json()
        answer["unjudged"] = {s.name.lower(): n for s, n in forecast.unjudged.items()}
    return answer


# --- During --------------------------------------------------------------------------------------


def progress_text(rerun: Rerun, before: int, progress: Progress) -> str:
    """Return a replay's progress; ``before`` records were done when it was resumed."""
    total, sent = rerun.commands, before + progress.sent
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    return (
        f"replay: {sent:>{len(f'{total:,}')},} of {counted(total, 'record')}, "
        f"{progress.rate:,.0f}/s, {counted(progress.dialogs, 'dialog')}{failed}"
        f"{_left(rerun, progress, total - sent)}, "
        f"job {rerun.naming.job}"
    )


def _left(rerun: Rerun, progress: Progress, records: int) -> str:
    if not records or not progress.sent:
        return ""
    if rerun.seconds is not None and progress.at is not None:
        return f", {span(max(rerun.seconds - progress.at, 0))} left"
    return f", {span(records / progress.rate)} left" if progress.rate else ""


def span(seconds: float) -> str:
    """Format a duration: ``12 s``, ``3 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


# --- After ---------------------------------------------------------------------------------------


def outcome_text(rerun: Rerun, work: Job, outcome: Replayed) -> Iterator[str]:
    """Yield the lines of a replay's result."""
    skipped = rerun.found.skipped
    yield (
        f"{'Stopped: ' if outcome.stopped else ''}{outcome.delivered:,} of "
        f"{counted(rerun.commands, 'command')} delivered, "
        f"{counted(outcome.dialogs, 'dialog')}, {outcome.seconds:.1f} s, "
        f"{rate_of(outcome):,.0f}/s{_earlier(work, outcome)}"
    )
    if outcome.failed or outcome.unconfirmed:
        yield f"{outcome.failed:,} failed, {outcome.unconfirmed:,} not confirmed"
    if outcome.late:
        yield (
            f"{outcome.late:,} late by {LATE * 1000:.0f} ms or more, "
            f"up to {outcome.behind:.1f} s behind the capture's times"
        )
    if skipped:
        yield f"{counted(skipped, 'other record')} skipped: only commands are replayed"
    if work.standing.position < rerun.commands:
        yield (
            f"job {work.name}: {work.standing.position:,} of "
            f"{counted(rerun.commands, 'record')} done; resume with the same command and "
            f"--job {work.name}"
        )


def _earlier(work: Job, outcome: Replayed) -> str:
    before = work.standing.position - outcome.delivered - outcome.failed
    return f"; {before:,} had been delivered by the earlier run" if work.resumed else ""


def rate_of(outcome: Replayed) -> float:
    """Return the number of delivered records per second."""
    return round(outcome.delivered / max(outcome.seconds, 1e-9), 1)


def outcome_json(
    rerun: Rerun, work: Job, outcome: Replayed, found: Comparison | None
) -> dict[str, Any]:
    """Return the result of a replay as plain values, for scripts."""
    compared = None
    if found is not None:
        compared = {
            **asdict(found),
            "differences": found.differences,
            "refused": found.refused.to_json(),
            "refused_before": found.refused_before.to_json(),
        }
    return {
        "file": str(rerun.reader.path),
        "job": work.name,
        "resumed": work.resumed,
        "position": work.standing.position,
        "commands": rerun.found.commands,
        "skipped": rerun.found.skipped,
        "delivered": outcome.delivered,
        **asdict(outcome),
        "rate": rate_of(outcome),
        "comparison": compared,
    }


def compared_text(found: Comparison) -> str:
    """Return the closing report."""
    lines = [_row("messages", f"{found.messages:,}, {found.arrived:,} arrived")]
    if found.original:
        differing = counted(found.differences, "message")
        lines.append(_row("differences", f"{differing}, compared with the captured run"))
        lines += _outcomes(found.outcomes)
        lines += [f"  {_differing(one)}" for one in found.dialogs[:SHOWN]]
        if len(found.dialogs) > SHOWN:
            lines.append("  ... and more: --format json")
    else:
        lines.append(_row("differences", "the capture has no queues to compare with"))
    lines += [
        _row("prediction", _predicted(found.foretold)),
        _row("latency", _latency(found.latency)),
    ]
    if found.original:
        lines.append(_row("  captured", _latency(found.latency_before)))
    lines.append(_row("in a queue twice", f"{found.twice:,}{_beside(found, found.twice_before)}"))
    for name, refusals in (
        ("refused", found.refused),
        ("  captured", found.refused_before),
    ):
        for n, line in enumerate(refused_lines(refusals)):
            lines.append(_row("" if n else name, line))
    for what in ("removed", "dropped", "delayed"):
        now, then = found.copies.get(what, {}), found.copies_before.get(what, {})
        if now or then:
            lines.append(_row(f"copies {what}", f"{_numbers(now)}{_beside(found, _numbers(then))}"))
    for topic in found.trimmed:
        lines.append(f"{topic} was trimmed, so messages received earlier are not counted.")
    if not found.settled:
        lines.append("Some messages have not arrived, and no new deliveries were seen for a while.")
    return "\n".join(lines)


def _row(name: str, value: str) -> str:
    return f"{name:<{_NAME}} {value}"


def _outcomes(outcomes: Mapping[str, int]) -> Iterator[str]:
    return (f"  {outcomes[k]:>12,}  {text}" for k, text in _OUTCOMES.items() if k in outcomes)


def _differing(one: Differing) -> str:
    side = "initiator" if one.from_initiator else "target"
    renamed = "" if one.original == one.replayed else f" (now {one.replayed})"
    what = ", ".join(f"{n:,} {name}" for name, n in one.outcomes.items())
    return f"{one.original}{renamed}  {side}'s: {what}"


def _predicted(foretold: Mapping[str, int]) -> str:
    as_, other, unknown = (foretold.get(name, 0) for name in ("as", "other", "unknown"))
    if not as_ + other:
        return "none: no topology"
    left = f"; {unknown:,} unknown" if unknown else ""
    return f"{as_:,} arrived as predicted, {other:,} did not{left}"


def _latency(ms: Latency) -> str:
    return f"p50 {ms.p50:,} ms, p95 {ms.p95:,} ms, p99 {ms.p99:,} ms, at most {ms.max:,} ms"


def _beside(found: Comparison, before: int | str) -> str:
    return f" (captured: {before})" if found.original else ""


def _numbers(counts: Mapping[int, int]) -> str:
    return ", ".join(f"{n:,} x {number}, {text_of(number)}" for number, n in counts.items()) or "0"
