"""Read message logs: rows with a conversation, time and body, in columns named by the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streams.capture.foreign.cells import bytes_of, instant, text_of
from streams.capture.foreign.findings import (
    ForeignRow,
    ForeignStatement,
    Report,
    conversation_named,
)
from streams.errors import InputError
from streams.protocol.command import CommandKind
from streams.wire.records import LARGEST_BODY


@dataclass(frozen=True, slots=True)
class LogColumns:
    """The columns, and the parties of the dialogs.

    ``utc_offset``: minutes by which times without a zone are ahead of UTC. ``type`` is a column,
    ``message_type`` the default.
    """

    conversation: str
    time: str
    body: str
    type: str | None = None
    message_type: str | None = None
    utc_offset: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that a table must have."""
        named = (self.conversation, self.time, self.body, self.type)
        return tuple(name.strip().casefold() for name in named if name is not None)


def read_log(
    rows: Iterable[ForeignRow], columns: LogColumns, file: str, report: Report
) -> Iterator[ForeignStatement]:
    """Yield each row as a SEND of the initiator; raise InputError if a column is missing."""
    conversation, time, body, *types = columns.columns
    checked = False
    for number, cells in rows:
        if not checked:
            _demand(columns, tuple(cells), file)
            checked = True
        name, at = text_of(cells.get(conversation)), instant(cells.get(time), columns.utc_offset)
        content = bytes_of(cells.get(body))
        if name is None:
            report.leave("a row without a conversation", f"{file}:{number}")
        elif at is None:
            report.leave("a row without a valid time", f"{file}:{number}")
        elif content is not None and len(content) > LARGEST_BODY:
            report.leave(f"a body of more than {LARGEST_BODY:,} bytes", f"{file}:{number}")
        else:
            type_ = text_of(cells.get(types[0])) if types else None
            yield ForeignStatement(
                at, 0, conversation_named(name), True, CommandKind.SEND, None, None,
                None, type_ or columns.message_type, content,
            )  # fmt: skip


def _demand(columns: LogColumns, found: tuple[str, ...], file: str) -> None:
    # JSON may omit empty values, but a log whose first row has no time is in another format.
    needed = columns.columns[:2] if file.casefold().endswith(("json", "jsonl")) else columns.columns
    missing = [name for name in needed if name not in found]
    if missing:
        shown = ", ".join(found[:20]) or "none"
        raise InputError(
            f"there is no column '{missing[0]}'; there are: {shown}", file=file, line=1,
            remedy="Give the columns with --conversation, --time, --body and --type.",
        )  # fmt: skip
