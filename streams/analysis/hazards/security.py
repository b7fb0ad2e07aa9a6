"""Flows that dialog security does not let through (TA-42, TA-48, TA-49)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.analysis.estate import Estate
from streams.analysis.hazards.certificates import unusable_certificate
from streams.analysis.hazards.passage import Passage
from streams.analysis.known import Home
from streams.analysis.objects import finding
from streams.analysis.security.decide import decide_security
from streams.analysis.security.values import (
    Dialog,
    DialogSecurity,
    Obstacle,
    SecurityError,
    in_script,
)
from streams.topology import NOWHERE, BeginDialog, Finding, Severity, Source

_FLOWS = 5


def security_of(estate: Estate, passage: Passage) -> tuple[DialogSecurity, ...]:
    """Return the security of a flow for each target and each ENCRYPTION; computed once."""
    ends = _ends(estate, passage)
    known = estate.once(_by_flow)
    key = (str(passage.flow), *map(str, ends))
    if key not in known:
        flow, stated = passage.flow, _encryption(passage)
        known[key] = tuple(
            decide_security(
                Dialog(passage.begins, flow.sender.service, flow.to, end, encryption, source),
                estate.now,
            )
            for end in ends
            for encryption, source in stated.items()
        )
    return known[key]


def _by_flow(_: Estate) -> dict[tuple[str, ...], tuple[DialogSecurity, ...]]:
    return {}


def _ends(estate: Estate, passage: Passage) -> tuple[Home | None, ...]:
    """Return the targets; ``None`` if the messages only leave the instance, for an unknown one."""
    leaves = any(step.address is not None for _, step in passage.there)
    return passage.ends(estate) or ((None,) if leaves else ())


def _encryption(passage: Passage) -> dict[bool | None, Source]:
    """Return the ENCRYPTION of the BEGIN DIALOG statements, each with its first place."""
    flow, found = passage.flow, dict[bool | None, Source]()
    for procedure in flow.sender.database.procedures.values():
        for begin in procedure.begins:
            if begin.to == flow.to and begin.service in (None, flow.sender.service):
                found.setdefault(_stated(begin), begin.source)
    found.pop(None, None)
    return found or {None: NOWHERE}


def _stated(begin: BeginDialog) -> bool | None:
    """Return the ENCRYPTION of a BEGIN DIALOG; the default ON counts only in a script."""
    if begin.asks_encryption or not begin.encryption or in_script(begin.source):
        return begin.encryption
    return None


# --- Findings ------------------------------------------------------------------------------------


def security(estate: Estate, passages: Sequence[Passage]) -> Iterator[Finding]:
    """Find obstacles to flows; each is reported once, with the flows that it concerns."""
    obstacles: dict[tuple[str, str, Source], Obstacle] = {}
    flows: dict[tuple[str, str, Source], dict[str, None]] = {}
    for passage in passages:
        for judged in security_of(estate, passage):
            for one in judged.obstacles:
                key = (str(one.at), one.why, one.source)
                obstacles.setdefault(key, one)
                flows.setdefault(key, {})[str(passage.flow)] = None
    for key, one in obstacles.items():
        yield _finding(estate, one, list(flows[key])[:_FLOWS])


def _finding(estate: Estate, one: Obstacle, flows: list[str]) -> Finding:
    if one.certificate is not None:
        return unusable_certificate(one.at, one.certificate, estate.now, int(one.error), flows)
    code = "TA-49" if one.error is SecurityError.NOT_PERMITTED else "TA-48"
    return finding(
        code, Severity.ERROR, one.at, one.source, f"{one.why} ({one.error:d})", one.remedy,
        error=int(one.error), flows=flows,
    )  # fmt: skip
