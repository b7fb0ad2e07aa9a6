"""The definition of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from streams.analysis.estate import Estate
from streams.topology import Finding, Severity


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table.

    ``severities``: the severities that its findings can have, worst first. ``rule``: the
    section of the reference on which the check is based. ``why`` and ``remedy`` are the text of the
    check's page, in whole sentences.
    """

    code: str
    title: str
    severities: tuple[Severity, ...]
    rule: str
    why: str
    remedy: str
    find: Callable[[Estate], Iterable[Finding]]
