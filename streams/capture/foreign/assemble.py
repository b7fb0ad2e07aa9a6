"""Build records from all staged findings, in time order.

The rules:

1. A dialog's services, contract and initiator's place may come from any finding. Broker ids are not
  imported, because a trace does not distinguish ids given by an application from those found by a
  route or a lock, and a replay must be routed again.
2. A waiting message counts as one SEND (or END) of its sender, wherever it waits.
3. If the input has no BEGIN of a dialog, the dialog begins at its first action.
4. Commands are written only for dialogs whose services and initiator's place are known, because
other dialogs could not be replayed. Commands of the target also require the target's place.
5. The type of a message is taken from any event that shows it for this number and direction.
6. Records are ordered by time, within a millisecond by the server's event sequence, then by file.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from streams.capture.foreign.findings import Report
from streams.capture.foreign.staging import EVENT, Staging
from streams.capture.record import Record, TimestampType
from streams.protocol.command import Command, CommandKind
from streams.wire import Topics
from streams.wire.records import LARGEST_BODY, command_record

HomeOf = Callable[[str | None, str | None, str | None], tuple[str, str] | None]
"""Resolves an endpoint's known instance, database and service to a place."""


@dataclass(frozen=True, slots=True)
class Between:
    """The default parties: services, contract, instance and database."""

    from_service: str | None = None
    to_service: str | None = None
    contract: str | None = None
    instance: str | None = None
    database: str | None = None
    lifetime: int | None = None


def assemble(
    staging: Staging, between: Between, home_of: HomeOf, topics: Topics, report: Report,
    *, ends: bool = False,
) -> Iterator[Record]:  # fmt: skip
    """Yield the records; ``ends``: each dialog ends with its last message.

    The same input gives the same records, including ids.
    """
    staging.flush()
    _unite(staging)
    _take_waiting(staging, report)
    _complete(staging, report, ends=ends)
    _name_types(staging)
    staging.run("CREATE INDEX act_order ON act (at, rank, step, n)")
    yield from _Writer(staging, between, home_of, topics, report).records()


# --- Merging in the database ---------------------------------------------------------------------


def _unite(staging: Staging) -> None:
    """Merge all known facts about a dialog into one row."""
    staging.run(
        "CREATE TABLE party (conversation BLOB PRIMARY KEY, from_service TEXT, to_service TEXT, "
        "contract TEXT, instance TEXT, database TEXT) WITHOUT ROWID"
    )
    staging.run(
        "INSERT INTO party SELECT conversation, max(from_service), max(to_service), "
        "max(contract), max(instance), max(database) FROM said "
        "GROUP BY conversation"
    )


def _take_waiting(staging: Staging, report: Report) -> None:
    """Turn each waiting message into one action: from the sender's copy, or else the receiver's."""
    staging.run("CREATE INDEX endpoint_handle ON endpoint (handle, instance)")
    found = (
        "FROM waiting w LEFT JOIN (SELECT DISTINCT instance, handle, conversation, initiator FROM "
        "endpoint) e ON e.handle = w.handle AND e.instance = w.instance"
    )
    lost = staging.number(f"SELECT count(*) {found} WHERE e.conversation IS NULL")
    if lost:
        report.leave("a message whose endpoint is not in the dump", "", lost)
    staging.run(
        "CREATE TABLE copy AS SELECT e.conversation, w.incoming <> e.initiator AS initiator, "
        "w.sequence, w.incoming, w.at, w.instance, w.database, w.type, w.body, w.flags "
        f"{found} WHERE e.conversation IS NOT NULL"
    )
    staging.run("CREATE INDEX copy_message ON copy (conversation, initiator, sequence)")
    staging.run(
        "INSERT INTO act SELECT NULL, at, sequence, CASE WHEN flags & 3 THEN 3 ELSE 2 END, "
        "conversation, initiator, CASE WHEN flags & 3 THEN 'END' ELSE 'SEND' END, "
        "CASE WHEN incoming THEN NULL ELSE instance END, "
        "CASE WHEN incoming THEN NULL ELSE database END, sequence, "
        "CASE WHEN NOT flags & 3 THEN type END, CASE WHEN NOT flags & 3 THEN body END, "
        "CASE WHEN flags & 2 THEN 1 END, CASE WHEN flags & 2 THEN 'as the message says' END, 0 "
        "FROM (SELECT *, row_number() OVER (PARTITION BY conversation, initiator, sequence "
        "ORDER BY incoming, at) AS nth FROM copy) WHERE nth = 1"
    )
    twice = staging.number(
        "SELECT count(*) - (SELECT count(*) FROM (SELECT DISTINCT conversation, initiator, "
        "sequence FROM copy)) FROM copy"
    )
    if twice:
        report.note("a message waiting on both sides: imported once", "", twice)
    gone = staging.number(
        "SELECT sum(max(0, e.sent - (SELECT count(DISTINCT c.sequence) FROM copy c WHERE "
        "c.conversation = e.conversation AND c.initiator = e.initiator))) FROM (SELECT "
        "conversation, initiator, max(sent) AS sent FROM endpoint GROUP BY conversation, "
        "initiator) e WHERE e.sent IS NOT NULL"
    )
    if gone:
        report.note("a message received before the dump", "", gone)


