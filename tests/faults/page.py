"""The generated part of docs/faults.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.harm import Effect
from tests.faults.run import Outcome
from tests.faults.verdict import Recovery

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
BEGIN, END = "<!-- soak: generated -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a measurement: seconds of load (times each share), seed, messages per second."""

    seconds: float
    seed: int
    rate: float


def rewrite(page: str, outcomes: Sequence[Outcome], terms: Terms) -> str:
    """Return the page with the results of the runs."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated(outcomes, terms)}\n{END}{after}"


def generated(outcomes: Sequence[Outcome], terms: Terms) -> str:
    """Return the tables: losses, and how long each kind of fault had an effect."""
    total = sum(o.seconds for o in outcomes) / 60
    load = terms.seconds * sum(o.scenario.share for o in outcomes)
    return "\n".join(
        [
            f"{load:,.0f} s of load at a base rate of {terms.rate:.0f} messages per second, seed "
            f"{terms.seed}; {total:.0f} minutes in total.",
            "",
            "| run | messages | dialogs | lost | delivered twice | out of order | not finished |"
            " other faults |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *map(_verdict, outcomes),
            "",
            "| run | fault | affected | count | median | longest |",
            "| --- | --- | --- | --- | --- | --- |",
            *(line for outcome in outcomes for line in _faults(outcome)),
        ]
    )


def by_kind(outcomes: Sequence[Outcome]) -> str:
    """Return a table of the hostile runs, each with hostile records in one kind of topic."""
    return "\n".join(
        [
            "| topics | hostile records | bombs among them | median latency | longest before |"
            " longest after | largest endpoint worker | largest forwarder | faults |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_kind(o, o.effect) for o in outcomes if o.effect is not None),
        ]
    )


def _kind(outcome: Outcome, effect: Effect) -> str:
    waits = (effect.middle, effect.before, effect.during)
    sizes = (effect.largest("endpoint"), effect.largest("forwarder"))
    cells = [
        f"`{', '.join(outcome.scenario.kinds)}`",
        f"{effect.records:,}",
        f"{effect.bombs:,}",
        *(f"{wait:,} ms" for wait in waits),
        *(f"{size:,} MB" for size in sizes),
        ", ".join(f"{n} {c:,}" for n, c in outcome.verdict.faults.items()) or "none",
    ]
    return f"| {' | '.join(cells)} |"


def _verdict(outcome: Outcome) -> str:
    v = outcome.verdict
    named = ("lost", "twice", "disordered", "unfinished")
    others = ", ".join(f"{n} {c:,}" for n, c in v.faults.items() if n not in named)
    counts = " | ".join(f"{getattr(v, name):,}" for name in named)
    return f"| {outcome.scenario.title} | {v.messages:,} | {v.dialogs:,} | {counts} | {others} |"


def _faults(outcome: Outcome) -> Iterator[str]:
    for wanted, recovery in zip(outcome.scenario.wanted, outcome.recoveries, strict=True):
        who = ", ".join(_who(wanted.victims))
        row = f"| {outcome.scenario.title} | {wanted.words} | {who} | {recovery.count}"
        yield f"{row} | {_seconds(recovery)} |"


def _who(victims: Sequence[str]) -> list[str]:
    """Return roles instead of names: forwarder, endpoint, source, target, broker, instance."""
    roles = dict.fromkeys(
        "standby" if v.endswith("/standby") else v.partition("/")[0] for v in victims
    )
    names = {"source": "sending application", "target": "receiving application"}
    if all(role.isdigit() for role in roles):
        return ["the broker"] if len(roles) == 1 else [f"one of {len(roles)} brokers"]
    return [names.get(role, role) for role in roles]


def _seconds(recovery: Recovery) -> str:
    return f"{recovery.middle:.1f} s | {recovery.worst:.1f} s"
