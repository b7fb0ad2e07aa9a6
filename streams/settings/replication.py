"""The setting ``replication``: numbers of replicas and in-sync replicas.

With one replica, or min.insync.replicas of one, a broker failure loses acknowledged messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from streams.errors import UsageError

_FIXED = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
_BY_SIZE, _AS_IT_IS = "auto", "as-is"
_ENOUGH = 3
"""The minimum number of brokers with which any single broker can fail without loss or outage."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """A topic's replicas, and the number that must have a record before it is acknowledged."""

    count: int
    in_sync: int

    def __str__(self) -> str:
        return f"{self.count}/{self.in_sync}"


@dataclass(frozen=True, slots=True)
class Replication:
    """The setting: ``auto`` (by the number of brokers), ``3/2`` and the like, or ``as-is``.

    Raises UsageError for any other text.
    """

    text: str = _BY_SIZE

    def __post_init__(self) -> None:
        if self.text in (_BY_SIZE, _AS_IT_IS):
            return
        fixed = _FIXED.fullmatch(self.text)
        if fixed is None:
            raise UsageError(
                f"replication: '{self.text}' must be auto, as-is, or REPLICAS/IN_SYNC.",
                "For example 3/2.",
            )
        count, in_sync = int(fixed[1]), int(fixed[2])
        if count < in_sync:
            raise UsageError(
                f"replication: '{self.text}' requires {in_sync} replicas in sync, but a topic "
                f"would have only {count}.",
                "Write REPLICAS/IN_SYNC, such as 3/2; IN_SYNC must not exceed REPLICAS.",
            )

    @property
    def depends_on_brokers(self) -> bool:
        """Return whether the replication is chosen by the number of brokers."""
        return self.text == _BY_SIZE

    def wanted(self, brokers: int) -> Replicas | None:
        """Return the replication for a cluster with this many brokers; ``None`` for as-is."""
        if self.text == _AS_IT_IS:
            return None
        if self.text == _BY_SIZE:
            count = max(1, min(_ENOUGH, brokers))
            return Replicas(count, max(1, count - 1))
        count, in_sync = map(int, self.text.split("/"))
        return Replicas(count, in_sync)

    def warning(self, brokers: int) -> str:
        """Return why ``auto`` is unsafe on so few brokers; "" if ``auto`` is safe or not used."""
        if self.text != _BY_SIZE or brokers >= _ENOUGH:
            return ""
        return (
            f"The cluster has {brokers} broker{'s' * (brokers != 1)}, so topics have "
            f"{self.wanted(brokers)} (replicas/in sync). A broker that loses its disk loses "
            "acknowledged messages. Production needs three brokers; "
            f'replication = "{self.wanted(brokers)}" accepts this.'
        )
