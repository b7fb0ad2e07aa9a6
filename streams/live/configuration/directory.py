"""The directory of the configuration service: a file, or a database.

At startup, the whole file must be valid; otherwise, the error names the line. The file may be
edited later. Requests for a service with an invalid entry then get an error, and while the whole
file is unreadable, its previous content is used. A database is queried for each request; while it
is unavailable, requests wait.
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
        """Return a service's entry; raise SurroundingsError if the directory is unavailable."""


class FileDirectory:
    """A directory in a YAML file, reloaded when it has changed."""

    def __init__(self, path: Path) -> None:
        """Read the file; raise InputError or UsageError if it is invalid."""
        self._path = path
        try:
            self._seen = _state(path)
            self._offers = load_offers(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", _SHAPE) from error
        _demand(path, self._offers)

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return a service's entry, or its previous entry while the file is unreadable."""
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
    """Return the directory at an SQLAlchemy URL or in a file, and check that it is readable.

    Raises UsageError, InputError or SurroundingsError if the directory is not readable.
    """
    if "://" not in named:
        return FileDirectory(Path(named))
    from streams.store.directory import SqlDirectory  # import SQLAlchemy only on demand

    directory = SqlDirectory.open(named)
    offers = directory.all()
    directory.find("")  # fails if the type of the names cannot be compared with text
    if not offers:
        log.warning("The directory in %s is empty.", directory.address)
    for offer in offers:
        for breach in offer.breaches:
            log.warning("%s: %s: %s", offer.source, offer.service, breach.detail)
    return directory


def directory_of(agent: Agent) -> Directory:
    """Return the directory in an agent's settings or, if none is set there, in HOPLINE_DIRECTORY.

    A file's name is relative to the topology. Raises UsageError, InputError or SurroundingsError if
    the directory is missing or unreadable.
    """
    stated = agent.settings.get("directory")
    named = os.environ.get(VARIABLE) if stated is None else stated.text
    if not named:
        raise agent.runs.error(
            "no directory is set", f"Set `directory:` to a file or a URL, or set {VARIABLE}."
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
    """Return a stamp that changes when the file is written or replaced."""
    now = os.stat(path)
    return now.st_mtime_ns, now.st_size, now.st_ino
