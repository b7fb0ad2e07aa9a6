"""Hostile writers in every kind of topic, during a load; ``make soak`` takes ten minutes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from streams.kafka import Cluster, Message, deploy, read_catalog
from streams.kafka.catalog import VERSION_KEY
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.specs import KINDS
from tests.faults import hostile
from tests.faults.hostile import BOMBS, Hostile, kinds, topics_of
from tests.faults.junk import Written
from tests.faults.load import Load
from tests.faults.run import run
from tests.faults.scenarios import EVERYBODY, SCENARIOS

VERSION = VERSION_KEY.encode()


@pytest.mark.long
def test_hostile_writers_in_every_topic_harm_nobody_else(tmp_path: Path) -> None:
    """Every role that may write is hostile: no process ends, and nothing is lost.

    The hostile records begin before the applications, so these read some of them at their start.
    Latency and memory are only judged in the long run: they need a time without hostile records
    and a quiet machine.
    """
    [hostile] = [s for s in SCENARIOS if s.hostile]
    said: list[str] = []
    plan = replace(hostile, hostile=10.0)
    outcome = run(plan, Load(3_000, 50.0), 7, tmp_path, said.append, quiet=0.0)
    text = "\n".join(said)
    assert outcome.verdict.faults == {}, text
    assert "hostile: 0 ended by themselves" in text
    assert outcome.effect is not None and outcome.effect.bombs > 0
    assert set(outcome.effect.memory) == set(EVERYBODY)


def test_every_kind_of_topic_that_a_role_may_write_is_written() -> None:
    assert set(kinds()) == set(KINDS) - {"dialog"}


@pytest.fixture
def cluster(kafka: str, unique: str) -> Cluster:
    """Return a cluster with the catalog and the topics of two brokers."""
    found = Cluster(kafka, Topics(unique))
    deploy(found, load(topologies_dir() / "two_brokers", 0.0))
    return found


def drawn(cluster: Cluster, kind: str) -> Iterator[Written]:
    """Yield the first hostile records for the topic of a kind."""
    return islice(Hostile(cluster, topics_of(cluster, (kind,), ("ServerA",), ()), 5), 3_000)


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("catalog", {900_000, *BOMBS}),
        ("presence", {900_000, *BOMBS}),
        ("cmd", {900_000, *BOMBS}),
        ("event", {*BOMBS}),
    ],
)
def test_bombs_are_among_the_records(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, kind: str, sizes: set[int]
) -> None:
    monkeypatch.setattr(hostile, "_BOMB_ONCE_IN", 10)
    missing = set(sizes)
    for each in drawn(cluster, kind):
        missing.discard(len(each.value or b""))
        if not missing:
            return
    raise AssertionError(missing)


def test_keys_and_headers_of_the_catalog_are_changed(cluster: Cluster) -> None:
    real = {key.encode() for key in read_catalog(cluster).objects}
    records = [each for each in drawn(cluster, "catalog") if len(each.value or b"") < min(BOMBS)]
    keys = Counter(each.key for each in records)
    assert not real & set(keys), "a record of a real object would be another catalog"
    assert sum(count == 1 for count in keys.values()) > 100
    assert any(key.endswith(b"\xff") for key in keys if key is not None)
    assert sum(bool(each.headers) for each in records) > 500
    assert max(len(name) for each in records for name, _ in each.headers) == 30_000


def test_no_version_of_the_catalog_can_be_used(cluster: Cluster) -> None:
    """Some have the hash of what a reader has read, whatever keys and values that was."""
    state, fitting = read_catalog(cluster), 0
    for each in drawn(cluster, "catalog"):
        state.refused = "nothing"
        assert not state.read(Message(key=each.key, value=each.value, offset=1))
        fitting += each.key == VERSION and not state.refused
    assert fitting > 100
