"""The common decision for all first copies of one route, made once per batch."""

from __future__ import annotations

from dataclasses import dataclass

from streams.node.forwarder.outcome import Place


@dataclass(frozen=True, slots=True)
class Lane:
    """The destination of every first copy with this ``sb-route``: messages, or their answers.

    Only the copy's ``sb-hop`` remains to be checked: a first transmission with time and hops left.
    ``begun``: sent from this instance, and must prefer the first address; ``spend``: it uses a hop;
    ``inside`` and ``database``: as in :class:`streams.node.Copy`; ``hide``: the path so far is left
    out.
    """

    place: Place
    instance: str
    route: bytes
    begun: bool = False
    spend: bool = False
    inside: bool = False
    database: str | None = None
    hide: bool = False
