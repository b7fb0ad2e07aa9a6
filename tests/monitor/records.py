"""Records of queue and event topics: as values, as bytes, as frames, and in Kafka."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from streams.kafka import Cluster
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.wire import encode_event, encode_header, encode_journey, encode_parties
from streams.wire.bounds import LARGEST, LARGEST_EVENT, LARGEST_QUEUED_HOP, LONGEST
from streams.wire.events import EVENT
from tests.running import until_stable
from tests.wire.values import type_for

NOON = 1000 * int(datetime(datetime.now(UTC).year - 1, 11, 14, 22, 13, 20, tzinfo=UTC).timestamp())
"""An instant of the tests' day, in epoch milliseconds.

Brokers reject records that are older than five years, so the year is not a constant.
"""

LIFETIME = NOON + 86_400_000
"""When the tests' dialogs end."""

Headers = list[tuple[str, bytes]]


@dataclass(frozen=True)
class Delivery:
    """A message that arrived, and how."""

    id: int = 0
    enqueued_at: int = NOON
    visits: tuple[tuple[str, int], ...] = (
        ("ServerA", NOON + 2),
        ("ServerB", NOON + 5),
        ("ServerB/DatabaseB", NOON + 9),
    )
    from_service: str = "InitiatorService"
    to_service: str = "TargetService"
    attempt: int = 0
    flags: Flag = Flag.NONE
    fragment: int = 0
    conversation: uuid.UUID = field(default=uuid.UUID(int=77))
    sent_at: int = NOON + 1
    first_hop: int = 0
    sequence: int | None = None
    from_initiator: bool = True

    @property
    def headers(self) -> Headers:
        return [*self._envelope(self.visits), ("sb-conversation", self.conversation.bytes)]

    @property
    def transmitted(self) -> Headers:
        """The headers of the copy as its sender transmitted it."""
        return self._envelope(())

    @property
    def key(self) -> bytes:
        """The key of the record in which it was transmitted."""
        return str(self.conversation).encode()

    def removed(self, *, at: int, place: str = "ServerB/DatabaseB", error: int = 11218) -> bytes:
        """The event of the endpoint that did not keep this copy."""
        instance, _, database = place.partition("/")
        return encode_event(
            {
                "event": 160, "error": error, "at": at, "instance": instance, "database": database,
                "conversation": str(self.conversation), "message_id": str(uuid.UUID(int=self.id)),
                "sequence": self._number, "fragment": self.fragment, "attempt": self.attempt,
                "sent_at": self.sent_at, "first_hop": self.first_hop,
                "left_at": self.visits[0][1], "from_initiator": self.from_initiator,
            }
        )  # fmt: skip

    @property
    def _number(self) -> int:
        return self.id if self.sequence is None else self.sequence

    def _envelope(self, visits: tuple[tuple[str, int], ...]) -> Headers:
        parties = Parties(
            self.to_service, None, self.from_service, "A", "DEFAULT", self.from_initiator
        )
        header = Header(
            uuid.UUID(int=self.id), type_for(self.flags, "DEFAULT"), self._number,
            self.enqueued_at, LIFETIME, self.flags, self.fragment, self.fragment + 1,
        )  # fmt: skip
        journey = Journey(9, 0, self.attempt, self.sent_at, self.first_hop, visits)
        return [
            ("sb-route", encode_parties(parties)),
            ("sb-message", encode_header(header)),
            ("sb-hop", encode_journey(journey)),
        ]


def replaced(headers: Headers, name: str, value: bytes | None) -> Headers:
    """Return the headers with another value for one; without it where the value is None."""
    kept = [(key, raw if key != name else value) for key, raw in headers]
    return [(key, raw) for key, raw in kept if raw is not None]


