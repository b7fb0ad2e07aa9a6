"""The values of a decision about dialog security: dialog, type of security, obstacles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

from streams.analysis.known import Home
from streams.topology import Binding, Certificate, Source


class Mode(Enum):
    """The security of a dialog; the values are used in JSON output.

    ``LOCAL``: it stays in one instance. ``UNKNOWN``: no BEGIN DIALOG with its ENCRYPTION is known.
    """

    LOCAL = "local"
    NONE = "none"
    ANONYMOUS = "anonymous"
    FULL = "full"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


class SecurityError(IntEnum):
    """SQL Server's errors about dialog security."""

    NO_BINDING = 9727
    NO_CERTIFICATE = 9731
    NO_PRIVATE_KEY = 9733
    KEY_HAS_PASSWORD = 9737
    NOT_ACTIVE = 9767
    NOT_PERMITTED = 11215
    NOT_YET_VALID = 28024
    EXPIRED = 28025
    NO_MASTER_KEY = 28050
    NO_MASTER_KEY_AT_TARGET = 28051


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog of ``service`` in ``begins`` with the service ``to`` in ``end``.

    ``end`` is ``None`` if the target is not in the topology. ``encryption`` is that of BEGIN DIALOG
    at ``source``, or ``None`` if it is unknown.
    """

    begins: Home
    service: str
    to: str
    end: Home | None
    encryption: bool | None
    source: Source

    @property
    def begun(self) -> bool:
        """Return whether a BEGIN DIALOG is known; otherwise, the initiator may be a guess."""
        return self.encryption is not None

    @property
    def local(self) -> bool:
        """Return whether the dialog stays in one instance."""
        return self.end is not None and self.end.instance.name == self.begins.instance.name


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why the dialog's messages are not delivered.

    ``certificate`` is a certificate of ``at`` that is not valid now.
    """

    error: SecurityError
    at: Home
    source: Source
    why: str
    remedy: str
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True)
class DialogSecurity:
    """The security that a dialog uses, and its obstacles."""

    dialog: Dialog
    mode: Mode
    binding: Binding | None
    obstacles: tuple[Obstacle, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the security as a dictionary for JSON output."""
        return {
            "target": None if self.dialog.end is None else str(self.dialog.end),
            "encryption": self.dialog.encryption,
            "mode": self.mode.value,
            "binding": None if self.binding is None else self.binding.name,
            "obstacles": [
                {"error": int(one.error), "at": str(one.at), "reason": one.why}
                for one in self.obstacles
            ],
        }


Rule = Callable[[Dialog, Binding | None, float], Iterator[Obstacle]]
"""Finds the obstacles of one kind for a dialog with a binding, if any, at a time."""


def in_script(source: Source) -> bool:
    """Return whether an object is from a script.

    A script that mentions no certificate or permission creates none; other files may only describe
    the paths of messages.
    """
    return source.file.endswith(".sql")
