"""The frames that endpoints exchange.

A *frame* is a message or an acknowledgement. Its envelope has three parts that change at different
times: :class:`Parties` (constant for one direction of a dialog), :class:`Header` (written once per
message) and :class:`Journey` (one per copy). Times are in epoch milliseconds. All three are named
tuples because they are created and hashed at least once per message, which takes three times as
long with frozen dataclasses.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from enum import IntFlag
from functools import lru_cache
from typing import Any, NamedTuple

Fragment = tuple[int, int]
"""(sequence, fragment): a fragment's place in one direction of a dialog; sorts in that order."""
Run = tuple[Fragment, Fragment]
"""The first and the last of a run of consecutive fragments."""


class Flag(IntFlag):
    """Properties of a message besides its type."""

    NONE = 0
    END = 1
    ERROR = 2
    UNSEQUENCED = 4
    SKIPS = 8  # the preceding numbers are missing on purpose (U-47)


_UNSEQUENCED = int(Flag.UNSEQUENCED)
_REQUEST_IDS = uuid.UUID("c0a7a0f9-9d0e-5f3a-8a3c-1b6f0a9b7d52")
_SHORT_PATH, _SHORT_NAMES = 32, 1_024
"""Limits of what is cached: visits of a path (twice the hop limit), and characters of names."""


class Parties(NamedTuple):
    """The two sides of a dialog; ``locked``: ``to_broker`` is from a frame of the target."""

    to_service: str
    to_broker: str | None
    from_service: str
    from_broker: str
    contract: str
    from_initiator: bool
    locked: bool = False


def parties_of(fields: tuple[Any, ...]) -> Parties:
    """Return the parties with these fields, in order; parties with short names are cached."""
    to_service, to_broker, from_service, from_broker, contract, *_ = fields
    names = len(to_service) + len(from_service) + len(from_broker) + len(contract)
    is_short = names + len(to_broker or "") <= _SHORT_NAMES
    return (_cached_parties if is_short else Parties)(*fields)


_cached_parties = lru_cache(16_384)(Parties)


class Header(NamedTuple):
    """A message: the fields that are the same in every copy."""

    message_id: uuid.UUID
    type: str
    sequence: int
    enqueued_at: int
    dialog_expires_at: int
    flags: Flag = Flag.NONE
    fragment: int = 0
    fragments: int = 1

    @property
    def sequenced(self) -> bool:
        """Return whether the message has a place in the dialog's order (4.3)."""
        return not self.is_a(_UNSEQUENCED)

    def is_a(self, flags: int) -> bool:
        """Return whether any of these flags is set; uses plain numbers for speed."""
        return int(self.flags) & int(flags) != 0

    @property
    def at(self) -> Fragment:
        """Return this fragment's place in the order of its direction."""
        return self.sequence, self.fragment

    @property
    def after(self) -> Fragment:
        """Return the place of the following fragment of the same message."""
        return following(self.at, self.fragments)


class Journey(NamedTuple):
    """The path of one copy: ``path`` contains (instance, arrival) for each instance."""

    hops_remaining: int
    expires_at: int
    attempt: int
    sent_at: int
    first_hop: int = 0
    path: tuple[tuple[str, int], ...] = ()

    @property
    def is_short(self) -> bool:
        """Return whether the journey is short enough to cache; a foreign journey can be large."""
        return (
            len(self.path) <= _SHORT_PATH
            and sum(len(instance) for instance, _ in self.path) <= _SHORT_NAMES
        )


class Message(NamedTuple):
    """A received message frame. ``inside``: it was sent from the instance that delivers it.

    ``appended_at`` is the time at which Kafka appended it to ``in``, by the broker's clock; 0 if
    unknown.
    """

    conversation: uuid.UUID
    parties: Parties
    header: Header
    journey: Journey
    body: bytes
    inside: bool = False
    appended_at: int = 0

    @property
    def is_late(self) -> bool:
        """Return whether the copy was appended to ``in`` after its time to live."""
        return self.journey.expires_at <= self.appended_at


def following(at: Fragment, fragments: int) -> Fragment:
    """Return the place after ``at`` in a message with this number of fragments."""
    sequence, fragment = at
    return (sequence + 1, 0) if fragment + 1 >= fragments else (sequence, fragment + 1)


def joined(fragments: Sequence[Message]) -> Message:
    """Return a reassembled message, with the path of its last fragment."""
    last = fragments[-1]
    if len(fragments) == 1:
        return last
    body = b"".join(message.body for message in fragments)
    return last._replace(header=last.header._replace(fragment=0, fragments=1), body=body)


UNPROVOKED = -1
"""The attempt of an unprovoked acknowledgement, which reports that the receiver has room again."""


class Ack(NamedTuple):
    """A cumulative acknowledgement: all fragments before ``next`` are stored.

    ``held`` lists runs of fragments that are stored out of order (U-26). ``attempt`` is the attempt
    of the copy that provoked the acknowledgement, or :data:`UNPROVOKED`.
    """

    next_sequence: int
    highest_seen: int = -1
    attempt: int = 0
    first_hop: int = 0
    sent_at: int = 0
    closed: bool = False
    held: tuple[Run, ...] = ()
    next_fragment: int = 0

    @property
    def next(self) -> Fragment:
        """Return the place of the first fragment that is not stored."""
        return self.next_sequence, self.next_fragment


class Acknowledgement(NamedTuple):
    """A received acknowledgement frame."""

    conversation: uuid.UUID
    parties: Parties
    ack: Ack


class Status(NamedTuple):
    """The local forwarder's report of a copy that it could not send.

    A report with a ``service`` (and the wanted ``broker``) does not concern a dialog: it makes the
    database request a route. Its ``conversation`` then selects the partition that stores the
    request. ``sequence`` is -1 if the report is from an older forwarder, which did not name the
    message.
    """

    conversation: uuid.UUID
    database: str
    from_initiator: bool
    number: int
    attempt: int
    at: int
    service: str | None = None
    broker: str | None = None
    sequence: int = -1


def request_owner(broker_id: str, service: str) -> uuid.UUID:
    """Return the id whose partition stores a database's route requests for a service."""
    return uuid.uuid5(_REQUEST_IDS, f"{broker_id}\0{service}")