MALFORMED: dict[str, tuple[str, Headers | None]] = {
    "no headers at all": ("sb-route: missing", None),
    "no route": ("sb-route: missing", replaced(Delivery().headers, "sb-route", None)),
    "no message": ("sb-message: missing", replaced(Delivery().headers, "sb-message", None)),
    "no hop": ("sb-hop: missing", replaced(Delivery().headers, "sb-hop", None)),
    "empty": ("sb-route: unknown schema", replaced(Delivery().headers, "sb-route", b"")),
    "text": ("sb-hop: unknown schema", replaced(Delivery().headers, "sb-hop", b"3 hops to go")),
    "unknown fingerprint": (
        "sb-message: unknown schema",
        replaced(Delivery().headers, "sb-message", b"\xc3\x01" + b"\x07" * 40),
    ),
    "cut off": (
        "sb-message: unreadable",
        replaced(Delivery().headers, "sb-message", Delivery().headers[1][1][:20]),
    ),
    "only a prefix": (
        "sb-route: unreadable",
        replaced(Delivery().headers, "sb-route", Delivery().headers[0][1][:10]),
    ),
    "a path of two thousand million visits": (
        "sb-hop: unreadable",
        replaced(
            Delivery().headers, "sb-hop", Delivery().headers[2][1][:29] + b"\xfe\xff\xff\xff\x0e"
        ),
    ),
    "a name of two thousand million bytes": (
        "sb-hop: unreadable",
        replaced(
            Delivery().headers,
            "sb-hop",
            Delivery().headers[2][1][:29] + b"\x02\xfe\xff\xff\xff\x0eA",
        ),
    ),
    "a long name of the sender": (
        "sb-route: name too long",
        Delivery(from_service="a" * (LONGEST + 1)).headers,
    ),
    "a long name of the target": (
        "sb-route: name too long",
        Delivery(to_service="\U0001f600" + "a" * LONGEST).headers,
    ),
    "a large route": ("sb-route: too large", Delivery(to_service="a" * LARGEST).headers),
    "a large message": (
        "sb-message: too large",
        replaced(Delivery().headers, "sb-message", Delivery().headers[1][1] + bytes(LARGEST)),
    ),
    "a long name on the path": (
        "sb-hop: too large",
        Delivery(visits=(("ServerA", NOON), ("a" * LARGEST_QUEUED_HOP, NOON))).headers,
    ),
    "enqueued before time": ("sb-message: no time", Delivery(enqueued_at=-(2**63)).headers),
    "delivered after time": (
        "sb-hop: no time",
        Delivery(visits=(("ServerA", NOON), ("ServerB/DatabaseB", 2**63 - 1))).headers,
    ),
}
"""A defect of a record: the reason that is reported, and its headers."""


def any_event(**fields: object) -> bytes:
    """Return an event with texts of any size, as only a foreign client writes it."""
    given = {"event": 1, "subclass": 0, "at": NOON, "instance": "A", "error": 0, "detail": ""}
    return EVENT.encode({**dict.fromkeys(EVENT.names), **given, **fields})


MALFORMED_EVENTS: dict[str, tuple[str, bytes | None]] = {
    "no value": ("value: missing", None),
    "text": ("value: unknown schema", b"event"),
    "cut off": ("value: unreadable", encode_event({"event": 1, "at": 1, "instance": "A"})[:12]),
    "no time": ("value: no time", encode_event({"event": 1, "at": -1, "instance": "A"})),
    "a long name": ("value: too large", any_event(from_service="a" * LARGEST_EVENT)),
}


@dataclass(frozen=True)
class Stored:
    """A record as Kafka has it."""

    headers: Headers | None = None
    value: bytes | None = b"<body/>"
    timestamp: int = NOON
    topic: str = "ssb.queue.ServerB.DatabaseB.TargetQueue"
    key: bytes | None = None


def frame(spark: SparkSession, records: Iterable[Stored]) -> DataFrame:
    """Return the frame (``read.RAW``) that Kafka's source makes of records."""
    rows = [
        (
            record.topic,
            None if record.key is None else bytearray(record.key),
            datetime.fromtimestamp(record.timestamp / 1000, UTC),
            None if record.value is None else bytearray(record.value),
            None
            if record.headers is None
            else [(key, bytearray(raw)) for key, raw in record.headers],
        )
        for record in records
    ]
    schema = (
        "topic string, key binary, timestamp timestamp, value binary,"
        " headers array<struct<key string, value binary>>"
    )
    return spark.createDataFrame(rows, schema)


def create_topics(bootstrap: str, *names: str, partitions: int = 2) -> None:
    """Create topics that keep old records."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, partitions, 1, config={"retention.ms": "-1"}) for name in names]
    for done in admin.create_topics(topics).values():
        done.result()


def produce(
    bootstrap: str, records: Sequence[Stored], *, transactional: str = "", commit: bool = True
) -> None:
    """Write records, in a transaction where it is named, and wait until they are stored."""
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap,
        "queue.buffering.max.messages": 1_000_000,
    }
    if transactional:
        settings |= {"transactional.id": transactional, "transaction.timeout.ms": 10_000}
    producer = Producer(settings)
    if transactional:
        producer.init_transactions()
        producer.begin_transaction()
    for record in records:
        producer.produce(
            record.topic,
            record.value,
            key=record.key,
            headers=list(record.headers or []),
            timestamp=record.timestamp,
        )
    assert producer.flush(30) == 0
    if transactional:
        (producer.commit_transaction if commit else producer.abort_transaction)()
        until_stable(Cluster(bootstrap), *{record.topic for record in records})
