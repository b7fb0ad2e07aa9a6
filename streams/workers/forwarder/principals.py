"""Who of each mirrored pair is the principal, by what the partners say in their signs of life.

A forwarder asks (:class:`streams.node.RoleBook`); what a partner has said last is the answer, for
as long as it gives signs of life. Whoever has not said anything yet, or is silent, owes it.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.node import Answer, Claim, Event, Pair, Question, RoleBook, answer_in
from streams.routing import Address
from streams.workers.control import Control

_ROUNDS = 3


class Principals:
    """The mirrored routes of one forwarder; what the forwarder asks (``Roles`` of ``node``).

    ``instance_at`` tells where an address leads. Times are epoch milliseconds.
    """

    def __init__(
        self, instance: str, control: Control, instance_at: Callable[[Address], str | None]
    ) -> None:
        self._book = RoleBook(instance)
        self._control = control
        self._instance_at = instance_at
        self._owed: dict[tuple[Pair, int], Question] = {}
        self._heard: dict[str, tuple[Claim, ...] | None] = {}
        self._events: list[Event] = []

    def principal(
        self, pair: Pair, reachable: Callable[[int], bool], attempt: int, now: int
    ) -> int | None:
        """Return the partner that gets a copy, 0 or 1; ``None``: nobody does for the time being."""
        self._book.principal(pair, reachable, attempt, now)
        self._settle(now)
        return self._book.known(pair)

    @property
    def are_asked_for(self) -> bool:
        """Tell whether any mirrored route was used: what its partners announce is looked for."""
        return bool(self._book.pairs)

    def look(self, now: int) -> tuple[Event, ...]:
        """Hear what has been said since; returns what is to be told (event 144)."""
        self._book.tick(now)
        news = {name for name, last in self._heard.items() if self._control.claims(name) != last}
        if news:
            for pair in self._book.pairs:
                for partner in (0, 1):
                    if self._instance_at(pair.addresses[partner]) in news:
                        self._answer(pair, partner, now, now)
        self._settle(now)
        events, self._events = tuple(self._events), []
        return events

    def _settle(self, now: int) -> None:
        """Answer what is asked and not answered yet, as far as somebody has said it.

        An answer may lead to another question, which is answered as well, or next time.
        """
        for _ in range(_ROUNDS):
            questions, events = self._book.take()
            self._events += events
            self._owed.update({(q.pair, q.partner): q for q in questions})
            for (pair, partner), question in list(self._owed.items()):
                if self._answer(pair, partner, question.as_of, now):
                    del self._owed[pair, partner]

    def _answer(self, pair: Pair, partner: int, as_of: int, now: int) -> bool:
        instance = self._instance_at(pair.addresses[partner])
        if instance is None:
            return False
        claims = self._heard[instance] = self._control.claims(instance)
        if not self._control.reachable(instance):
            return False
        said = answer_in(claims or (), self._control.world, instance, pair)
        if said is None:
            return False
        self._book.answer(pair, Answer(partner, *said, as_of), now)
        return True
