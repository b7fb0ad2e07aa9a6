"""The settings of the dashboard."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path

from streams.kafka import Cluster
from streams.store import MONITOR_STORE


@dataclass(frozen=True, slots=True)
class DashboardConfig:
    """The settings of one dashboard."""

    store: str = MONITOR_STORE
    """SQLAlchemy URL of the monitor's store."""
    host: str = "127.0.0.1"
    port: int = 8090
    """Port to listen on; 0 selects a free port."""
    published: tuple[str, int] | None = None
    """The external address, if different: the address of a container's port on its host."""
    topology: Path | None = None
    """The topology's folder; None uses the cluster's catalog."""
    cluster: Cluster | None = None
    """The cluster from which dialogs and the catalog are read; None shows only the store."""
    token: str | None = None
    """The required token; empty on loopback."""
    refresh: float = 2.0
    """Refresh interval in seconds."""

    @property
    def local(self) -> bool:
        """Return whether only this machine, or the container's host, can reach the dashboard."""
        return is_loopback(self.published[0] if self.published else self.host)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is loopback, which other machines cannot reach."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)
