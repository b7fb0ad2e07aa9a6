"""What a writer may write who means harm: real records changed, and sound ones that say too much.

All of it is about dialogs of its own, since a record about somebody else's is that dialog's: what
the others notice of it must be nothing at all.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from streams.chance import Chance
from streams.errors import HoplineError
from streams.kafka import Cluster, Consumer, TopicPartition, headers_of, partitions_of
from streams.protocol import Ack, Command, CommandKind, Flag
from streams.wire import MalformedError, encode_presence
from streams.wire.packing import pack_long
from streams.wire.records import ack_record, command_record, message_record
from tests.faults.junk import Written
from tests.workers.rubbish import Raw, header, journey, now, parties, rubbish

_NUMBERS = (0, 1, -1, 2, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
_SMALL = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31))
_TEXTS = (
    "", "x", "TargetService", "InitiatorService", "DatabaseA", "DatabaseB", "DEFAULT", "\x00",
    "\ufeff\u202e", "../..", "x\n" * 200, "\U0001f4a3" * 128, "x" * 16_384, "x" * 100_000,
)  # fmt: skip
_BODIES = (None, b"", b"odd", bytes(900_000), b"<a>" * 20_000, b"\xff" * 64)
_TIMES = (None, None, None, 1, 1_000, "past", "soon", 2**62)
_PREFIX = 10
"""Bytes that name the schema: a statement in one that nobody knows is held back on purpose."""
_REMEMBERED = 40
_END = -1


class Hostile:
    """Draws such records for topics from a seed; it learns from what it finds there."""

    def __init__(self, cluster: Cluster, topics: tuple[str, ...], seed: int) -> None:
        self._topics = topics
        self._chance = Chance(seed)
        self._own = [self._chance.guid() for _ in range(40)]
        self._seen: dict[str, deque[Raw]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        self._cluster, self._ear = cluster, self._listening(cluster)

    def __iter__(self) -> Iterator[Written]:
        while True:
            self._learn()
            topic = self._chance.pick(self._topics)
            record = self._record(topic)
            if record is not None:
                yield self._placed(topic, record)

    # --- what is there ---------------------------------------------------------------------------

    def _listening(self, cluster: Cluster) -> Consumer:
        places = [
            TopicPartition(topic, partition, _END)
            for topic in self._topics
            for partition in partitions_of(cluster, topic)
        ]
        consumer = cluster.consumer(f"{cluster.topics.prefix}hostile")
        consumer.assign(places)
        return consumer

    def _learn(self) -> None:
        message = self._ear.poll(0)
        if message is None or message.error() is not None:
            return
        with suppress(MalformedError):
            raw = (message.key(), message.value(), list(headers_of(message)))
            self._seen[message.topic()].append(raw)

    # --- what is made of it ----------------------------------------------------------------------

    def _record(self, topic: str) -> Raw | None:
        # A queue has the dialog within the record, and a copy of that is simply said twice.
        seen = () if ".queue." in topic else tuple(self._seen[topic])
        try:
            if seen and self._chance.once_in(2):
                key, value, headers = self._chance.pick(seen)
                record: Raw = (self._key(topic, key), value, headers)
            else:
                record = self._made(topic)
        except (HoplineError, ValueError, OverflowError, AssertionError):
            return None  # even our own encoders refuse it
        for _ in range(self._chance.below(3)):
            record = self._changed(topic, record)
        return record

    def _made(self, topic: str) -> Raw:
        kind = topic.removeprefix(self._cluster.topics.prefix).partition(".")[0]
        make = {"cmd": self._statement, "ack": self._ack, "presence": self._presence}
        return make.get(
            kind, self._chance.pick((self._frame, self._frame, self._ack, self._junk))
        )()

    def _statement(self) -> Raw:
        pick = self._chance.pick
        said = Command(
            pick(self._own), self._chance.guid(), pick(tuple(CommandKind)), "DatabaseA",
            from_service="InitiatorService", to_service=pick(("TargetService", "Nobody")),
            body=pick(_BODIES),
        )  # fmt: skip
        texts = ("database", "from_service", "to_service", "to_broker", "contract", "type")
        odd: dict[str, object] = {
            self._chance.pick((*texts, "reply_to", "error_text")): self._text(),
            pick(("lifetime", "timeout", "error_code", "issued_at")): pick(_SMALL),
            "from_initiator": not self._chance.once_in(3),
            "related": pick((None, *self._own)),
        }
        return command_record(said._replace(**{k: v for k, v in odd.items() if self._coin()}))

    def _frame(self) -> Raw:
        flags = Flag(self._chance.below(int(max(Flag)) * 2))
        odd: dict[str, object] = {
            self._chance.pick(("sequence", "enqueued_at", "dialog_expires_at")): self._number(),
            "type": self._text(),
            "flags": flags,
            "fragment": self._chance.pick(_SMALL),
            "fragments": self._chance.pick(_SMALL),
        }
        body = self._chance.pick(_BODIES) or b""
        return message_record(
            self._chance.pick(self._own), self._parties(),
            header(**self._some(odd)), self._journey(), body,
        )  # fmt: skip

    def _ack(self) -> Raw:
        pick = self._chance.pick
        ack = Ack(self._number(), self._number(), pick(_SMALL), pick(_SMALL), pick(_NUMBERS))
        key, value, headers = ack_record(
            pick(self._own), self._parties(), ack._replace(closed=self._coin()), self._journey()
        )
        if self._chance.once_in(10):  # runs of fragments without an end
            value = (value or b"")[:-2] + pack_long(2**31) + b"\x02" * 1_000
        return key, value, headers

    def _presence(self) -> Raw:
        pick = self._chance.pick
        return f"Nobody{self._chance.below(50)}".encode(), encode_presence(
            self._text(), self._text(), pick(_SMALL), self._number()
        ), []  # fmt: skip

    def _junk(self) -> Raw:
        return self._chance.pick(rubbish())

    def _parties(self) -> Any:
        names = ("to_service", "to_broker", "from_service", "from_broker", "contract")
        odd: dict[str, object] = {self._chance.pick(names): self._text() for _ in range(2)}
        odd |= {"from_initiator": self._coin(), "locked": self._coin()}
        return parties(**self._some(odd))

    def _journey(self) -> Any:
        odd: dict[str, object] = {
            "hops_remaining": self._chance.pick(_SMALL),
            "expires_at": self._number(),
            "attempt": self._chance.pick(_SMALL),
            "first_hop": self._chance.pick(_SMALL),
            "path": ((self._text(), self._chance.pick(_SMALL)),) * self._chance.below(60),
        }
        return journey(**self._some(odd))

    def _some(self, odd: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in odd.items() if self._chance.once_in(3)}

    def _number(self) -> int:
        return self._chance.pick((*_NUMBERS, now(), now() + 60_000))

    def _text(self) -> str:
        return self._chance.pick(_TEXTS)

    def _coin(self) -> bool:
        return self._chance.once_in(2)

    # --- how it is changed -----------------------------------------------------------------------

    def _changed(self, topic: str, record: Raw) -> Raw:
        key, value, headers = record
        match self._chance.below(8):
            case 0:
                return self._key(topic, None), value, headers
            case 1:
                return key, self._bent(value or b"", 0), headers
            case 2:
                return key, None, headers
            case 3:
                return key, value, headers + headers[: self._chance.below(4)]
            case 4:
                return key, value, headers[1:]
            case 5:
                return key, value, headers[::-1]
            case 6:
                return key, value, [*headers, ("x" * self._chance.pick((1, 300, 30_000)), b"\xff")]
            case _:
                keep = _PREFIX if ".cmd." in topic else 0
                at = self._chance.below(max(1, len(headers)))
                bent = [
                    (name, raw if n != at or raw is None else self._bent(raw, keep))
                    for n, (name, raw) in enumerate(headers)
                ]
                return key, value, bent

    def _bent(self, raw: bytes, keep: int) -> bytes:
        """Return bytes of which some are others, or missing, or too many; the first ones stay."""
        at = keep + self._chance.below(max(1, len(raw) - keep))
        match self._chance.below(4):
            case 0:
                return raw[:at]
            case 1:
                return raw[:at] + bytes([self._chance.below(256)]) + raw[at + 1 :]
            case 2:
                return raw[:at] + pack_long(self._chance.pick(_NUMBERS)) + raw[at + 1 :]
            case _:
                return raw[:at] + b"\xff" * self._chance.pick((1, 9, 5_000)) + raw[at:]

    def _key(self, topic: str, key: bytes | None) -> bytes | None:
        """Return a key that names a dialog of its own, or none; a name of state has no other."""
        if key is not None and topic == self._cluster.topics.presence:
            return key
        own = str(self._chance.pick(self._own)).encode()
        if not self._chance.once_in(4):
            return own
        odd = (own.upper(), b"{%b}" % own, own[:-1], own + b" ", b"\xff" * 16, bytes(400_000))
        return self._chance.pick(odd)

    def _placed(self, topic: str, record: Raw) -> Written:
        at = self._chance.pick(_TIMES)
        when = {"past": now() - 3 * 86_400_000, "soon": now() + 600_000}.get(str(at), at)
        anywhere = self._chance.below(2) if self._chance.once_in(4) else -1
        return Written(topic, *record, timestamp=int(when or 0), partition=anywhere)
