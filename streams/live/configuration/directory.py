"""The directory of the configuration service: a file, or a database.

At the start a file must be valid as a whole, else it is an error with its line. Later it may be
edited: an error is returned to requests for the service of that line, and while the file is
unreadable, its previous content is used. A database is queried each time, and waited for while it
is unavailable.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Protocol

from streams.errors import InputError, UsageError
from streams.topology import Agent, Offer, load_offers

log = logging.getLogger("hopline.notice")

VARIABLE = "HOPLINE_DIRECTORY"
_SHAPE = "docs/writing_a_service.md has an example."


class Directory(Protocol):
    """The known addresses of services without a route."""

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return the entry of a service; raise SurroundingsError if that is unavailable."""


class FileDirectory:
    """A directory in a YAML file, reloaded when it has changed."""

    def __init__(self, path: Path) -> None:
        """Raise InputError or UsageError if the file is invalid."""
        self._path = path
        try:
            self._seen = _state(path)
            self._offers = load_offers(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", _SHAPE) from error
        _demand(path, self._offers)

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return the file's entry of a service, or the last one while it is unreadable."""
        self._look()
        return tuple(offer for offer in self._offers if offer.service == service)

    def _look(self) -> None:
        try:
            seen = _state(self._path)
            if seen == self._seen:
                return
            self._seen = seen  # an unreadable file is reported once
            self._offers = load_offers(self._path)
            log.info("%s: %d routes", self._path, len(self._offers))
        except (InputError, OSError) as error:
            log.error("%s\n  The previous version stays in use.", error)


def open_directory(named: str) -> Directory:
    """Return the directory at an SQLAlchemy URL or in a file, once it was readable.

    Raises UsageError, InputError or SurroundingsError if it is not.
    """
    if "://" not in named:
        return FileDirectory(Path(named))
    from streams.store.directory import SqlDirectory  # import SQLAlchemy only on demand

    directory = SqlDirectory.open(named)
    offers = directory.all()
    if not offers:
        log.warning("The directory in %s is empty.", directory.address)
    for offer in offers:
        for breach in offer.breaches:
            log.warning("%s: %s: %s", offer.source, offer.service, breach.detail)
    return directory


def directory_of(agent: Agent) -> Directory:
    """Return the directory of an agent's settings, else that of HOPLINE_DIRECTORY.

    A file's name is relative to the topology. Raises UsageError, InputError or SurroundingsError if
    there is none, or it is unreadable.
    """
    stated = agent.settings.get("directory")
    named = os.environ.get(VARIABLE) if stated is None else stated.text
    if not named:
        raise agent.runs.error(
            "no directory is set", f"Set directory: to a file or a URL, or set {VARIABLE}."
        )
    beside = "" if stated is None or "://" in named else Path(stated.source.file).parent
    return open_directory(str(Path(beside, named)) if beside else named)


def _demand(path: Path, offers: tuple[Offer, ...]) -> None:
    if not offers:
        raise UsageError(f"The directory {path} is empty.", _SHAPE)
    for offer in offers:
        for breach in offer.breaches:
            at = offer.source
            raise InputError(
                f"{offer.service}: {breach.detail}",
                file=at.file, line=at.line, column=at.column, remedy=breach.rule.remedy,
            )  # fmt: skip


def _state(path: Path) -> tuple[int, int, int]:
    """Return what changes when the file is written or replaced."""
    now = os.stat(path)
    return now.st_mtime_ns, now.st_size, now.st_ino
