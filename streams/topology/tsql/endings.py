"""How code ends conversations: directly after SEND, or only for some message types.

The statements of a batch are observed in order. Only what is certain is noted: a handle that
another statement may have changed, or an END CONVERSATION that may not run, does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from streams.topology.tsql.blocks import Blocks, Frame
from streams.topology.tsql.evidence import EndsConversation
from streams.topology.tsql.statements import Statement
from streams.topology.tsql.tokens import Token, TokenType

_PAUSES = frozenset({"EXEC", "EXECUTE", "GET", "GOTO", "RECEIVE", "RETURN", "WAITFOR"})
"""First words of statements that may wait for the other side, or after which code may not go on."""
_SYSTEM_TYPES = "/sql/servicebroker/"
_TIMER = "/dialogtimer"
_DEEPEST = 50

_Branch = tuple[Frame | None, object]


@dataclass(slots=True)
class Endings:
    """The dialogs that a batch has begun, and the branch in which it has last sent on each.

    ``types``: the variables that contain the types of received messages. ``system_types``: the code
    names the message types EndDialog or Error, or may do so.
    """

    begun: set[str] = field(default_factory=set)
    sent: dict[str, _Branch] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    system_types: bool = True

    def begin_module(self) -> None:
        """Start to look for names of message types, which only matter in a module."""
        self.system_types = False

    def names(self, tokens: Sequence[Token]) -> None:
        """Look for EndDialog and Error among the tokens of a statement or a condition."""
        self.system_types = self.system_types or any(map(_names_system_type, tokens))

    def observe(self, tokens: Sequence[Token], blocks: Blocks) -> None:
        """Observe one statement."""
        self.names(tokens)
        words = [token.upper for token in tokens[:3]]
        if words[:2] == ["BEGIN", "DIALOG"]:
            handle = words[2] if words[2:] != ["CONVERSATION"] else tokens[3].upper
            self.begun.add(handle)
            self.sent.pop(handle, None)
        elif words == ["SEND", "ON", "CONVERSATION"]:
            for handle in self.begun.intersection(_handles(tokens[3:])):
                self.sent[handle] = blocks.branch()
        elif words[:1] and words[0] in _PAUSES:
            self.sent.clear()
            self.types.update(_types(tokens))
        elif self.begun and words[:2] != ["END", "CONVERSATION"]:
            self._assigned(tokens)

    def ended(self, statement: Statement, tokens: Sequence[Token], blocks: Blocks) -> Statement:
        """Return END CONVERSATION with what is known about it; other statements stay the same."""
        if not isinstance(statement, EndsConversation):
            return statement
        sent = self.sent.pop(tokens[2].upper, None) if len(tokens) > 2 else None
        after_send = sent is not None and _always_follows(sent, blocks)
        return replace(statement, after_send=after_send, compared=blocks.compared())

    def _assigned(self, tokens: Sequence[Token]) -> None:
        """Forget the handles that a statement may change."""
        fetches = tokens[0].upper == "FETCH" if tokens else False
        for token, behind in pairwise(tokens):
            if token.upper in self.begun and (fetches or behind.is_mark("=")):
                self._forget(token.upper)
        if fetches and tokens[-1].upper in self.begun:
            self._forget(tokens[-1].upper)

    def _forget(self, handle: str) -> None:
        self.begun.discard(handle)
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


def _handles(tokens: Sequence[Token]) -> set[str]:
    """Return the variables between SEND ON CONVERSATION and the next word."""
    found = set()
    for token in tokens:
        if token.upper.startswith("@"):
            found.add(token.upper)
        elif not token.is_mark(",") and not token.is_mark("("):
            break
    return found


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
