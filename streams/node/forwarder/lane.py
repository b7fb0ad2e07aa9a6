"""What all first copies of one route have in common, decided once for a whole batch."""

from __future__ import annotations

from dataclasses import dataclass

from streams.node.forwarder.outcome import Place


@dataclass(frozen=True, slots=True)
class Lane:
    """Where every first copy goes that carries this ``sb-route`` now: messages, or their answers.

    What is left to look at is the copy's ``sb-hop``: is it a first transmission that has time and
    hops left? ``begun``: it begins here, and must prefer the first address; ``spend``: it uses a
    hop; ``inside`` and ``database``: as in :class:`streams.node.Copy`; ``hide``: the path so far is
    left out.
    """

    place: Place
    instance: str
    route: bytes
    begun: bool = False
    spend: bool = False
    inside: bool = False
    database: str | None = None
    hide: bool = False
