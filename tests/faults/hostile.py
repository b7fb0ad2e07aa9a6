"""Write records like a hostile writer: mutated real records, and valid ones with odd values.

Every kind of topic that some role may write gets the same number of records. All of them are about
the writer's own dialogs, since a record about another dialog would belong to that dialog; other
dialogs must not be affected at all. A hostile `apply` role could publish a valid catalog with other
content; here it publishes only catalogs that no worker can use.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from streams.chance import Chance
from streams.errors import HoplineError
from streams.kafka import Cluster, Consumer, TopicPartition, headers_of, partitions_of
from streams.kafka.catalog import VERSION_KEY, hash_of, read_catalog
from streams.protocol import Ack, Claim, Command, CommandKind, Flag
from streams.wire import (
    MalformedError,
    decode_catalog_object,
    decode_event,
    encode_catalog_object,
    encode_event,
    encode_presence,
)
from streams.wire.acl import ROLES, Operation, Resource
from streams.wire.commands import ResultRecord, encode_result
from streams.wire.metric import encode_metric
from streams.wire.packing import pack_long
from streams.wire.reading import Reading, reading_record
from streams.wire.records import (
    CONVERSATION,
    ack_record,
    command_record,
    message_record,
)
from streams.wire.specs import KINDS
from tests.faults.clusters import PARTNER
from tests.faults.junk import Written, fits
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
"""Bytes that name the schema; a statement in an unknown schema is held back on purpose."""
_REMEMBERED = 40
_COMPACTED = ("catalog", "presence", "reading", "metric")
_NAMES = ("ServerA", "ServerB", "GatewayA", "GatewayB", "ServerC")
_PERIODS = (0.0, -1.0, 1.0, 60.0, 2e6)
_CLAIMS = (0, 0, 1, 1_000, 1_001, 50_000)
_RECURSIVE = json.dumps({
    "type": "record", "name": "Presence", "namespace": "hopline",
    "fields": [{"name": "x", "type": ["null", "Presence"]}],
})  # fmt: skip
_END = -1
_OBJECTS = (
    "Nobody//instance/Nobody", "Nobody/D/database/D", "Nobody/D/route/R", "Nobody/D/queue/Q",
    "//skip/x", "//schema/Presence.0123456789abcdef", "//schema/Route.zz", "////", "x",
)  # fmt: skip
_IN_REAL = "ServerB/DatabaseB/route/Hostile"
_NO_ROUTES = (
    '{"name": "R", "position": "first"}', '{"name": "R", "position": 0, "address": 5}',
    '{"name": "R", "position": 0, "expires": "soon"}', '{"name": "\\ud800", "position": 0}',
    '{"name": "R", "position": 0, "service": ["S"]}', "[]", "7", "", "[" * 5_000,
)  # fmt: skip
_NO_VERSIONS = ('{"hash": "x"}', "{}", "7", "", '{"number": 1, "hash": null}', "[" * 5_000)
_BODIES_OF_OBJECTS = (
    "", "{}", "[]", "null", '{"name": 7}', '{"name": "\\ud800"}', "[" * 5_000, "x" * 100_000,
    '{"name": "Nobody", "partitions": 0}', '{"name": "Q", "partitions": 1e300}', _RECURSIVE,
    '{"name": "Nobody", "endpoint": {"forward_size_mb": -1, "transport": "none"}}',
)  # fmt: skip


_BOMB_ONCE_IN = 400
BOMBS = (2_000_000, 20_000_000)
"""Number of zero bytes, which compress to a few kilobytes; Kafka's limit applies to these."""
_UNCOMPRESSED_BOMBS = (900_000, *BOMBS)
"""The same for topics that Kafka stores uncompressed: it accepts only the first."""
_NOT_HERE = frozenset({"dialog"})
"""The state of endpoint workers: an unreadable record there stops its partition on purpose."""


def kinds() -> tuple[str, ...]:
    """Return the kinds of topics that some role may write there, except `dialog`."""
    rows = [row for role in ROLES.values() for row in role.rows]
    found = {
        r.name for r in rows if r.resource is Resource.TOPIC and Operation.WRITE in r.operations
    }
    return tuple(sorted(found - _NOT_HERE))


