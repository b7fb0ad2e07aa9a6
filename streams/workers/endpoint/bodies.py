"""The bodies of messages. Dialogs keep only their offsets, and bodies are reread when needed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Fetcher,
    GoneError,
    Headers,
    Message,
    NotNowError,
    SearchTime,
    headers_of,
    size_of,
)
from streams.node import Moves, TooMuchError, UnreadableError
from streams.protocol import Command
from streams.protocol import Message as Frame
from streams.wire import MalformedError
from streams.wire.records import key_of, read_command, read_message
from streams.workers.endpoint.allowance import BYTES, READ_BYTES
from streams.workers.pulse import beat

T = TypeVar("T", Command, Frame)

MOVED_BYTES = 8 << 20
"""Limit in bytes of bodies and headers moved in one transaction; the last body may exceed it."""


@dataclass(slots=True)
class Bodies:
    """Bodies of one partition by offset; bodies that are not in memory are reread.

    Unless ``unbounded``, raises TooMuchError instead of returning more than :data:`BYTES` in total
    or reading more than :data:`READ_BYTES` for them. Both limits include headers.
    """

    cmd: Fetcher
    inbox: Fetcher
    unbounded: bool = False

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        cmd: str,
        inbox: str,
        number: int,
        cache_bytes: int,
        searches: SearchTime | None = None,
    ) -> Bodies:
        """Return the bodies of a partition, with a cache of this size shared by both topics."""
        return cls(
            Fetcher(cluster, cmd, number, cache_bytes // 2, searches),
            Fetcher(cluster, inbox, number, cache_bytes // 2, searches),
        )

    def commands(self, wanted: Mapping[int, uuid.UUID]) -> dict[int, Command]:
        """Return the commands at these offsets of ``cmd``, of these conversations."""
        return dict(self._together(self.cmd, wanted, command_of))

    def messages(self, wanted: Mapping[int, uuid.UUID]) -> dict[int, Frame]:
        """Return the message frames at these offsets of ``in``, of these conversations."""
        return dict(self._together(self.inbox, wanted, frame_of))

    def _together(
        self,
        fetcher: Fetcher,
        wanted: Mapping[int, uuid.UUID],
        decode: Callable[[Message, Headers], T],
    ) -> Iterator[tuple[int, T]]:
        """Yield bodies in offset order; read the log in one forward pass.

        Raises UnreadableError after the pass, or when there is no time left to search for lost
        bodies.
        """
        most, reach = fetcher.bytes_returned + BYTES, fetcher.bytes_read + READ_BYTES
        left = len(wanted)
        lost: dict[int, SurroundingsError] = {}
        why: SurroundingsError | None = None
        for position in sorted(wanted):
            beat()
            left -= 1
            try:
                body = _fetch(fetcher, position, wanted[position], decode)
            except GoneError as error:
                lost[position] = error
                continue
            except NotNowError as error:
                why = error
                break
            is_too_much = fetcher.bytes_returned > most or fetcher.bytes_read > reach
            if is_too_much and left and not self.unbounded:
                raise TooMuchError(f"{len(wanted)} bodies")
            yield position, body
        first = next(iter(lost.values()), why)
        if first is not None:
            conversations, is_unfinished = {wanted[at] for at in lost}, why is not None
            raise UnreadableError(
                first.message, lost.keys(), conversations, is_unfinished=is_unfinished
            )

    def to_move(self, moves: Moves) -> list[Message]:
        """Return the records of ``cmd`` and ``in`` whose bodies must be moved.

        If the bodies are large, only the first few are returned; the others are moved next time.
        Bodies that cannot be read stay where they are.
        """
        found, size = list[Message](), 0
        for fetcher, wanted in ((self.cmd, moves.commands), (self.inbox, moves.frames)):
            for position, conversation in wanted.items():
                if size > MOVED_BYTES:
                    return found
                beat()
                try:
                    found.append(fetch_record(fetcher, position, conversation))
                except GoneError:
                    continue
                except NotNowError:
                    return found
                else:
                    size += size_of(found[-1])
        return found

    def is_lost(self, which: int, position: int) -> bool:
        """Return whether a body of ``cmd`` (0) or ``in`` (1) is known to be unreadable."""
        return (self.inbox if which else self.cmd).is_unreadable(position)

    def rest(self) -> None:
        """Close the consumers of fetchers that have read nothing since the last call."""
        self.cmd.rest()
        self.inbox.rest()

    def close(self) -> None:
        """Close the fetchers."""
        self.cmd.close()
        self.inbox.close()


def fetch_record(fetcher: Fetcher, position: int, conversation: uuid.UUID) -> Message:
    """Return the record at an offset; fetch it directly if it has another conversation's key.

    A hostile record may claim the offset of another record (decision 46). The record of a SEND on
    several conversations has the key of only one of them, so it may be fetched twice.
    """
    record = fetcher.fetch(position)
    is_right = record.key() == key_of(conversation)
    return record if is_right else fetcher.fetch(position, directly=True)


def _fetch(
    fetcher: Fetcher,
    position: int,
    conversation: uuid.UUID,
    decode: Callable[[Message, Headers], T],
) -> T:
    """Return the body at an offset; fetch it directly if the record has another conversation."""
    record = fetcher.fetch(position)
    try:
        body = decode(record, headers_of(record))
        if body.conversation == conversation:
            return body
        if isinstance(body, Command) and conversation in body.also:
            return body
    except MalformedError:
        pass  # the record may falsely claim the body's offset
    record = fetcher.fetch(position, directly=True)
    return decode(record, headers_of(record))


def command_of(message: Message, headers: Headers) -> Command:
    """Decode a record of ``cmd``; raises MalformedError if it is invalid."""
    return read_command(message.key(), message.value(), headers, message.timestamp()[1])


def frame_of(message: Message, headers: Headers) -> Frame:
    """Decode a record of ``in``; raises MalformedError if it is invalid."""
    # If `in` had CreateTime when the record was written, this is the enqueue time, which is never
    # late.
    return read_message(message.key(), message.value(), headers, message.timestamp()[1])
