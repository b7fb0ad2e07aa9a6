"""Keep the values of variables in branches, within limits for the whole script.

A branch records only the variables that it changes, because a script may have thousands of
variables and of branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streams.topology.tsql.sqlcmd import MOST_ADDED
from streams.topology.tsql.tokens import Token

Value = str | int
_OPERATORS = frozenset("+-*/%&|^")
_OUTPUT = frozenset({"OUTPUT", "OUT"})
_DEEP = 32
"""The level of branches from which their recorded changes count."""


class Budget:
    """How many characters the variables and the dynamic SQL of one script may add to it.

    ``length`` is the number of characters of the script. When the budget is exhausted, all values
    are unknown: a few lines could otherwise expand to more than fits into memory.
    """

    def __init__(self, length: int) -> None:
        self.limit = max(MOST_ADDED, length)
        self._spent = 0

    @property
    def exhausted(self) -> bool:
        """Return whether the script has added more characters than it may."""
        return self._spent > self.limit

    def spend(self, characters: int) -> None:
        """Count characters that the script adds."""
        self._spent += characters


@dataclass(frozen=True, slots=True)
class Known:
    """A known value; ``origin`` is its first literal.

    ``added``: the number of its characters that are not in the literals of its expression.
    """

    value: Value
    origin: Token = field(compare=False)
    added: int = field(default=0, compare=False)

    @property
    def size(self) -> int:
        """Return the number of characters of a string."""
        return len(self.value) if isinstance(self.value, str) else 0


Changes = dict[str, Known | None]
"""Values by the case-folded names of variables; ``None`` is an unknown value."""


class Variables(dict[str, Known]):
    """The variables with a known value, by case-folded name."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget = budget
        self._before: list[Changes] = []  # of each branch: the values that it has changed
        self._put: set[str] = set()  # since the last call of forget_from
        self._tokens: Sequence[Token] = ()
        self._last_change: Mapping[str, int] = {}

    def value(self, name: str) -> Known | None:
        """Return the value of a variable, or ``None`` if it is unknown."""
        return None if self.budget.exhausted else self.get(name.casefold())

    def put(self, name: Token, value: Known | None) -> None:
        """Set a variable; ``None``: its value is unknown."""
        key = name.text.casefold()
        if value is not None:
            old = self.get(key)
            self.budget.spend(max(0, min(value.added, value.size - (old.size if old else 0))))
        self._set(key, value)

    def forget_from(self, tokens: Sequence[Token], at: int) -> None:
        """Forget every variable that a batch may change at this position or later.

        ``at`` must not decrease: only variables that have been set since the last call are checked.
        """
        if not self:
            return
        if self._tokens is not tokens:
            self._tokens, self._put = tokens, set(self)
            self._last_change = {key: n for n, key in changed_variables(tokens)}
        for key in self._put:
            if self._last_change.get(key, -1) >= at:
                self._set(key, None)
        self._put.clear()

    # --- Branches --------------------------------------------------------------------------------

    def branch(self) -> None:
        """Start a branch."""
        self._before.append({})

    def undo(self) -> Changes:
        """Return the variables that the current branch has changed; restore their old values."""
        before = self._before[-1]
        after = {key: self.get(key) for key in before}
        self._before[-1] = {}
        for key, value in before.items():
            self._restore(key, value)
        return after

    def merge(self, other: Changes) -> None:
        """End a branch; keep the variables that are the same whether or not it is taken.

        ``other``: the changes of the other branch, if there is one.
        """
        before = self._before.pop()
        changed = before.keys() | other.keys()
        if len(self._before) >= _DEEP:
            self.budget.spend(len(changed))
        if self.budget.exhausted:
            self.clear()
            return
        for key in changed:
            old = before[key] if key in before else self.get(key)
            if self._before:
                self._before[-1].setdefault(key, old)
            if key in self and self[key] != other.get(key, old):
                del self[key]

    def _set(self, key: str, value: Known | None) -> None:
        old = self.get(key)
        if self._before and key not in self._before[-1]:
            self._before[-1][key] = old
            if len(self._before) > _DEEP and old is not None:
                self.budget.spend(old.size)  # deep branches may keep many old values in memory
        self._restore(key, value)

    def _restore(self, key: str, value: Known | None) -> None:
        if value is None or self.budget.exhausted:
            self.pop(key, None)
        else:
            self[key] = value
            self._put.add(key)


def changed_variables(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Yield position and name of all that tokens may change: ``@x =``, ``@x OUTPUT``, INTO @x."""
    into = False
    for at, token in enumerate(tokens):
        if token.upper.startswith("@"):
            if into or _changes(tokens[at + 1 : at + 3]):
                yield at, token.text.casefold()
        else:
            into = token.upper == "INTO" or (into and token.is_mark(","))


def _changes(behind: Sequence[Token]) -> bool:
    if not behind:
        return False
    first = behind[0]
    compound = first.text in _OPERATORS and len(behind) > 1 and behind[1].is_mark("=")
    return first.is_mark("=") or first.upper in _OUTPUT or compound
