"""The part of docs/faults.md that `make faults` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.containers.run import Outcome
from tests.containers.two_clusters import APART, Border

BEGIN, END = "<!-- containers: generated -->", "<!-- end -->"


def rewrite(page: str, outcomes: Sequence[Outcome], border: Border | None) -> str:
    """Return the page with the results of the containers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated(outcomes, border)}\n{END}{after}"


def generated(outcomes: Sequence[Outcome], border: Border | None) -> str:
    """Return two tables: the result of `hopline verify`, and how long each fault had an effect."""
    apart = () if border is None else (("Two clusters are disconnected", border.account),)
    accounts = [*((o.title, o.account) for o in outcomes), *apart]
    lines = [
        "| run | accepted | delivered | lost | delivered twice | waiting | discarded | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(_account(title, account) for title, account in accounts),
        "",
        "| container | fault | effect |",
        "| --- | --- | --- |",
        *(line for outcome in outcomes for line in _felt(outcome)),
    ]
    if border is not None:
        lines.append(
            f"| the network between two clusters | cut for {APART:.0f} s; {border.held} messages "
            f"buffered, {border.dropped} copies dropped (11290), {border.retried} messages "
            f"delivered by a retry | {border.back:.1f} s after its return |"
        )
    return "\n".join(lines)


def faults_of(account: dict[str, object]) -> dict[str, int]:
    """Return the faults of an account by name: lost, delivered twice, and so on."""
    found = account["faults"]
    assert isinstance(found, dict)
    return {name: count for name, count in found.items() if count}


def _account(title: str, account: dict[str, object]) -> str:
    faults = faults_of(account)
    counts = [account["accepted"], account["delivered"], faults.get("lost", 0),
              faults.get("twice", 0), _total(account["waiting"]),
              _total(account["discarded"])]  # fmt: skip
    return f"| {title} | {' | '.join(f'{c:,}' for c in counts)} | {account['verdict']} |"


def _total(fates: object) -> int:
    assert isinstance(fates, dict)
    return sum(fates.values())


def _felt(outcome: Outcome) -> Iterator[str]:
    for felt in outcome.felt:
        what = " (figures)" if felt.fault.figures else ""
        yield f"| {felt.fault.service}{what} | {felt.fault.words} | {felt.seconds:.1f} s |"
