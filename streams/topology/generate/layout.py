"""The instances of an estate: hubs, and regions whose servers are behind two gateways."""

from __future__ import annotations

from dataclasses import dataclass

SMALLEST, LARGEST = 8, 26
"""Minimum number of instances of a region with gateways, and maximum of any region."""
_PLACES = ("North", "South", "East", "West", "Central", "Coast", "Lakes", "Hills")


@dataclass(frozen=True, slots=True)
class Region:
    """Servers that reach each other directly, and all other servers through their gateways."""

    name: str
    gateways: tuple[str, ...]
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The estate's instances; ``hubs`` connect the gateways of its regions."""

    hubs: tuple[str, ...]
    regions: tuple[Region, ...]


def lay_out(instances: int) -> Layout:
    """Distribute instances over regions with two gateways each; several regions get two hubs."""
    if instances < SMALLEST:
        return Layout((), (_region("North", instances, 0),))
    if instances <= LARGEST:
        return Layout((), (_region("North", instances, 2),))
    wanted = instances - 2
    number = -(-wanted // LARGEST)
    sizes = [wanted // number + (n < wanted % number) for n in range(number)]
    return Layout(
        ("Hub-1", "Hub-2"),
        tuple(_region(_name(n), size, 2) for n, size in enumerate(sizes)),
    )


def _region(name: str, size: int, gateways: int) -> Region:
    return Region(
        name,
        tuple(f"{name}-Gateway-{n}" for n in range(1, gateways + 1)),
        tuple(f"{name}-SQL{n:02}" for n in range(1, size - gateways + 1)),
    )


def _name(number: int) -> str:
    turn, place = divmod(number, len(_PLACES))
    return _PLACES[place] + (str(turn + 1) if turn else "")