def topics_of(
    cluster: Cluster, chosen: Sequence[str], instances: Sequence[str], queues: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the topics of some kinds."""
    names = cluster.topics
    one = {kind: (getattr(names, kind),) for kind in ("catalog", "presence", "event", "metric")}
    one["ingress"] = (names.ingress(PARTNER.gateway, PARTNER.cluster),)
    return {
        kind: tuple(queues)
        if kind == "queue"
        else one.get(kind) or tuple(names.name(kind, instance) for instance in instances)
        for kind in chosen
    }


class Hostile:
    """Draws such records for topics by kind, from a seed, with existing records as models."""

    def __init__(self, cluster: Cluster, topics: Mapping[str, tuple[str, ...]], seed: int) -> None:
        self._kinds = topics
        self._kind_of = {topic: kind for kind, found in topics.items() for topic in found}
        self._topics = tuple(self._kind_of)
        self._objects = dict(read_catalog(cluster).objects)
        self._publishes: deque[Raw] = deque()
        self._chance = Chance(seed)
        self._own = [self._chance.guid() for _ in range(40)]
        self._seen: dict[str, deque[Raw]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
        # no other writer uses an ingress topic, so take models from the gateway's topic
        names = cluster.topics
        entrance = names.ingress(PARTNER.gateway, PARTNER.cluster)
        self._models = {entrance: names.txq(PARTNER.gateway)} if entrance in self._kind_of else {}
        self._cluster, self._ear = cluster, self._listening(cluster)

    def __iter__(self) -> Iterator[Written]:
        while True:
            self._learn()
            topic = self._chance.pick(self._kinds[self._chance.pick(tuple(self._kinds))])
            record = self._record(topic)
            if record is not None and fits(topic, record):
                yield self._placed(topic, record)

    # --- existing records
    # ---------------------------------------------------------------------------

    def _listening(self, cluster: Cluster) -> Consumer:
        places = [
            TopicPartition(topic, partition, _END)
            for topic in {self._models.get(topic, topic) for topic in self._topics}
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

    # --- mutated records ----------------------------------------------------------------------

    def _record(self, topic: str) -> Raw | None:
        kind = self._kind_of[topic]
        if kind == "catalog":
            return self._catalog_record(topic)
        seen = tuple(self._seen[self._models.get(topic, topic)])
        try:
            if seen and self._chance.once_in(2):
                record = self._own_copy(topic, self._chance.pick(seen))
            else:
                record = self._made(kind)
        except (HoplineError, MalformedError, ValueError, OverflowError, AssertionError):
            return None  # even our own encoders reject it
        return self._harmful(topic, record)

    def _harmful(self, topic: str, record: Raw) -> Raw:
        """Return the record with a bomb for its value, or changed in up to two places."""
        kind = self._kind_of[topic]
        if self._chance.once_in(_BOMB_ONCE_IN):
            is_compressed = KINDS[kind].get("compression.type") != "uncompressed"
            sizes = BOMBS if is_compressed else _UNCOMPRESSED_BOMBS
            record = record[0], bytes(self._chance.pick(sizes)), record[2]
        else:
            for _ in range(self._chance.below(3)):
                record = self._changed(topic, record)
        if record[0] is None and kind in _COMPACTED:  # Kafka accepts no record without a key
            return str(self._chance.pick(self._own)).encode(), *record[1:]
        return record

    def _own_copy(self, topic: str, seen: Raw) -> Raw:
        """Return a real record, changed to belong to a dialog of the writer."""
        key, value, headers = seen
        own = self._chance.pick(self._own)
        if self._kind_of[topic] == "queue":  # its key is the conversation group
            rest = [(name, raw) for name, raw in headers if name != CONVERSATION]
            headers = [*rest, (CONVERSATION, own.bytes)]
        if self._kind_of[topic] == "event":
            value = encode_event({**decode_event(value), "conversation": str(own)})
        return self._key(topic, key), value, headers

    def _made(self, kind: str) -> Raw:
        make = {
            "cmd": self._statement, "ack": self._ack, "presence": self._presence,
            "event": self._event, "result": self._result, "reading": self._reading,
            "metric": self._metric, "queue": self._queued,
        }  # fmt: skip
        if kind in make and not self._chance.once_in(10):
            return make[kind]()
        return self._chance.pick((self._frame, self._frame, self._ack, self._junk))()

    # --- state and reports -----------------------------------------------------------------------

    def _catalog_record(self, topic: str) -> Raw:
        """Return an invalid object, or a version with a matching or a wrong hash.

        Only the object within a real database and the version after it are written as they are;
        keys, values and headers of all others are changed as on other topics.
        """
        if self._publishes:
            return self._publishes.popleft()
        pick, number = self._chance.pick, self._number()
        match self._chance.below(6):
            # a tombstone of one of its own invalid objects, or of an object that never existed
            case 0:
                key, value = pick(_OBJECTS), None
            case 1:  # an invalid object within a real database, and a hash that matches
                key, value = _IN_REAL, encode_catalog_object(number, pick(_NO_ROUTES))
            case 2:
                key, value = VERSION_KEY, encode_catalog_object(number, pick(_NO_VERSIONS))
            case _:
                key, value = pick(_OBJECTS), encode_catalog_object(number, pick(_BODIES_OF_OBJECTS))
        record: Raw = (key.encode(), value, [])
        if key != _IN_REAL:
            record = self._harmful(topic, self._with_headers(record))
        self._note_object(record)
        if key == _IN_REAL:
            said = json.dumps({"number": number, "hash": hash_of(self._objects), "objects": 1})
            self._publishes.append((VERSION_KEY.encode(), encode_catalog_object(number, said), []))
        return record

    def _with_headers(self, record: Raw) -> Raw:
        """Return the record, sometimes under another key, and with headers of other topics."""
        key, value, _ = record
        if key is not None and self._chance.once_in(6):
            bent = self._bent(key, 0)
            key = key if _text(bent) in self._objects else bent or b"x"
        return key, value, list(self._junk()[2]) if self._coin() else []

    def _note_object(self, record: Raw) -> None:
        """Read the catalog like its readers, which is the only way to compute a matching hash."""
        key, value = _text(record[0] or b""), record[1]
        if value is None:
            self._objects.pop(key, None)
        elif key != VERSION_KEY:
            with suppress(MalformedError):
                self._objects[key] = decode_catalog_object(value)[1]

    def _event(self) -> Raw:
        reported = {
            "event": self._chance.pick(_SMALL), "at": self._number(), "instance": self._text(),
            "conversation": str(self._chance.pick(self._own)), "error": self._chance.pick(_SMALL),
            "sequence": self._number(), "detail": self._text(), "path": self._text(),
        }  # fmt: skip
        return str(self._chance.pick(self._own)).encode(), encode_event(reported), []

    def _result(self) -> Raw:
        own = self._chance.pick(self._own)
        answer = ResultRecord(self._chance.guid(), own, self._chance.pick(_SMALL), self._text())
        return str(own).encode(), encode_result(answer), []

    def _reading(self) -> Raw:
        pick = self._chance.pick
        said = Reading(
            "nobody", self._text(), pick(self._own), pick(_SMALL), self._number(), self._number()
        )
        key, value = reading_record(said)
        return key, value, []

    def _metric(self) -> Raw:
        values = {self._text(): pick for pick in (float("inf"), float("nan"), 1e308, self._text())}
        return b"nobody", encode_metric(self._text(), self._text(), "q", self._number(), values), []

    def _queued(self) -> Raw:
        key, value, headers = self._frame()
        own = self._chance.pick(self._own)
        return key, value, [*headers, (CONVERSATION, own.bytes)]

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
        if self._chance.once_in(10):  # sequences of fragments without an end
            value = (value or b"")[:-2] + pack_long(2**31) + b"\x02" * 1_000
        return key, value, headers

    def _presence(self) -> Raw:
        pick = self._chance.pick
        name = pick((self._text(), *_NAMES, str(self._chance.guid())))
        claim = Claim(pick(("", "DatabaseA", "DatabaseB")), self._coin(), self._number())
        key = name if self._coin() else name[:40]
        return key.encode() or b"x", encode_presence(
            name, pick(("r", self._text())), pick(_SMALL), self._number(),
            [claim] * pick(_CLAIMS), pick(_PERIODS),
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

    # --- how records are changed
    # -----------------------------------------------------------------------

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
        """Return bytes with some replaced, removed or added; the first ones are unchanged."""
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
        """Return a key that names one of the writer's dialogs, or none."""
        if key is not None and self._kind_of[topic] in _COMPACTED:
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


def _text(key: bytes) -> str:
    """Return a key of the catalog as its readers do."""
    return key.decode("utf-8", "replace")
