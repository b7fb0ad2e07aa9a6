"""Find the parentheses of a batch that are not closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from streams.topology.tsql.tokens import Token, TokenType

Ends = Callable[[Sequence[Token], int], bool]


class Parentheses:
    """The parentheses of a batch in which one is not closed.

    Without it, each statement behind that parenthesis would be searched up to the end of the batch.
    ``ends`` returns whether any statement ends before a token.
    """

    def __init__(self, tokens: Sequence[Token], ends: Ends) -> None:
        changes = ({"(": 1, ")": -1}.get(t.text, 0) * (t.kind is TokenType.MARK) for t in tokens)
        self._depths = [*accumulate(changes, initial=0)]
        self._lowest = self._depths[1:]  # from behind each token to the end
        self._ends = [0] * len(tokens)  # the next end of any statement; 0: there is none
        lowest, end = 0, 0
        for at in range(len(tokens) - 1, -1, -1):
            token = tokens[at]
            if token.kind in (TokenType.END, TokenType.DIRECTIVE):
                lowest, end = self._depths[at], 0
            lowest = self._lowest[at] = min(lowest, self._lowest[at])
            self._ends[at] = end
            if ends(tokens, at):
                end = at

    def is_open(self, since: int, at: int) -> bool:
        """Return whether the parenthesis at ``at`` is not closed, if the statement is ``since``."""
        return self._lowest[at] > self._depths[since]

    def next_end(self, at: int) -> int:
        """Return where any statement ends, even inside parentheses; 0 if there is no such place."""
        return self._ends[at]
