"""A heartbeat can be written, and read in any cluster, whatever the catalog has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from streams.kafka import RECEIVED, Cluster, create, headers_of, read_all
from streams.node import CatalogView, KafkaClock, catalog_of
from streams.node.catalog_view import Senders
from streams.wire import Topics, claims_in, decode_presence
from streams.wire.evolution import ADMITS, ANNOUNCED, announcement, read_admission, written_schemas
from streams.wire.records import Headers, header_of
from streams.wire.single_object import Record
from streams.wire.specs import spec
from streams.workers.control.heartbeat_writer import HeartbeatWriter
from tests.node.test_mirror import TOPOLOGY
from tests.running import DEADLINE

PARTNER = "partner1"
GUID = "01234567-89ab-cdef-0123-456789abcdef"
LONG = "\u4e00" * 100
TODAY = announcement({key: json.dumps(schema) for key, schema in written_schemas().items()})


@cache
def catalog(databases: int, broker: str = GUID, clusters: int = 1) -> CatalogView:
    """Return a catalog whose partner has so many mirrored databases, and neighbours."""
    partner = TOPOLOGY.instances[PARTNER]
    made = {
        f"D{number}": replace(partner.databases["Orders"], name=f"D{number}", broker_id=broker)
        for number in range(databases)
    }
    changed = replace(partner, databases=made)
    view = catalog_of(replace(TOPOLOGY, instances={PARTNER: changed}), 1)
    senders = Senders(frozenset(), frozenset())
    return replace(view, ingress={PARTNER: {f"{LONG}{n}": senders for n in range(clusters)}})


def written(
    kafka: str, unique: str, view: CatalogView, announced: bytes, **properties: str
) -> tuple[Record, Headers]:
    """Write two heartbeats, and return the second one as it is read."""
    cluster = Cluster(kafka, Topics(unique), properties)
    create(cluster, [spec(cluster.topics.presence, "presence")])
    writer = HeartbeatWriter(cluster, "r", KafkaClock())
    headers: Mapping[str, str | bytes | None] = {ANNOUNCED: announced}
    for count in (1, 2):
        writer.write(PARTNER, count, 1.0, view, dict(headers))
        # a broker that has just started may need more than a second for the first one
        assert writer.producer.flush(DEADLINE) == 0
    writer.close()
    messages = read_all(Cluster(kafka, Topics(unique)), cluster.topics.presence)
    *_, last = messages
    record = decode_presence(last.value())
    assert (record["instance"], record["count"]) == (PARTNER, 2)
    assert len(last) + sum(len(n) + len(v or b"") for n, v in headers_of(last)) < RECEIVED * 0.9
    return record, headers_of(last)


def test_an_ordinary_heartbeat_has_all_that_it_claims(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    record, headers = written(kafka, unique, catalog(1_000), TODAY)
    assert len(claims_in(record)) == 1_000
    assert header_of(headers, ANNOUNCED) == TODAY
    assert read_admission(header_of(headers, ADMITS)) == {f"{LONG}0"}
    assert not [r for r in caplog.records if r.name == "hopline.control"]


@pytest.mark.parametrize("broker", [GUID, "x" * 1_000, "x" * 300_000])
def test_what_does_not_fit_is_left_out_and_logged_once(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture, broker: str
) -> None:
    """Other clusters would skip the heartbeat, or Kafka's client would refuse it."""
    view = catalog(2_000, broker, 3_000)
    record, headers = written(kafka, unique, view, TODAY)
    assert (len(claims_in(record)) > 50) is (len(broker) < 300_000)
    assert header_of(headers, ANNOUNCED) == TODAY
    assert 20 < len(read_admission(header_of(headers, ADMITS))) < 3_000
    assert sorted(r.getMessage() for r in caplog.records if r.name == "hopline.control") == [
        "the heartbeat of partner1: it has no room for all ownership claims",
        "the heartbeat of partner1: it has no room for the names of all clusters that it reads "
        "from",
    ]


@pytest.mark.parametrize(
    ("announced", "most"), [(bytes(1_100_000), "1000000"), (TODAY, "2000")], ids=["large", "small"]
)
def test_what_the_client_refuses_is_written_bare(
    kafka: str,
    unique: str,
    caplog: pytest.LogCaptureFixture,
    announced: bytes,
    most: str,
) -> None:
    """A property of the client may limit it more than we do."""
    limit = {"message.max.bytes": most}
    record, headers = written(kafka, unique, catalog(100), announced, **limit)
    assert not claims_in(record) and not headers
    [line] = [r.getMessage() for r in caplog.records if r.name == "hopline.control"]
    assert line == (
        "the heartbeat of partner1: Kafka's client refuses its size, so claims and headers are "
        "left out"
    )


def test_a_name_that_no_record_has_room_for_is_not_written(
    kafka: str, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(kafka, Topics(unique))
    writer = HeartbeatWriter(cluster, "r", KafkaClock())
    writer.write("x" * 1_100_000, 1, 1.0, None, {})
    assert len(writer.producer) == 0
    assert "refuses its size" in caplog.text
    writer.close()
