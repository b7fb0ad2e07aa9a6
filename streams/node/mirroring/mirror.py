"""Choose the principal of a mirrored route, by the rules of reference 2.4.

An instance that uses a mirrored route asks **both** partners which of them is the principal, and
does not send to either before one of them claims the role. The instance stays with that principal
until a failure (U-15): the principal is unreachable, reports that it is no longer the principal, or
does not answer although copies to it remain unacknowledged. Then the instance asks both partners
again, immediately and later with the back-off of a retry (U-27). It uses the other partner only if
**that partner claims the role**. Otherwise messages remain where they are (9794), because the
partners may still reach each other although this instance cannot reach the principal.

*Epochs* prevent an instance from trusting a former principal. Every failover creates a higher
epoch, and every answer contains the newest epoch that the partner knows. A claim counts only for
the newest epoch that this instance knows, and each epoch has only one holder.

No request is actually sent, because a partner's last claim is the answer (``claims`` and
``principals``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from streams.protocol import Limits
from streams.routing import Address
from streams.topology import Role

_NEVER = (-1, -1, False)


class RouteState(IntEnum):
    """The subclass of event 144, Broker:Mirrored Route State Changed."""

    OPERATIONAL = 1
    PRINCIPAL_ONLY = 2  # the other partner does not answer
    NOT_OPERATIONAL = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A mirrored route: partner 0 is ADDRESS, and partner 1 is the mirror.

    ``broker`` is ``None`` only if the record has no broker id (C-06).
    """

    service: str
    broker: str | None
    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class RoleAnswer:
    """A partner's answer, valid at ``as_of`` or later, by this instance's clock."""

    partner: int
    role: Role
    epoch: int
    as_of: int


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one input: the partners to ask, and event 144 if the route's state has changed.

    ``as_of`` identifies the question; no two questions of a route have the same value.
    """

    ask: tuple[int, ...] = ()
    changed: RouteState | None = None
    as_of: int = 0


@dataclass(slots=True)
class _Partner:
    """State of one partner; a ``silent`` partner has not answered for a whole round."""

    heard: tuple[int, int, bool] = _NEVER
    owes: bool = False
    silent: bool = False


@dataclass(slots=True)
class MirroredRoute:
    """The view that one instance has of a mirrored route. Times are in epoch milliseconds.

    ``principal`` is the only partner to which messages may be sent, ``epoch`` the newest known
    epoch, ``holder`` the partner that claimed that epoch. If this state is lost, both partners are
    asked again, as on first use.
    """

    limits: Limits = field(default_factory=Limits)
    principal: int | None = None
    epoch: int = -1
    holder: int | None = None
    state: RouteState | None = None
    _partners: tuple[_Partner, _Partner] = field(default_factory=lambda: (_Partner(), _Partner()))
    _asked_at: int | None = None
    _since: int = 0
    _rounds: int = 0
    _used: bool = False

    def wanted(self, now: int, reachable: Callable[[int], bool]) -> Step:
        """Find the principal for a message; the result is in :attr:`principal`."""
        if self.principal is not None and not reachable(self.principal):
            self._partners[self.principal].silent = True
            self._lose()
        self._used = self._used or self.principal is not None
        return self._round(now)

    def failed(self, partner: int, sent_at: int, now: int) -> Step:
        """Doubt the principal: a copy sent to it at ``sent_at`` was not acknowledged in time.

        The principal keeps the role while it is asked again; it loses the role if it does not
        answer.
        """
        asked = self._partners[partner]
        if partner == self.principal and not asked.owes and asked.heard[1] <= sent_at:
            asked.owes = True
            self._rounds = 0
        return self._round(now)

    def answer(self, said: RoleAnswer, now: int) -> Step:
        """Process a partner's answer, unless the same partner has given a newer answer."""
        partner = self._partners[said.partner]
        # A partner's epoch only increases, so an answer with a higher epoch is newer, even if it
        # was requested earlier. Of two answers to the same question, the answer without a claim
        # counts.
        heard = (said.epoch, said.as_of, said.role is Role.MIRROR)
        if self._asked_at is None or said.as_of < self._since or heard < partner.heard:
            return Step()
        partner.heard, partner.owes, partner.silent = heard, False, False
        if said.epoch > self.epoch:
            self.epoch, self.holder = said.epoch, None
            self._lose()
        claims = said.role is Role.PRINCIPAL and said.epoch == self.epoch
        if claims and self.holder in (None, said.partner):
            self.principal = self.holder = said.partner
        elif said.role is Role.MIRROR and self.principal == said.partner:
            self._lose()
        return self._round(now)

    def tick(self, now: int) -> Step:
        """Process timeouts; ask partners that have not answered again when due."""
        return Step() if self._asked_at is None else self._round(now)

    @property
    def next_due(self) -> int | None:
        """Return the time at which :meth:`tick` must be called next."""
        owed = self.principal is None or any(p.owes for p in self._partners)
        if self._asked_at is None or not owed:
            return None
        return self._asked_at + (self.limits.retry_after(self._rounds - 1) if self._rounds else 0)

    def _lose(self) -> None:
        """Forget the principal; if it was used since the last round, ask both partners now."""
        self.principal = None
        if self._used:
            self._rounds = 0

    def _round(self, now: int) -> Step:
        due = now if self._asked_at is None else self.next_due
        if due is None or now < due:
            return Step(changed=self._change())
        if self._asked_at is None:
            self._since = now  # earlier answers no longer count
        if self._rounds:
            for partner in self._partners:
                partner.silent = partner.owes
            if self.principal is not None and self._partners[self.principal].owes:
                self.principal = None
        both = self.principal is None or self._rounds == 0
        ask = tuple(n for n, partner in enumerate(self._partners) if both or partner.owes)
        for n in ask:
            self._partners[n].owes = True
        self._asked_at = now if self._asked_at is None else max(now, self._asked_at + 1)
        self._used = False
        self._rounds += 1
        return Step(ask, self._change(), self._asked_at)

    def _change(self) -> RouteState | None:
        """Return the route's state if the state has changed."""
        before = self.state
        if self.principal is not None:
            alone = self._partners[1 - self.principal].silent
            self.state = RouteState.PRINCIPAL_ONLY if alone else RouteState.OPERATIONAL
        elif before is not None or self._rounds > 1 or not any(p.owes for p in self._partners):
            self.state = RouteState.NOT_OPERATIONAL
        return self.state if self.state is not before else None
