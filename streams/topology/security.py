"""Security of dialogs and transport: certificates, permissions, and endpoint encryption.

Security settings do not affect the path of a message, only whether the path works (reference 4.14,
8.2). Workers do not need them, so they are not in the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from streams.topology.findings import NOWHERE, Source


class Encryption(Enum):
    """Whether an endpoint requires encrypted connections; REQUIRED is the engine's default."""

    REQUIRED = "required"
    SUPPORTED = "supported"
    DISABLED = "disabled"


class Securable(Enum):
    """The kind of object to which a permission applies."""

    SERVICE = "service"
    ENDPOINT = "endpoint"


class PrivateKey(Enum):
    """How a certificate's private key is stored; dialogs can only use MASTER_KEY (9733, 9737)."""

    ABSENT = "absent"
    MASTER_KEY = "master_key"
    PASSWORD = "password"


OWNER = "dbo"
"""The owner of objects without AUTHORIZATION, because scripts usually run as dbo."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate; dates are in epoch seconds, UTC, ``None`` if unknown.

    ``user`` is the owner (AUTHORIZATION), which a remote service binding names as its user.
    ``private_key`` is ``None`` if unknown. ``active``: ACTIVE FOR BEGIN_DIALOG.
    """

    name: str
    starts: float | None = None
    expires: float | None = None
    subject: str | None = None
    user: str | None = None
    private_key: PrivateKey | None = None
    active: bool = True
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """GRANT (DENY if ``denied``) of SEND on a service or CONNECT on an endpoint."""

    permission: str
    securable: Securable
    name: str
    principal: str
    denied: bool = False
    source: Source = field(default=NOWHERE, compare=False)
