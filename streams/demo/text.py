"""The output of the demo."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from streams.demo.watch import Killed, Watch
from streams.errors import Number, text_of
from streams.prose import counted
from streams.report import DISCARDED, WAITING, Delivered, Facts, Fate, Ledger
from streams.store import Report, percentile
from streams.topology import Topology

DATA = Path(".hopline/demo")
"""The default folder of a demo."""
_WIDTH = 78
_NAME = 28


def act(number: int, title: str) -> str:
    """Return the heading of an act."""
    return f"\n== Act {number}. {title} ".ljust(_WIDTH, "=")


def before(folder: Path) -> str:
    """Return the text of the first act."""
    scripts = ", ".join(sorted(p.name for p in folder.glob("*.sql")))
    return (
        f"The load balancing example as T-SQL ({scripts}):\n"
        f"$ hopline path {_short(folder)} --from ServerA/DatabaseA/InitiatorService "
        "--to TargetService\n"
    )


def workers(topology: Topology, victim: str) -> str:
    """Return a line about the running workers."""
    return (
        f"Forwarders of {len(topology.instances)} instances run ({victim} in a separate process),"
        "\nendpoint workers of ServerA, ServerB and ServerC, and the Spark monitor."
    )


def replaying(traffic: Path, messages: int, dialogs: int, speed: float) -> str:
    """Return a line about the replayed traffic."""
    return (
        f"Replaying {traffic.name}: {messages:,} messages in {dialogs:,} dialogs, "
        f"{speed:g} times as fast as they were captured."
    )


def running(watch: Watch, messages: int, dialogs: int) -> str:
    """Return the progress of the second act."""
    delivered = max(0, watch.queued - watch.events[124, 7, 0])
    duplicates = watch.events[160, 1, int(Number.DUPLICATE)]
    return (
        f"delivered {min(delivered, messages):,} of {messages:,}   "
        f"dialogs ended {watch.ended:,} of {dialogs:,}   copies removed {duplicates:,}"
    )


def killed(instance: str, pid: int, queued: int) -> str:
    """Return a line about the killed gateway."""
    return (
        f"{instance} (process {pid}) is killed with SIGKILL after {queued:,} deliveries "
        "and is not restarted."
    )


def report(ledger: Ledger, facts: Facts, seen: Report, killed: Killed) -> str:
    """Return the report of the second act."""
    causes = ", ".join(f"{n:,} {cause}" for cause, n in sorted(facts.duplicates.items()))
    lines = [
        "\nWhat Kafka contains now, read back with read_committed:",
        _row("accepted", f"{ledger.accepted:,} messages"),
        _row("delivered", f"{ledger.delivered:,} exactly once and in order at the locked target"),
        _row("still waiting", _outcomes(ledger, WAITING)),
        _row("discarded with their dialog", _outcomes(ledger, DISCARDED)),
        _row("copies removed", f"{facts.duplicates.total():,}{f' ({causes})' if causes else ''}"),
        _row("copies dropped", _by_number(facts.drops)),
        _row("delayed", _by_number(facts.delays)),
        _row("dialogs locked", _locked(ledger.locked)),
        _row(f"latency, {killed.instance} alive", _latency(facts.delivered, until=killed.at)),
        _row("latency, total", _latency(facts.delivered)),
        _row("  measured by Spark", _spark(seen)),
        _row("hops", _hops(facts.delivered)),
        _row(f"when {killed.instance} died", _moved(facts.delivered, killed)),
        _row("verdict", ledger.verdict),
    ]
    return "\n".join([*lines, *_missing(ledger)])


def moved_dialog(delivered: Sequence[Delivered], killed: Killed) -> uuid.UUID | None:
    """Return a dialog that failed over, if any."""
    moved = _first_elsewhere(delivered, killed)
    return next(iter(moved), delivered[0].conversation if delivered else None)


def several_targets() -> str:
    """Return a description of the third act."""
    return (
        "DatabaseA has two routes for TargetService without a broker id, to ServerB and to "
        "ServerC, which host\ndifferent copies of it; the transport sends on both. One dialog, two "
        "messages."
    )


def several_targets_report(ledger: Ledger, facts: Facts) -> str:
    """Explain what happened in the third act."""
    locked = next(iter(ledger.locked), "none")
    sides = {s.endpoint.place: s.state for s in facts.sides if not s.endpoint.is_initiator}
    refused = [place for place in sides if place != locked]
    endpoints = ", ".join(f"{place} ({state})" for place, state in sorted(sides.items()))
    lines = [
        _row("target endpoints", f"{len(sides)} for one dialog: {endpoints}"),
        _row("locked", f"{locked}: its frame was the first to be processed"),
        _row("refused", _refusal(refused)),
        _row(
            "at the rejected target", f"{ledger.at_refused_targets} message(s), counted separately"
        ),
        _row("second message", _second(facts.delivered, locked)),
        _row("copies dropped", _by_number(facts.drops)),
        _row("delivered twice", f"{len(ledger.twice)} at the locked target"),
        _row("remedy", "name a broker id in the routes, or act on the second message only"),
        _row("verdict", ledger.verdict),
    ]
    return "\n".join([*lines, *_missing(ledger)])


def afterwards(kafka: Path, seconds: float, conversation: uuid.UUID | None) -> str:
    """Return three commands to copy."""
    one = conversation or "ID"
    return "\n".join(
        [
            f"\nThe demo took {seconds:.0f} s. To explore the result:",
            "  hopline explain topologies/combined --at ServerA/DatabaseA --to TargetService \\",
            f"    --conversation {one}",
            f"  hopline kafka start --data {kafka}   # for the next two, at 127.0.0.1:9092",
            f"  hopline tail --conversation {one}",
            "  hopline tail event --last 20",
        ]
    )


def kept(bootstrap: str, dashboard: str, data: Path, conversation: uuid.UUID | None) -> str:
    """Return instructions for looking at a system that keeps running."""
    dialog = f"  {dashboard}dialog/{conversation}   # a dialog that failed over"
    return "\n".join(
        [
            "\nStill running: Kafka, workers, the monitor, and",
            f"  {dashboard}",
            *([] if conversation is None else [dialog]),
            "To send traffic, and to stop the system:",
            "  hopline traffic --from ServerA/DatabaseA/InitiatorService --to TargetService \\",
            f"    --rate 50 --duration 10m --bootstrap {bootstrap}",
            f"  hopline demo --stop{_data(data)}",
        ]
    )


def _data(data: Path) -> str:
    return "" if data == DATA else f" --data {data}"


# --- parts ---------------------------------------------------------------------------------------


def _row(name: str, value: str) -> str:
    return f"  {name:<{_NAME}}{value}"


def _outcomes(ledger: Ledger, wanted: Sequence[Fate]) -> str:
    rows = [f"{n:,} {outcome.value}" for outcome in wanted if (n := ledger.outcomes[outcome])]
    return f"\n{'':<{_NAME + 2}}".join(rows) or "0"


def _by_number(counts: Counter[int]) -> str:
    rows = [f"{n:,} x {number}, {text_of(number)}" for number, n in sorted(counts.items())]
    return f"\n{'':<{_NAME + 2}}".join(rows) or "0"


def _locked(counts: Counter[str]) -> str:
    total = counts.total() or 1
    return ", ".join(
        f"{place} {n:,} ({100 * n / total:.0f} %)" for place, n in sorted(counts.items())
    )


def _latency(delivered: Sequence[Delivered], until: float = float("inf")) -> str:
    values = Counter(d.latency_ms for d in delivered if d.arrived_at < until)
    if not values:
        return "nothing was delivered"
    histogram = tuple(sorted(values.items()))
    shown = (f"p{share} {percentile(histogram, share / 100):.0f} ms" for share in (50, 95, 99))
    return f"{', '.join(shown)}, end to end"


def _spark(seen: Report) -> str:
    rows = seen.latency()
    if not rows:
        return "nothing"
    row, removed = rows[0], seen.removed()
    return (
        f"p50 {row.p50:.0f} ms, p95 {row.p95:.0f} ms, p99 {row.p99:.0f} ms "
        f"of {row.count:,}; {counted(removed, 'copy', 'copies')} removed"
    )


def _hops(delivered: Sequence[Delivered]) -> str:
    # A path consists of every instance that the copy passed, and the database at its end.
    counts = Counter(len(d.path) - 2 for d in delivered)
    return ", ".join(f"{counted(n, 'message')} over {hops}" for hops, n in sorted(counts.items()))


def _first_elsewhere(delivered: Sequence[Delivered], killed: Killed) -> dict[uuid.UUID, Delivered]:
    """Return, for each failed-over dialog, the first message that took the other path."""
    used: set[uuid.UUID] = set()
    moved: dict[uuid.UUID, Delivered] = {}
    for d in sorted(delivered, key=lambda d: d.arrived_at):
        if killed.instance in d.path:
            used.add(d.conversation)
        elif d.conversation in used:
            moved.setdefault(d.conversation, d)
    return moved


def _moved(delivered: Sequence[Delivered], killed: Killed) -> str:
    moved = list(_first_elsewhere(delivered, killed).values())
    if not moved:
        return "no dialog failed over"
    where = Counter(d.path[1] for d in moved)
    counts = ", ".join(f"{counted(n, 'dialog')} failed over to {name}" for name, n in where.items())
    times = sorted((d.arrived_at - killed.at) / 1000 for d in moved)
    return f"{counts}, median {times[len(times) // 2]:.1f} s"


def _refusal(places: Sequence[str]) -> str:
    number = int(Number.ANOTHER_INSTANCE_ACKNOWLEDGED)
    return f"{', '.join(places) or 'none'}: {number}, another instance acknowledged before"


def _second(delivered: Sequence[Delivered], locked: str) -> str:
    places = sorted(d.place for d in delivered if d.sequence == 1)
    return f"delivered at {', '.join(places)}" if places else f"not delivered at {locked}"


def _missing(ledger: Ledger) -> list[str]:
    rows = ledger.exceptions[:10]
    return [f"    dialog {m.conversation}, sequence {m.sequence}" for _, m in rows]


def _short(folder: Path) -> Path:
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
