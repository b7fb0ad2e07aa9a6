"""Broker priorities that have no effect, or have an effect on one side only (TA-34)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.contracts import contracts_of_dialogs
from streams.analysis.hazards.passage import Passage
from streams.analysis.known import Home
from streams.analysis.objects import finding
from streams.prose import listed
from streams.topology import Finding, Priority, Severity


@dataclass(slots=True)
class _Use:
    """A priority, with the problems of the flows whose priority it raises or lowers."""

    at: Home
    priority: Priority
    remote: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    forwarders: dict[str, None] = field(default_factory=dict)


def priorities(estate: Estate) -> Iterator[Finding]:
    """Find priorities that forwarders ignore or that the other side does not share (4.12)."""
    uses: dict[tuple[str, str], _Use] = {}
    for passage in passages(estate):
        for end in passage.ends(estate):
            _note(
                uses, passage, passage.begins, end, (passage.flow.sender.service, passage.flow.to)
            )
            _note(
                uses, passage, end, passage.begins, (passage.flow.to, passage.flow.sender.service)
            )
    for use in uses.values():
        yield from _findings(use)


def _note(
    uses: dict[tuple[str, str], _Use],
    passage: Passage,
    here: Home,
    there: Home,
    names: tuple[str, str],
) -> None:
    """Record one side's priorities that apply to a flow; ``names``: local and remote service."""
    contracts = contracts_of_dialogs(passage)
    for priority in _matching(here.database.priorities, contracts, *names):
        use = uses.setdefault((str(here), priority.name), _Use(here, priority))
        if here.instance is not there.instance:
            use.remote.append(str(passage.flow))
        if not list(_matching(there.database.priorities, contracts, *reversed(names))):
            use.alone.append(str(there))
        use.forwarders.update(dict.fromkeys(passage.forwarders))


def _matching(
    rules: Iterable[Priority], contracts: Collection[str], local: str, remote: str
) -> Iterator[Priority]:
    """Yield the rules for dialogs between two services; no ``contracts`` means any contract."""
    for rule in rules:
        meant = rule.contract is None or not contracts or rule.contract in contracts
        if meant and rule.local_service in (None, local) and rule.remote_service in (None, remote):
            yield rule


def _findings(use: _Use) -> Iterator[Finding]:
    level = f"priority {use.priority.name} (level {use.priority.level})"
    if use.remote and not use.at.database.honor_priority:
        yield _finding(
            use,
            f"{level} has no effect when {use.at} sends: HONOR_BROKER_PRIORITY is off",
            f"ALTER DATABASE {use.at.database.name} SET HONOR_BROKER_PRIORITY ON.",
            flows=use.remote,
        )
    if use.alone:
        others = list(dict.fromkeys(use.alone))
        yield _finding(
            use,
            f"{level} exists only on one side: {listed(others)} has no priority for the same "
            "dialogs",
            "Create the priority for the other side's service too: levels are not transmitted.",
            without=others,
        )
    if use.forwarders:
        yield _finding(
            use,
            f"{level} has no effect on forwarders: at {listed(list(use.forwarders))}, everything "
            "is forwarded with level 5",
            "Do not rely on the priority there, or route urgent dialogs over another path.",
            forwarders=list(use.forwarders),
        )


def _finding(use: _Use, message: str, remedy: str, **evidence: object) -> Finding:
    return finding(
        "TA-34", Severity.WARNING, use.at, use.priority.source, message, remedy,
        priority=use.priority.name, level=use.priority.level, **evidence,
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-34",
        "A priority that has no effect, or exists only on one side",
        (Severity.WARNING,),
        "reference 4.12",
        "A conversation endpoint gets its level from the rules of its own database when it is "
        "created. Levels are not transmitted. So replies have a priority only if the target's "
        "database has a rule too. Levels affect sending only where HONOR_BROKER_PRIORITY is on, "
        "and forwarders send everything with level 5.",
        "Create the rule on both sides and turn HONOR_BROKER_PRIORITY on. Do not rely on levels "
        "on paths with forwarders.",
        priorities,
    ),
)
