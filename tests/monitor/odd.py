"""Records as no healthy system has them: every kind of fault, in dialogs between two places.

Whatever the ledger makes of them, both engines must make the same of it.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.errors import ConversationEvent, EventKind, Number
from streams.protocol import END_DIALOG, ERROR, Cause, Command, CommandKind, Dialog, Source, State
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.wire import Topics, encode_event
from streams.wire.job import JOB
from streams.wire.partition import partition_of
from streams.wire.records import LARGEST_BODY, MOVED, command_record, key_of, queue_record
from streams.wire.state import Positions, encode_dialog, encode_positions
from streams.wire.state_keys import POSITIONS_KEY, dialog_key

Headers = list[tuple[str | bytes, bytes | None]]
REFUSED = 8430


class Written(NamedTuple):
    """A record, where it belongs, and whether its transaction is aborted."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    at: int
    aborted: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A database: its home, the instance that reports its events, its queue, its broker id.

    ``partitions`` are those of its home's commands.
    """

    topics: Topics
    home: str
    database: str
    queue: str
    instance: str = ""
    partitions: int = 1

    @property
    def name(self) -> str:
        """Return it as `instance/database`."""
        return f"{self.home}/{self.database}"


@dataclass(slots=True)
class Story:
    """Writes dialogs between two places; the same seed writes the same records.

    ``now``: epoch milliseconds of the first one.
    """

    initiator: Place
    target: Place
    seed: int
    now: int
    records: list[Written] = field(default_factory=list)
    _said: list[Command] = field(default_factory=list)
    _random: random.Random = field(init=False)
    _clock: int = field(init=False)

    def __post_init__(self) -> None:
        self._random, self._clock = random.Random(self.seed), self.now

    def tell(self, dialogs: int, *, too_large: bool = True) -> list[Written]:
        """Return the records of so many dialogs, the positions of both workers, and rubbish.

        The last is a statement that the worker will reject for its size, of header and body.
        """
        for _ in range(dialogs):
            self._dialog()
        self._shared()
        self._repeated()
        self._rubbish()
        for place in (self.initiator, self.target):
            for partition in range(place.partitions):
                read = sum(r.topic == place.topics.cmd(place.home) for r in self.records)
                value = encode_positions(Positions(cmd=max(0, read - 3)))
                self._write(place.topics.dialog(place.home), partition, POSITIONS_KEY, value)
        if too_large:
            names = dict.fromkeys(("error_text", "to_broker", "from_service"), "x" * 30_000)
            body = bytes(LARGEST_BODY)
            self._issue(self.initiator, self._id(), CommandKind.SEND, body=body, **names)
        return self.records

    # --- what goes well, and what does not ---------------------------------------------------

    def _dialog(self) -> None:
        rnd, on = self._random, self._id()
        sides = ((self.initiator, self.target, True), (self.target, self.initiator, False))
        lifetime = rnd.choice([None, 1, 3_600])
        job = rnd.choice([b"", b"", b"nightly"])
        self._issue(self.initiator, on, CommandKind.BEGIN, lifetime=lifetime, job=job)
        for here, there, from_initiator in sides:
            sent = [
                self._issue(here, on, CommandKind.SEND, from_initiator, body=rnd.randbytes(9))
                for _ in range(rnd.choice([0, 1, 2, 5]))
            ]
            for number, command in enumerate(sent):
                self._deliver(there, on, command, number, from_initiator)
            self._end(here, there, on, from_initiator)
            self._state(here, there, on, from_initiator, len(sent))
        self._events(on)

    def _deliver(
        self, place: Place, on: uuid.UUID, command: Command, number: int, from_initiator: bool
    ) -> None:
        rnd, body = self._random, command.body or b""
        match rnd.randrange(12):
            case 0:
                return  # lost, or waiting, or discarded
            case 1:
                event = {"error": REFUSED, "message_id": str(command.command_id)}
                self._emit(EventKind.CONVERSATION, place, on, **event)
                return
            case 2:
                self._queue(place, on, command.command_id, number, body, from_initiator)
            case 3:
                body += b" altered"
            case 4:
                number += 1
            case 5:
                self._queue(place, on, self._id(), number, b"never sent", from_initiator)
            case 6:  # in a transaction that is aborted
                where = place, on, command.command_id, number, body, from_initiator
                self._queue(*where, aborted=True)
        self._queue(place, on, command.command_id, number, body, from_initiator)

    def _end(self, here: Place, there: Place, on: uuid.UUID, from_initiator: bool) -> None:
        rnd = self._random
        how: dict[str, Any] = rnd.choice([{}, {"error_code": 7, "error_text": ""}])
        if rnd.random() < 0.4:
            cleanup = rnd.random() < 0.2
            self._issue(here, on, CommandKind.END, from_initiator, cleanup=cleanup, **how)
        long = b"<Error " + b" " * 300 + b"<Code>-8489</Code>"
        bodies = [b"<Error x=''><Code>%d</Code>" % code for code in (-8489, -8470, 7)]
        for _ in range(rnd.choice([0, 0, 1, 2])):
            body = rnd.choice([*bodies, long, b"<Code>-8489</Code>", b""])
            kind = rnd.choice([(ERROR, Flag.ERROR), (END_DIALOG, Flag.END)])
            self._queue(there, on, self._id(), 9, body, from_initiator, kind=kind)

    def _state(
        self, here: Place, there: Place, on: uuid.UUID, is_initiator: bool, sent: int
    ) -> None:
        rnd = self._random
        for _ in range(rnd.choice([0, 1, 1, 3])):
            value = None
            if rnd.random() < 0.9:
                state = Dialog(
                    *(on, here.database, here.database, is_initiator, rnd.choice(list(State))),
                    *("Own", "Far", rnd.choice([there.database, here.database, "nobody", None])),
                    *("Contract", on, on, self.now, self.now + 3_600_000, rnd.random() < 0.8),
                )
                state.send_sequence = max(0, sent + rnd.choice([-1, 0, 0, 0, 1]))
                state.acknowledged = rnd.randrange(sent + 1), 0
                state.received = rnd.randrange(6), 0
                state.parked = rnd.choice([[], [(1, 5)], [(-1, 5)]])
                state.deaf_from = rnd.choice([None, None, 1])
                state.discarded_from = rnd.choice([None, None, 1])
                state.closed_at = rnd.choice([None, self.now, self.now + 3_600_000])
                value = encode_dialog(state)
            key = dialog_key((here.database, on, is_initiator))
            partition = partition_of(on, here.partitions)
            if rnd.random() < 0.05:
                partition = rnd.randrange(here.partitions)
            self._write(here.topics.dialog(here.home), partition, key, value)

    def _events(self, on: uuid.UUID) -> None:
        rnd, place = self._random, self._random.choice([self.initiator, self.target])
        duplicate = {"error": int(Number.DUPLICATE), "attempt": rnd.randrange(2)}
        refused = {"error": int(Number.CONTRACT_NOT_USABLE), "sequence": rnd.randrange(3)}
        kinds: list[tuple[EventKind, dict[str, Any]]] = [
            (EventKind.MESSAGE_UNDELIVERABLE, duplicate),
            (EventKind.MESSAGE_UNDELIVERABLE, refused),
            (EventKind.FORWARDED_MESSAGE_DROPPED, {"error": 11292}),
            (EventKind.MESSAGE_CLASSIFY, {"error": 28052}),
            (EventKind.CONVERSATION, {"error": int(Number.LIFETIME_EXCEEDED)}),
            (EventKind.CONVERSATION, {"subclass": int(ConversationEvent.ERROR_RECEIVED)}),
        ]
        for kind, fields in rnd.choices(kinds, k=rnd.randrange(3)):
            self._emit(kind, place, on, rnd.random() < 0.5, **fields)

    def _shared(self) -> None:
        """SEND on several conversations: accepted, and refused on all by an event of one."""
        ids = [self._id() for _ in range(3)]
        both = self._issue(self.initiator, ids[0], CommandKind.SEND, also=tuple(ids[1:]), body=b"b")
        for on in ids:
            self._queue(self.target, on, both.message_id(on), 0, b"b", True)
        none = self._issue(self.initiator, ids[0], CommandKind.SEND, also=tuple(ids[1:]), body=b"n")
        fields = {"error": REFUSED, "message_id": str(none.command_id)}
        for _ in range(2):  # told twice counts once
            self._emit(EventKind.CONVERSATION, self.initiator, ids[0], **fields)

    def _repeated(self) -> None:
        """Statements that an application repeats after a crash."""
        on, source = self._id(), Source("shop", "billing", uuid.UUID(int=7), 0)
        for offset in (1, 2, 1, 2, 3):
            cause = Cause(source, offset)
            said = {"id": cause.public_id, "cause": cause, "body": b"%d" % offset}
            command = self._issue(self.initiator, on, CommandKind.SEND, **said)
            if offset != 3:
                self._queue(self.target, on, command.command_id, offset - 1, b"%d" % offset, True)

    def _rubbish(self) -> None:
        rnd = self._random
        for place in (self.initiator, self.target):
            names = place.topics
            topics = (
                names.cmd(place.home), names.dialog(place.home), names.event,
                names.queue(place.home, place.database, place.queue),
            )  # fmt: skip
            for topic in topics:
                for _ in range(5):
                    raw = rnd.randbytes(rnd.randrange(60))
                    names_ = ["sb-command", "sb-message", "sb-hop", "sb-route", "sb-conversation"]
                    headers: Headers = [(name, rnd.choice([raw, None])) for name in names_]
                    key = rnd.choice([raw, None, b"", key_of(self._id())])
                    self._write(topic, 0, key, rnd.choice([raw, None, b""]), headers)
            on = self._id()
            said = self._issue(place, on, CommandKind.SEND, body=b"x", extra=[(b"\xff", b"x")])
            self._queue(place, on, said.command_id, 0, b"x", True, extra=[(b"\xff\xfe", None)])
            self._issue(place, on, CommandKind.SEND, body=b"moved", extra=[(MOVED, b"")])
            self._issue(place, self._id(), CommandKind.SEND, body=b"elsewhere", elsewhere=True)
            for said_of in ("no dialog", "", str(on).upper()):
                fields = {"error": REFUSED, "message_id": rnd.choice(["none", str(self._id())])}
                self._emit(EventKind.CONVERSATION, place, said_of, **fields)

    # --- records -----------------------------------------------------------------------------

    def _issue(
        self,
        place: Place,
        on: uuid.UUID,
        kind: CommandKind,
        from_initiator: bool = True,
        **fields: Any,
    ) -> Command:
        extra, job = fields.pop("extra", []), fields.pop("job", b"")
        elsewhere = int(fields.pop("elsewhere", False))
        number = fields.pop("id", None) or self._id()
        command = Command(on, number, kind, place.database, from_initiator, **fields)
        key, value, headers = command_record(command)
        partition = (partition_of(on, place.partitions) + elsewhere) % place.partitions
        more: Headers = [*headers, *([(JOB, job)] if job else []), *extra]
        self._write(place.topics.cmd(place.home), partition, key, value, more)
        return command

    def _queue(
        self,
        place: Place,
        on: uuid.UUID,
        message_id: uuid.UUID,
        number: int,
        body: bytes,
        from_initiator: bool,
        **how: Any,
    ) -> None:
        kind, flags = how.get("kind", ("DEFAULT", Flag.NONE))
        header = Header(message_id, kind, number, self._clock, self.now + 9_999_999, flags)
        journey = Journey(
            9, self.now, 0, 0, 0, ((self.initiator.home, self.now), (place.name, self.now + 9))
        )
        parties = Parties("Far", None, "Own", "near", "DEFAULT", from_initiator, True)
        key, value, headers = queue_record(on, on, parties, header, journey, body)
        topic = place.topics.queue(place.home, place.database, place.queue)
        more: Headers = [*headers, *how.get("extra", [])]
        self._write(topic, 0, key, value, more, aborted=bool(how.get("aborted")))

    def _emit(
        self, kind: EventKind, place: Place, on: object, from_initiator: bool = True, **fields: Any
    ) -> None:
        about = {"instance": place.instance or place.home, "database": place.database}
        event = {"event": int(kind), "at": self._clock, **about, "conversation": str(on)}
        value = encode_event({**event, "from_initiator": from_initiator, **fields})
        self._write(place.topics.event, 0, str(on).encode(), value)

    def _write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None = None,
        aborted: bool = False,
    ) -> None:
        self._clock += 1
        at = self._clock
        self.records.append(Written(topic, partition, key, value, headers or [], at, aborted))

    def _id(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._random.randbytes(16), version=4)


def committed(records: list[Written]) -> Iterator[Written]:
    """Yield what a capture has: what was committed, where Kafka lets a text be a header's name."""
    for each in records:
        if not each.aborted and all(isinstance(name, str) for name, _ in each.headers):
            yield each
