"""What secures dialogs and transport: certificates, permissions, an endpoint's encryption.

Nothing here decides where a message goes; it decides whether the path can be used at all
(reference 4.14, 8.2). Workers do not need it, so it is no part of the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streams.topology.findings import NOWHERE, Source


class Encryption(Enum):
    """What an endpoint demands of a connection; REQUIRED is the engine's default."""

    REQUIRED = "required"
    SUPPORTED = "supported"
    DISABLED = "disabled"


class Securable(Enum):
    """What a permission is about."""

    SERVICE = "service"
    ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate; dates are in epoch seconds, UTC, ``None`` where nobody stated them.

    ``user`` is its owner (AUTHORIZATION): the user whom a remote service binding names.
    """

    name: str
    starts: float | None = None
    expires: float | None = None
    subject: str | None = None
    user: str | None = None
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """GRANT, or DENY where ``denied``, of SEND on a service or CONNECT on an endpoint."""

    permission: str
    securable: Securable
    name: str
    principal: str
    denied: bool = False
    source: Source = field(default=NOWHERE, compare=False)
