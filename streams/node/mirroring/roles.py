"""All mirrored routes of one instance: the port of the forwarder, with what is to be told to whom.

Held in memory only: after a restart both partners are asked again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streams.errors import EventKind
from streams.node.events import Event, event
from streams.node.mirroring.mirror import Answer, MirroredRoute, Pair, Step, role_of
from streams.node.world import World
from streams.protocol import Limits
from streams.topology import Role

MOST_PAIRS = 10_000
"""The oldest of more is forgotten: messages from outside may name any broker id."""


@dataclass(frozen=True, slots=True)
class Question:
    """Ask one partner of a pair for its role; its answer repeats ``as_of``."""

    pair: Pair
    partner: int
    as_of: int


@dataclass(frozen=True, slots=True)
class RoleFrame:
    """What ``sb-role`` says: ROLE? while ``role`` is ``None``, else the ROLE that answers it."""

    service: str
    broker: str | None
    asker: str
    partner: int
    as_of: int
    role: Role | None = None
    epoch: int = 0


def reply(world: World, instance: str, asked: RoleFrame) -> RoleFrame:
    """Answer ROLE? as ``instance``, by what it knows."""
    role, epoch = role_of(world, instance, asked.service, asked.broker)
    return replace(asked, role=role, epoch=epoch)


@dataclass(slots=True)
class RoleBook:
    """The mirrored routes that an instance uses; times are epoch milliseconds."""

    instance: str
    limits: Limits = field(default_factory=Limits)
    _routes: dict[Pair, MirroredRoute] = field(default_factory=dict)
    _pairs: dict[uuid.UUID, Pair] = field(default_factory=dict)
    _questions: list[Question] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)

    def principal(
        self, pair: Pair, reachable: Callable[[int], bool], attempt: int, now: int
    ) -> int | None:
        """Return the partner that gets a copy, 0 or 1; ``None``: nobody does for the time being.

        ``attempt`` above 0 says that the copy before this one was not acknowledged.
        """
        route = self._routes.get(pair)
        if route is None:
            if len(self._routes) >= MOST_PAIRS:
                oldest = next(iter(self._routes))
                del self._routes[oldest], self._pairs[oldest.conversation]
            route = self._routes[pair] = MirroredRoute(self.limits)
            self._pairs[pair.conversation] = pair
        if attempt and route.principal is not None:
            before = now - self.limits.retry_after(attempt - 1)
            self._note(pair, route.failed(route.principal, before, now), now)
        self._note(pair, route.wanted(now, reachable), now)
        return route.principal

    def known(self, pair: Pair) -> int | None:
        """Return the partner that is taken for the principal now, and change nothing."""
        route = self._routes.get(pair)
        return None if route is None else route.principal

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Return the mirrored routes that were used."""
        return tuple(self._routes)

    def ask(self, question: Question) -> RoleFrame:
        """Return the ROLE? of a question."""
        pair = question.pair
        return RoleFrame(pair.service, pair.broker, self.instance, question.partner, question.as_of)

    def hear(self, conversation: uuid.UUID, said: RoleFrame, now: int) -> None:
        """Take a ROLE; its key is the conversation of the pair that it is about."""
        pair = self._pairs.get(conversation)
        if pair is not None and said.role is not None and said.partner in (0, 1):
            answer = Answer(said.partner, said.role, said.epoch, said.as_of)
            self.answer(pair, answer, now)

    def answer(self, pair: Pair, said: Answer, now: int) -> None:
        """Take a partner's answer; one about a route that nobody uses here means nothing."""
        route = self._routes.get(pair)
        if route is not None:
            self._note(pair, route.answer(said, now), now)

    def tick(self, now: int) -> None:
        """Ask again what is due."""
        for pair, route in self._routes.items():
            self._note(pair, route.tick(now), now)

    @property
    def next_due(self) -> int | None:
        """Return when :meth:`tick` has something to do."""
        return min(
            (r.next_due for r in self._routes.values() if r.next_due is not None), default=None
        )

    def take(self) -> tuple[tuple[Question, ...], tuple[Event, ...]]:
        """Hand over the questions to send and the events to emit."""
        taken = tuple(self._questions), tuple(self._events)
        self._questions.clear()
        self._events.clear()
        return taken

    def _note(self, pair: Pair, step: Step, now: int) -> None:
        self._questions.extend(Question(pair, partner, step.as_of) for partner in step.ask)
        if step.changed is not None:
            self._events.append(
                event(
                    EventKind.MIRRORED_ROUTE_STATE_CHANGED,
                    at=now,
                    instance=self.instance,
                    subclass=step.changed,
                    detail=" | ".join(map(str, pair.addresses)),
                    to_service=pair.service,
                    to_broker=pair.broker,
                )
            )
