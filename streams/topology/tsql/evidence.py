"""Data classes for the uses of dialogs in code, with their places."""

from __future__ import annotations

from dataclasses import dataclass

from streams.topology.procedures import BeginDialog, Comparison
from streams.topology.tsql.statements import Name, Statement


@dataclass(frozen=True, slots=True)
class Evidence(Statement):
    """A use of dialogs in code, which declares no object."""


@dataclass(frozen=True, slots=True)
class BeginsDialog(Evidence):
    """BEGIN DIALOG CONVERSATION."""

    dialog: BeginDialog


@dataclass(frozen=True, slots=True)
class EndsConversation(Evidence):
    """END CONVERSATION.

    ``after_send``: it always follows SEND on a dialog that the same code begins, without a pause.
    ``compared``: the comparisons around it, the outermost first.
    """

    after_send: bool = False
    compared: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Receives(Evidence):
    """RECEIVE or GET CONVERSATION GROUP."""

    queue: Name


@dataclass(frozen=True, slots=True)
class Calls(Evidence):
    """EXECUTE of a procedure."""

    name: Name


@dataclass(frozen=True, slots=True)
class EnterText(Evidence):
    """Dynamic SQL begins, in another database if given; a USE inside it applies up to its end."""

    database: str | None


@dataclass(frozen=True, slots=True)
class LeaveText(Evidence):
    """Dynamic SQL ends."""
