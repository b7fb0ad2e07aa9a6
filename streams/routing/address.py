"""Next-hop addresses: ``TCP://host:port``, ``LOCAL`` and ``TRANSPORT`` (reference 1.3, 2.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

DEFAULT_PORT = 4022
"""The default port of an address (U-03)."""

_HOST = r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+)"
_ADDRESS = re.compile(rf"tcp://{_HOST}(?::(?P<port>[0-9]{{1,5}}))?/?", re.IGNORECASE)
_NAME_PREFIX = re.compile(
    rf"tcp://{_HOST}(?::(?P<port>[0-9]{{1,5}}))?(?:/.*)?", re.IGNORECASE | re.S
)


class AddressKind(Enum):
    """The kind of an address; the keywords are case-insensitive (U-04)."""

    LOCAL = "LOCAL"
    TRANSPORT = "TRANSPORT"
    NETWORK = "NETWORK"


@dataclass(frozen=True, slots=True)
class Address:
    """A next hop. ``host`` keeps its spelling, but comparisons ignore its case; see :attr:`key`."""

    kind: AddressKind
    host: str = ""
    port: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """Return the key that all spellings of an address share."""
        return (self.kind.value, self.host.casefold(), self.port)

    def __str__(self) -> str:
        network = self.kind is AddressKind.NETWORK
        return f"tcp://{self.host}:{self.port}" if network else str(self.kind.value)


LOCAL = Address(AddressKind.LOCAL)
TRANSPORT = Address(AddressKind.TRANSPORT)


def network(host: str, port: int = DEFAULT_PORT) -> Address:
    """Build a network address."""
    return Address(AddressKind.NETWORK, host, port)


def parse_address(text: str) -> Address | None:
    """Parse an ADDRESS or MIRROR_ADDRESS clause; ``None`` if invalid (9744)."""
    keyword = text.strip().upper()
    if keyword == "LOCAL":
        return LOCAL
    if keyword == "TRANSPORT":
        return TRANSPORT
    return _network(_ADDRESS.fullmatch(text.strip()))


def address_from_name(service: str) -> Address | None:
    """Return the address at the start of a service name, for TRANSPORT routes (2.3)."""
    return _network(_NAME_PREFIX.fullmatch(service))


def _network(match: re.Match[str] | None) -> Address | None:
    if match is None:
        return None
    given = match["port"]
    port = int(given) if given else DEFAULT_PORT
    if not 0 < port < 65536:
        return None
    return Address(AddressKind.NETWORK, match["host"], port)
