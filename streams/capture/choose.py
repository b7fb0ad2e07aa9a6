"""Select records of a capture by time, dialog, service, instance or share of dialogs."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from streams.capture.look import Look
from streams.capture.record import Record
from streams.wire.bounds import SHORT

_BATCH = 10_000
Seen = tuple[Record, Look]


@dataclass(frozen=True, slots=True)
class Choice:
    """The conditions, all of which must be true. An empty condition or None is ignored.

    ``begin`` (inclusive) and ``end`` (exclusive) are epoch milliseconds. A dialog belongs to a
    service if any of its records is from or to that service. ``percent`` of the dialogs are
    selected by their ids and ``seed``, so the selection is reproducible. ``whole``: all records of
    every dialog with a selected record.
    """

    begin: int | None = None
    end: int | None = None
    conversations: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    instances: frozenset[str] = frozenset()
    percent: float = 100.0
    seed: int = 0
    whole: bool = False

    def takes(self, seen: Look) -> bool:
        """Return whether a record itself is selected, regardless of its dialog."""
        if self.begin is not None and seen.at < self.begin:
            return False
        if self.end is not None and seen.at >= self.end:
            return False
        return not self.instances or (seen.instance or "").casefold() in self.instances

    def draws(self, conversation: str | None) -> bool:
        """Return whether a dialog is selected by its id; false without a condition on dialogs."""
        if conversation is None:
            return not self.conversations and self.percent >= 100
        if self.conversations and conversation not in self.conversations:
            return False
        share = _short_share if len(conversation) <= SHORT else _share
        return self.percent >= 100 or share(conversation, self.seed) < self.percent / 100


def _share(conversation: str, seed: int) -> float:
    digest = hashlib.blake2b(f"{seed}/{conversation}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


_short_share = lru_cache(65_536)(_share)


def choose(
    read: Callable[[], Iterable[Seen]],
    choice: Choice,
    also: Callable[[Look, Record], bool],
) -> Iterator[Seen]:
    """Yield the selected records, in order; ``also`` is an additional condition.

    For services and whole dialogs, ``read`` is called several times, and ids are kept in a
    temporary database.
    """

    def meant(record: Record, seen: Look) -> bool:
        return choice.draws(seen.conversation) and choice.takes(seen) and also(seen, record)

    if not choice.services and not choice.whole:
        yield from ((record, seen) for record, seen in read() if meant(record, seen))
        return
    with _Dialogs() as dialogs:
        if choice.services:
            dialogs.keep("service", (s for _, s in read() if _of(s, choice.services)))
        if choice.whole:
            of_service = dialogs.of("service") if choice.services else _any
            dialogs.keep("whole", (s for r, s in read() if of_service(s) and meant(r, s)))
            whole = dialogs.of("whole")
            yield from ((record, seen) for record, seen in read() if whole(seen))
            return
        of_service = dialogs.of("service")
        yield from ((r, seen) for r, seen in read() if of_service(seen) and meant(r, seen))


def _of(seen: Look, services: frozenset[str]) -> bool:
    return seen.from_service in services or seen.to_service in services


def _any(_: Look) -> bool:
    return True


class _Dialogs:
    """Sets of conversation ids on disk."""

    def __enter__(self) -> _Dialogs:
        self._database = sqlite3.connect("", isolation_level=None)
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def keep(self, name: str, looks: Iterable[Look]) -> None:
        """Store the conversation ids of these records under a name."""
        self._database.execute(f"CREATE TABLE {name} (id TEXT PRIMARY KEY) WITHOUT ROWID")
        ids: set[str] = set()
        for seen in looks:
            if seen.conversation is not None:
                ids.add(seen.conversation)
            if len(ids) >= _BATCH:
                self._write(name, ids)
        self._write(name, ids)

    def _write(self, name: str, ids: set[str]) -> None:
        self._database.execute("BEGIN")
        rows = ((one,) for one in sorted(ids))
        self._database.executemany(f"INSERT OR IGNORE INTO {name} VALUES (?)", rows)
        self._database.execute("COMMIT")
        ids.clear()

    def of(self, name: str) -> Callable[[Look], bool]:
        """Return a predicate: whether a record's dialog is stored under a name."""
        question = f"SELECT 1 FROM {name} WHERE id = ?"

        def find(conversation: str) -> bool:
            return self._database.execute(question, (conversation,)).fetchone() is not None

        short_find = lru_cache(65_536)(find)

        def has(seen: Look) -> bool:
            conversation = seen.conversation
            if conversation is None:
                return False
            return (short_find if len(conversation) <= SHORT else find)(conversation)

        return has
