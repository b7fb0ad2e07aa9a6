"""A run's result as text, whose length does not grow with the number of dialogs."""

from __future__ import annotations

from collections import Counter

from streams.prose import counted
from streams.simulator.clock import SECOND
from streams.simulator.result import Result, Row


def result_text(result: Result) -> str:
    """Return the account of messages, the queues, the endpoints in groups, and the errors."""
    parts = (
        _account(result),
        _queues(result),
        _endpoints(result),
        _event_lines(result),
        _acts(result),
    )
    blocks = ["\n".join(part) for part in parts if part]
    blocks += ["\n".join(f"note: {note}" for note in result.notes)] if result.notes else []
    blocks += [f"BROKEN: {result.violation}"] if result.violation is not None else []
    return "\n\n".join(blocks) + "\n"


def _account(result: Result) -> list[str]:
    s = result.summary
    dropped = ", ".join(f"{n} dropped ({error})" for error, n in s["dropped"].items())
    return [
        f"seed {result.seed}, {result.ended_at / SECOND:g} s of virtual time",
        f"messages  {s['sent']} sent = {s['delivered']} delivered + {s['waiting']} waiting + "
        f"{s['discarded']} discarded + {s['lost']} lost",
        f"copies    {counted(s['duplicates'], 'duplicate')} removed, "
        f"{s['delivered_twice']} delivered twice, {dropped or 'none dropped'}",
    ]


def _queues(result: Result) -> list[str]:
    return [_queue(name, rows) for name, rows in result.queues.items()]


def _queue(name: str, rows: list[Row]) -> str:
    dialogs = {row["conversation"] for row in rows}
    return f"{name}: {counted(len(rows), 'message')} of {counted(len(dialogs), 'dialog')}"


def _endpoints(result: Result) -> list[str]:
    waiting = Counter((row["conversation_handle"]) for row in result.transmission_queue)
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in result.endpoints:
        where = f"{row['instance']}/{row['database']}/{row['service_name']}"
        side = "initiator" if row["is_initiator"] else "target"
        far = row["far_broker_instance"] or "(not known yet)"
        groups.setdefault((where, side, row["state_desc"], far), []).append(row)
    return [
        f"{where}: {counted(len(rows), 'dialog')}, {side}, {state}, with {far}"
        + _waits(sum(waiting[row["conversation_handle"]] for row in rows))
        for (where, side, state, far), rows in groups.items()
    ]


def _waits(n: int) -> str:
    return f"; {n} in the transmission queue" if n else ""


def _event_lines(result: Result) -> list[str]:
    counts = Counter((row["name"], row["error"], row["detail"]) for row in result.events)
    return [
        f"{n} x {name} {error}: {detail}"
        for (name, error, detail), n in sorted(counts.items())
        if error
    ]


def _acts(result: Result) -> list[str]:
    acts = Counter((f"{act['instance']}/{act['database']}/{act['service']}") for act in result.acts)
    lines = [f"{where} processed {counted(n, 'dialog')}" for where, n in acts.items()]
    twice = Counter(act["conversation"] for act in result.acts)
    n = sum(count > 1 for count in twice.values())
    several = counted(n, "dialog was", "dialogs were")
    return [*lines, f"{several} processed at more than one place"] if n else lines
