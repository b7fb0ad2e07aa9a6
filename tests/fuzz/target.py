"""What a target is, and what all of them need: a folder, real inputs, the errors that may come."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streams.errors import HoplineError
from streams.wire import MalformedError, Topics

ROOT = Path(__file__).parents[2]
ID = uuid.UUID("6f1c2e6a-0c1d-4e5f-8a9b-0123456789ab")
TOPICS = Topics()
Attempt = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: ``seeds`` returns what it reads in earnest.

    ``attempt`` returns where an input was read, or refused as documented; anything that it raises
    is a fault. So is what an answer cannot be printed as, and what a worker could not do with it.
    """

    seeds: Callable[[], Sequence[bytes]]
    attempt: Attempt


def malformed_or(read: Attempt) -> Attempt:
    def attempt(data: bytes) -> None:
        try:
            read(data)
        except MalformedError as error:
            assert str(error)

    return attempt


@cache
def folder() -> Path:
    """Return a folder for files, of this process."""
    made = tempfile.TemporaryDirectory(prefix="fuzz-")
    _KEPT.append(made)
    return Path(made.name)


def file_of(name: str, data: bytes) -> Path:
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def documented_or(read: Attempt) -> Attempt:
    """Return what takes an error of ours, which can be printed, for an answer."""

    def attempt(data: bytes) -> None:
        try:
            read(data)
        except HoplineError as error:
            assert error.message and str(error).encode()

    return attempt


def globbed(*patterns: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        return [path.read_bytes() for path in found if path.is_file()][:400]

    return seeds


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
