"""Where the configuration service looks services up: a file, or somebody's database.

At the start a file must be right from beginning to end, else it is an error with its line. Later it
may be edited: a wrong line is told to who asks for its service, and while there is no reading it,
what it said before counts. A database is asked each time, and waited for while it is away.
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
    """What is known of services that have no route yet."""

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return what there is of a service; raises SurroundingsError where it is away."""


class FileDirectory:
    """A directory in a YAML file, read anew where it has changed."""

    def __init__(self, path: Path) -> None:
        """Raise InputError or UsageError where the file is not right."""
        self._path = path
        try:
            self._seen = _state(path)
            self._offers = load_offers(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", _SHAPE) from error
        _demand(path, self._offers)

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return what the file says of a service, or has said while it was readable."""
        self._look()
        return tuple(offer for offer in self._offers if offer.service == service)

    def _look(self) -> None:
        try:
            seen = _state(self._path)
            if seen == self._seen:
                return
            self._seen = seen  # what is not readable is told once
            self._offers = load_offers(self._path)
            log.info("%s: %d routes", self._path, len(self._offers))
        except (InputError, OSError) as error:
            log.error("%s\n  The previous version stays in use.", error)


def open_directory(named: str) -> Directory:
    """Return the directory at an SQLAlchemy URL or in a file, when it was seen to be readable.

    Raises UsageError, InputError or SurroundingsError where it is not.
    """
    if "://" not in named:
        return FileDirectory(Path(named))
    from streams.store.directory import SqlDirectory  # SQLAlchemy only where it is asked for

    directory = SqlDirectory.open(named)
    offers = directory.all()
    if not offers:
        log.warning("The directory in %s is empty.", directory.address)
    for offer in offers:
        for breach in offer.breaches:
            log.warning("%s: %s: %s", offer.source, offer.service, breach.detail)
    return directory


def directory_of(agent: Agent) -> Directory:
    """Return the directory that an agent's settings state, else that of HOPLINE_DIRECTORY.

    A file's name is relative to the topology. Raises UsageError, InputError or SurroundingsError
    where there is none, or where it cannot be read.
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
    """Return what changes when somebody writes the file, or puts another one in its place."""
    now = os.stat(path)
    return now.st_mtime_ns, now.st_size, now.st_ino
