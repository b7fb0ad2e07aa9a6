"""How topics must be configured so that nothing ages away (rule 1)."""

from __future__ import annotations

import pytest

from streams.wire import Topics
from streams.wire.specs import KINDS, cluster_specs, instance_specs, safe_absence, spec

SPECS = {
    made.kind: made
    for made in (
        *cluster_specs(Topics()),
        *instance_specs(Topics(), "I", [("D", "Q", 1)], clusters=["C"]),
    )
}
FOREVER = ("cmd", "out", "txq", "ingress", "in", "ack", "queue")
COMPACTED = ("dialog", "catalog", "presence", "reading")


def test_every_kind_has_its_topic() -> None:
    """There is no kind of topic that nobody needs, and none without a configuration."""
    assert set(SPECS) == set(KINDS) == {*FOREVER, *COMPACTED, "result", "event", "metric"}


@pytest.mark.parametrize("kind", FOREVER)
def test_messages_never_age_away(kind: str) -> None:
    """They shrink only by DeleteRecords behind what is no longer needed."""
    config = SPECS[kind].config
    assert config["cleanup.policy"] == "delete"
    assert config["retention.ms"] == config["retention.bytes"] == "-1"


@pytest.mark.parametrize("kind", COMPACTED)
def test_state_is_compacted(kind: str) -> None:
    """The newest record of a key stays for ever."""
    assert SPECS[kind].config["cleanup.policy"] == "compact"
    assert "retention.ms" not in SPECS[kind].config


@pytest.mark.parametrize("kind", COMPACTED)
def test_deletions_are_kept_for_twice_a_safe_absence(kind: str) -> None:
    """Whatever the broker's default is; and workers demand it before they rely on it."""
    assert SPECS[kind].safe.config["delete.retention.ms"] == str(2 * safe_absence(kind))


def test_only_events_figures_and_results_age() -> None:
    """Results for an hour, events and figures for a week."""
    ages = {k: s.config.get("retention.ms") for k, s in SPECS.items() if k not in FOREVER}
    assert ages.pop("result") == "3600000"
    assert ages.pop("event") == ages.pop("metric") == str(7 * 24 * 3600 * 1000)
    assert set(ages.values()) == {None}


def test_timestamps_are_the_producers_but_for_three_topics() -> None:
    """The Kafka timestamp stays the enqueue time, but where the broker's clock must judge."""
    types = {kind: s.config["message.timestamp.type"] for kind, s in SPECS.items()}
    assert {types.pop(kind) for kind in ("catalog", "presence", "in")} == {"LogAppendTime"}
    assert set(types.values()) == {"CreateTime"}


def test_the_broker_stores_no_codec_that_a_client_may_be_unable_to_read() -> None:
    """As our producers compress, so nothing is compressed again; workers start without it, too.

    What applications and other clusters write is not compressed: one lz4 record may be millions of
    records for the client that reads it.
    """
    codecs = {kind: s.config["compression.type"] for kind, s in SPECS.items()}
    plain = {codecs.pop(kind) for kind in ("cmd", "ingress", "reading", "presence", "catalog")}
    assert plain == {"uncompressed"}
    assert set(codecs.values()) == {"lz4"}
    assert not any("compression.type" in s.safe.config for s in SPECS.values())


def test_one_partition_unless_said_otherwise() -> None:
    """Counts are fixed in the catalog, default one per topic."""
    assert {s.partitions for s in SPECS.values()} == {1}
    assert spec("n", "cmd", 6).partitions == 6


def test_each_cluster_that_writes_to_an_instance_has_a_topic_of_its_own() -> None:
    """Like the transmission queue: with as many partitions, by the same key."""
    found = [s for s in instance_specs(Topics(), "I", (), 4, ["b", "a"]) if s.kind == "ingress"]
    assert [(s.name, s.partitions) for s in found] == [
        ("ssb.ingress.I.a", 4),
        ("ssb.ingress.I.b", 4),
    ]
    txq = spec("n", "txq", 4).config
    assert found[0].config == {**txq, "compression.type": "uncompressed"}


def test_queues_come_in_name_order() -> None:
    """The plan of ``apply`` does not depend on the order in which queues were declared."""
    queues = [("D", "B", 1), ("C", "Z", 4), ("D", "A", 1)]
    found = [s for s in instance_specs(Topics(), "I", queues) if s.kind == "queue"]
    assert [s.name for s in found] == ["ssb.queue.I.C.Z", "ssb.queue.I.D.A", "ssb.queue.I.D.B"]
    assert [s.partitions for s in found] == [4, 1, 1]
