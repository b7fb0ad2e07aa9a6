"""The bodies of messages, which dialogs keep only as offsets: reread when they are needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from streams.kafka import Cluster, Fetcher, Headers, Message, headers_of, size_of
from streams.node import Moves
from streams.protocol import Command
from streams.protocol import Message as Frame
from streams.wire.records import read_command, read_message
from streams.workers.endpoint.allowance import BYTES, READ_BYTES
from streams.workers.pulse import beat

MOVED_BYTES = 8 << 20
"""Limit in bytes of bodies and headers moved in one transaction; the last body may exceed it."""


class TooMuchError(Exception):
    """The bodies that a transaction needs exceed its limit; retry with less work."""


@dataclass(slots=True)
class Bodies:
    """Bodies of one partition by offset; bodies that are not in memory are reread.

    Unless ``unbounded``, raises TooMuchError rather than return more than :data:`BYTES` in total,
    or read more than :data:`READ_BYTES` for them. Both limits include headers.
    """

    cmd: Fetcher
    inbox: Fetcher
    unbounded: bool = False

    @classmethod
    def of(cls, cluster: Cluster, cmd: str, inbox: str, number: int, cache_bytes: int) -> Bodies:
        """Return the bodies of a partition, with a cache of this size shared by both topics."""
        return cls(
            Fetcher(cluster, cmd, number, cache_bytes // 2),
            Fetcher(cluster, inbox, number, cache_bytes // 2),
        )

    def commands(self, positions: Collection[int]) -> dict[int, Command]:
        """Return the commands at these offsets of ``cmd``."""
        return {p: command_of(m, headers_of(m)) for p, m in self._together(self.cmd, positions)}

    def messages(self, positions: Collection[int]) -> dict[int, Frame]:
        """Return the message frames at these offsets of ``in``."""
        return {p: frame_of(m, headers_of(m)) for p, m in self._together(self.inbox, positions)}

    def _together(
        self, fetcher: Fetcher, positions: Collection[int]
    ) -> Iterator[tuple[int, Message]]:
        """Yield records in offset order, in one forward pass over the log."""
        most, reach = fetcher.bytes_returned + BYTES, fetcher.bytes_read + READ_BYTES
        left = len(positions)
        for position in sorted(positions):
            beat()
            record = fetcher.fetch(position)
            left -= 1
            is_too_much = fetcher.bytes_returned > most or fetcher.bytes_read > reach
            if is_too_much and left and not self.unbounded:
                raise TooMuchError(f"{len(positions)} bodies")
            yield position, record

    def to_move(self, moves: Moves) -> list[Message]:
        """Return the records of bodies to move, of ``cmd`` and ``in``.

        If the bodies are large, only the first few are returned; the others are moved next time.
        """
        found, size = [], 0
        wanted = [(self.cmd, p) for p in moves.commands]
        for fetcher, position in wanted + [(self.inbox, p) for p in moves.frames]:
            found.append(fetcher.fetch(position))
            size += size_of(found[-1])
            if size > MOVED_BYTES:
                break
        return found

    def rest(self) -> None:
        """Close the consumers of fetchers that have read nothing since the last call."""
        self.cmd.rest()
        self.inbox.rest()

    def close(self) -> None:
        """Close the fetchers."""
        self.cmd.close()
        self.inbox.close()


def command_of(message: Message, headers: Headers) -> Command:
    """Decode a record of ``cmd``; raises MalformedError if it is invalid."""
    return read_command(message.key(), message.value(), headers, message.timestamp()[1])


def frame_of(message: Message, headers: Headers) -> Frame:
    """Decode a record of ``in``; raises MalformedError if it is invalid."""
    # For a record written while `in` had CreateTime, this is the enqueue time, which is never late.
    return read_message(message.key(), message.value(), headers, message.timestamp()[1])
