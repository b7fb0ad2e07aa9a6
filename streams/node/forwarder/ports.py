"""The ports of a forwarder: the envelope codec, and the principals of mirrored pairs."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Protocol

from streams.node.mirroring.mirror import Pair
from streams.protocol import Header, Parties


class HopView(Protocol):
    """The header ``sb-hop`` of one copy, which is read and edited without being decoded."""

    @property
    def raw(self) -> bytes:
        """Return the header's bytes."""

    @property
    def hops_remaining(self) -> int:
        """Return the number of forwarders that may still forward the copy."""

    @property
    def attempt(self) -> int:
        """Return the number of the retry, or 0 for the first transmission."""

    @property
    def first_hop(self) -> int:
        """Return the index of the preferred next hop of the sender."""

    @property
    def visits(self) -> int:
        """Return the number of instances on the path before this instance."""

    def expired(self, now: int) -> bool:
        """Return whether the time to live has expired at ``now`` (epoch milliseconds)."""

    def edited(
        self,
        instance: str,
        at: int,
        block: bytes,
        *,
        spend: bool,
        first_hop: int | None = None,
        hide: bool = False,
    ) -> bytes:
        """Return the header for the next instance; with ``hide``, omit the path so far."""


class Roles(Protocol):
    """The principals of mirrored pairs, as far as this instance knows (reference 2.4)."""

    def principal(
        self, pair: Pair, reachable: Callable[[int], bool], attempt: int, now: int
    ) -> int | None:
        """Return the partner for a copy (0 or 1), or ``None`` if there is none at present."""


class EnvelopeCodec(Protocol):
    """Decode and encode the envelope; raise MalformedError of ``wire`` for invalid bytes."""

    def conversation(self, key: bytes) -> uuid.UUID:
        """Read the conversation id, which is the record's key."""

    def parties(self, raw: bytes) -> Parties:
        """Decode ``sb-route``."""

    def encode_parties(self, parties: Parties) -> bytes:
        """Encode ``sb-route``."""

    def header(self, raw: bytes) -> Header:
        """Decode ``sb-message``."""

    def hop(self, raw: bytes) -> HopView:
        """View ``sb-hop``."""

    def visit(self, instance: str, at: int) -> bytes:
        """Return the block that adds one visit to a path."""
