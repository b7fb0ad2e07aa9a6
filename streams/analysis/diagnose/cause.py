"""A cause: a row of an ordered table. The first row that applies is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

Evidence = tuple[str, ...]
"""Sentences that show that a cause applies: first the statement, then the evidence for it."""
C = TypeVar("C")


class Stage(Enum):
    """The questions, in the order in which experienced operators ask them."""

    SENDER = "sender"
    DIALOG = "dialog"
    CLASSIFICATION = "classification"
    SECURITY = "dialog security"
    TRANSPORT = "transport"
    FORWARDING = "forwarding"
    ACCEPTANCE = "acceptance"
    ACKNOWLEDGEMENT = "acknowledgement"
    WAITING = "waiting"
    QUEUE = "queue"
    LEAK = "leak"


@dataclass(frozen=True, slots=True)
class Cause(Generic[C]):
    """A cause of a stuck message or a leaked endpoint.

    ``numbers``: SQL Server's errors that indicate it. ``rule``: the section of the reference.
    ``find`` returns the evidence, or nothing if the cause does not apply. A cause that is not
    ``bad`` is reported but requires no action. ``implies``: later causes that only follow from
    this one, so they are not reported with it.
    """

    code: str
    stage: Stage
    title: str
    numbers: tuple[int, ...]
    rule: str
    remedy: str
    find: Callable[[C], Evidence | None]
    bad: bool = True
    implies: tuple[str, ...] = ()