def _complete(staging: Staging, report: Report, *, ends: bool) -> None:
    """Add missing BEGIN and END actions."""
    staging.run(
        "CREATE TABLE span AS SELECT conversation, min(at) AS first, max(at) AS last, "
        "max(kind = 'BEGIN') AS begun FROM act WHERE kind <> ? GROUP BY conversation",
        EVENT,
    )
    made = staging.run(
        "INSERT INTO act (at, rank, step, conversation, initiator, kind) "
        "SELECT first, -1, 0, conversation, 1, 'BEGIN' FROM span WHERE NOT begun"
    )
    if ends:
        staging.run(
            "INSERT INTO act (at, rank, step, conversation, initiator, kind, cleanup) "
            "SELECT last, 9223372036854775807, 3, conversation, 1, 'END', 0 FROM span"
        )
    elif made:
        report.note("a dialog that began earlier: it starts at its first action", "", made)


def _name_types(staging: Staging) -> None:
    """Set the message types that forwarders recorded, matched by message number."""
    if not staging.number("SELECT EXISTS (SELECT 1 FROM typed)"):
        return
    staging.run("CREATE INDEX typed_message ON typed (conversation, initiator, sequence)")
    staging.run(
        "UPDATE act SET type = (SELECT max(t.type) FROM typed t WHERE t.conversation = "
        "act.conversation AND t.initiator = act.initiator AND t.sequence = numbered.sequence) "
        "FROM (SELECT a.n, row_number() OVER (PARTITION BY a.conversation, a.initiator ORDER BY "
        "a.at, a.rank, a.n) - 1 AS sequence FROM act a JOIN span s ON s.conversation = "
        "a.conversation WHERE a.kind = 'SEND' AND s.begun) AS numbered "
        "WHERE numbered.n = act.n AND act.type IS NULL"
    )


# --- Reading from the database -------------------------------------------------------------------

_ALL = """
SELECT a.at, a.n, a.conversation, a.initiator, a.kind, a.instance, a.database, a.type, a.body,
    a.error_code, a.error_text, a.cleanup, p.from_service, p.to_service, p.contract,
    p.instance, p.database
FROM act a INDEXED BY act_order LEFT JOIN party p ON p.conversation = a.conversation
ORDER BY a.at, a.rank, a.step, a.n
"""


@lru_cache(65_536)
def _id(raw: bytes) -> uuid.UUID:
    return uuid.UUID(bytes=raw)


class _Writer:
    """Turn actions into records, one by one."""

    def __init__(
        self, staging: Staging, between: Between, home_of: HomeOf, topics: Topics, report: Report
    ) -> None:
        self._staging, self._between, self._topics = staging, between, topics
        self._report, self._home_of = report, home_of
        self._offsets: dict[str, int] = {}
        self._homes: dict[tuple[str | None, ...], tuple[str, str] | None] = {}

    def records(self) -> Iterator[Record]:
        """Yield all records, in order."""
        for at, n, raw, initiator, kind, *rest in self._staging.ask(_ALL):
            if kind == EVENT:
                key = b"" if raw is None else str(_id(raw)).encode()
                self._report.made["events"] += 1
                yield self._record(self._topics.event, at, key, (), rest[3])
                continue
            command = self._command(at, n, _id(raw), bool(initiator), kind, rest)
            if command is not None:
                instance, statement = command
                key, value, headers = command_record(statement)
                self._report.made[f"{kind} commands"] += 1
                yield self._record(self._topics.cmd(instance), at, key, tuple(headers), value)

    def _record(
        self, topic: str, at: int, key: bytes, headers: tuple[Any, ...], value: bytes | None
    ) -> Record:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        return Record(topic, 0, offset, at, TimestampType.CREATE_TIME, key, headers, value)

    def _command(
        self, at: int, n: int, conversation: uuid.UUID, initiator: bool, kind: str, rest: list[Any]
    ) -> tuple[str, Command] | None:
        """Return an action as a command and the instance that issued it, if known."""
        instance, database, type_, body, code, text, cleanup, *party = rest
        stated = self._between
        begins, to_service = party[0] or stated.from_service, party[1] or stated.to_service
        home = self._home(party[3] or stated.instance, party[4] or stated.database, begins)
        if begins is None or to_service is None or home is None:
            self._lacking(kind, begins, to_service)
            return None
        own = home if initiator else self._home(instance, database, to_service)
        if own is None:
            self._report.leave(f"a {kind} of a target whose location is unknown", str(conversation))
            return None
        if body is not None and len(body) > LARGEST_BODY:
            self._report.leave(f"a body of more than {LARGEST_BODY:,} bytes", str(conversation))
            return None
        begin = kind == "BEGIN"
        return own[0], Command(
            conversation,
            uuid.UUID(int=(conversation.int + n) % 2**128),
            CommandKind(kind),
            own[1],
            initiator,
            at,
            from_service=begins if begin else None,
            to_service=to_service if begin else None,
            contract=(party[2] or stated.contract) if begin else None,
            lifetime=stated.lifetime if begin else None,
            type=type_,
            error_code=code,
            error_text=text,
            cleanup=bool(cleanup),
            body=body,
        )

    def _home(self, *known: str | None) -> tuple[str, str] | None:
        if known not in self._homes:
            self._homes[known] = self._home_of(*known)
        return self._homes[known]

    def _lacking(self, kind: str, begins: str | None, to_service: str | None) -> None:
        lacks = "services" if begins is None or to_service is None else "initiator's place"
        self._report.leave(f"a {kind} of a dialog whose {lacks} cannot be determined", "")
