"""What code does with its dialogs: SEND, END directly after it, END only for some message types.

The statements of a batch are observed in order. Only what is certain is noted: a handle that
another statement may have changed, or an END CONVERSATION that may not run, does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from streams.topology.findings import Source
from streams.topology.tsql.blocks import Blocks, Frame
from streams.topology.tsql.evidence import BeginsDialog, EndsConversation, Sends
from streams.topology.tsql.statements import Statement
from streams.topology.tsql.tokens import Token, TokenType

_PAUSES = frozenset({"EXEC", "EXECUTE", "GET", "GOTO", "RECEIVE", "RETURN", "WAITFOR"})
"""First words of statements that may wait for the other side, or after which code may not go on."""
_OUTPUT = frozenset({"OUT", "OUTPUT"})
_SYSTEM_TYPES = "/sql/servicebroker/"
_TIMER = "/dialogtimer"
_DEEPEST = 50

_Branch = tuple[Frame | None, object]


@dataclass(slots=True)
class Endings:
    """The dialogs that a batch has begun, and the branch in which it has last sent on each.

    ``begun``: the variables that contain handles, with the places of their BEGIN DIALOG. ``types``:
    the variables that contain the types of received messages. ``system_types``: the code names the
    message types EndDialog or Error, or may do so.
    """

    begun: dict[str, tuple[Source, ...]] = field(default_factory=dict)
    sent: dict[str, _Branch] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    system_types: bool = True

    def begin_module(self) -> None:
        """Start to look for names of message types, which only matter in a module."""
        self.system_types = False

    def names(self, tokens: Sequence[Token]) -> None:
        """Look for EndDialog and Error among the tokens of a statement or a condition."""
        self.system_types = self.system_types or any(map(_names_system_type, tokens))

    def observe(self, tokens: Sequence[Token]) -> None:
        """Observe one statement."""
        self.names(tokens)
        if tokens and tokens[0].upper in _PAUSES:
            self.sent.clear()
            self.types.update(_types(tokens))
        if self.begun:
            self._assigned(tokens)

    def related(self, statement: Statement, blocks: Blocks) -> Statement:
        """Return a statement with the BEGIN DIALOG of its dialogs, as far as it is known."""
        match statement:
            case BeginsDialog(handle=handle):
                self.begun[handle] = (*self.begun.get(handle, ()), statement.source)
                self.sent.pop(handle, None)
            case Sends():
                mine = [handle for handle in statement.handles if handle in self.begun]
                self.sent.update((handle, blocks.branch()) for handle in mine)
                places = (self.begun[handle] for handle in mine)
                certain = tuple(place[0] for place in places if len(place) == 1)
                return replace(statement, dialogs=certain)
            case EndsConversation(handle=handle):
                sent = self.sent.pop(handle, None)
                follows = sent is not None and _always_follows(sent, blocks)
                after_send = self.begun[handle][-1:] if follows else ()
                return replace(statement, after_send=after_send, compared=blocks.compared())
        return statement

    def _assigned(self, tokens: Sequence[Token]) -> None:
        """Forget the handles that a statement may change."""
        fetches = tokens[0].upper == "FETCH" if tokens else False
        for token, behind in pairwise(tokens):
            changes = fetches or behind.is_mark("=") or behind.upper in _OUTPUT
            if changes and token.upper in self.begun:
                self._forget(token.upper)
        if fetches and tokens[-1].upper in self.begun:
            self._forget(tokens[-1].upper)

    def _forget(self, handle: str) -> None:
        self.begun.pop(handle, None)
        self.sent.pop(handle, None)


def _names_system_type(token: Token) -> bool:
    if token.kind not in (TokenType.STRING, TokenType.QUOTED):
        return False
    text = token.text.casefold()
    return _SYSTEM_TYPES in text and not text.endswith(_TIMER)


def _types(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the variables that RECEIVE sets to the type of a message."""
    for variable, mark, column in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if mark.is_mark("=") and column.text.upper() == "MESSAGE_TYPE_NAME":
            yield variable.upper


def _always_follows(sent: _Branch, blocks: Blocks) -> bool:
    """Return whether a statement here runs after one in another branch, unless that one fails."""
    _, here = blocks.branch()
    frame, key = sent
    for _ in range(_DEEPEST):
        if key is here:
            return True
        if frame is None:
            break
        key, frame = frame.around_key, frame.around
    return False
