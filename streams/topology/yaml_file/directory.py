"""A service directory in a file: ``lifetime``, and routes as in a topology."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.topology.offers import OFFER_LIFETIME, Offer
from streams.topology.yaml_file.nodes import Node, optional, parse_file

_KEYS = ("lifetime", "routes")
_ROUTE_KEYS = ("service_name", "broker_instance", "address", "mirror_address", "lifetime")


def load_offers(path: Path) -> tuple[Offer, ...]:
    """Read a directory; raise InputError for a wrong structure, and OSError if it is unreadable."""
    root = parse_file(path)
    if root is None:
        return ()
    given = root.fields("a directory", _KEYS)
    lifetime = _lifetime(given, OFFER_LIFETIME)
    items = given["routes"].items("routes") if "routes" in given else ()
    return tuple(_offer(item, lifetime) for item in items)


def _offer(node: Node, lifetime: int) -> Offer:
    given = node.fields("a route", _ROUTE_KEYS)
    for key in ("service_name", "address"):
        if key not in given or given[key].is_null:
            raise node.error(f"a route without {key}", f"Add {key}: to it.")
    broker, mirror = (optional(given, key) for key in ("broker_instance", "mirror_address"))
    return Offer(
        given["service_name"].text("the service's name"),
        given["address"].text("address"),
        broker,
        mirror,
        _lifetime(given, lifetime),
        node.source,
    )


def _lifetime(given: Mapping[str, Node], otherwise: int) -> int:
    if "lifetime" not in given or given["lifetime"].is_null:
        return otherwise
    return given["lifetime"].integer("lifetime in seconds", -(2**63), 2**63)
