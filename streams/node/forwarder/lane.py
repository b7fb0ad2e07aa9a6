"""The decision, made once per batch, that all copies (or all first copies) of a route share."""

from __future__ import annotations

from dataclasses import dataclass

from streams.node.forwarder.outcome import Place


@dataclass(frozen=True, slots=True)
class Lane:
    """The destination that all first copies with the same ``sb-route`` share.

    Messages and acknowledgements have separate lanes. Only the copy's ``sb-hop`` remains to be
    checked. The copy must have time and hops left. It must also be a first transmission, unless
    ``retries`` is set because the route has only one address. ``begun``: the copy was sent from
    this instance and must prefer the first address; ``spend``: forwarding uses up a hop; ``inside``
    and ``database``: as in :class:`streams.node.Copy`; ``hide``: the path so far is omitted.
    """

    place: Place
    instance: str
    route: bytes
    begun: bool = False
    spend: bool = False
    inside: bool = False
    database: str | None = None
    hide: bool = False
    retries: bool = False
