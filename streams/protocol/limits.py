"""Sizes, counts and durations of dialogs that SQL Server's documentation does not specify."""

from __future__ import annotations

from dataclasses import dataclass

_DAY = 86_400_000
_FRAGMENT = 65_536  # U-23


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits; durations are in milliseconds.

    Up to ``window`` unacknowledged fragments of a dialog are transmitted as soon as they are
    accepted. The other fragments wait in `cmd` until it is the dialog's turn; then ``wider`` times
    as many may be in flight. The receiver buffers this larger number of out-of-order fragments, but
    only ``window`` fragments for a queue that is off. One event delivers at most ``run`` buffered
    fragments. ``fragment`` and ``body`` are maximum sizes in bytes; ``copies`` is the maximum total
    size of all copies of one SEND.
    """

    window: int = 64
    wider: int = 16
    run: int = 32  # each fragment may be a whole body that must be validated
    hops: int = 16  # U-34
    time_to_live: int = 60_000  # U-35
    retries: tuple[int, ...] = (4_000, 8_000, 16_000, 32_000, 64_000)  # U-27
    recheck: int = 1_000  # delay of a retry that is due while the previous copy has not left `out`
    closed_initiator: int = 1_800_000
    max_lifetime: int = 2_147_483_647  # seconds
    fragment: int = _FRAGMENT
    body: int = 100_000_000  # U-24
    copies: int = 10_000_000  # the copies of one SEND are in one transaction

    @property
    def widest(self) -> int:
        """Return the window of a dialog that makes progress, when it is the dialog's turn."""
        return self.window * self.wider

    @property
    def frame(self) -> int:
        """Return the largest body of a frame: a fragment's, or an Error's, which is never split."""
        return max(self.fragment, _FRAGMENT)

    @property
    def late(self) -> int:
        """Return how long copies of the other side's last frame may still be appended to ``in``.

        The result is one and a half times the time to live, because the sender's and the broker's
        clocks may each be off by a quarter of the time to live. A copy that is appended later does
        not create an endpoint (``Message.is_late``).
        """
        return self.time_to_live + self.time_to_live // 2

    def retry_after(self, attempt: int) -> int:
        """Return how long to wait for the acknowledgement of an attempt."""
        return self.retries[min(max(0, attempt), len(self.retries) - 1)]

    def ask_after(self, attempt: int) -> int:
        """Return the time after which a closed target asks whether the initiator is closed."""
        return min(self.retries[-1] << min(max(0, attempt), 30), _DAY)

    def fragments(self, size: int) -> int:
        """Return the number of fragments of a body of ``size`` bytes."""
        return max(1, -(-size // self.fragment))
