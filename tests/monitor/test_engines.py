"""`hopline verify` gives one ledger, whichever engine reads: this process and Spark, same records.

The records are a real Kafka's or captures', and have every kind of fault.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streams.capture import CaptureOrigin, CaptureWriter, Metadata, Record, TimestampType
from streams.kafka import Cluster, deploy
from streams.live.verify import Asked
from streams.report import DISCARDED, Fate, Fault, Span
from streams.report.dialog_filter import DialogFilter
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.topology.share import share_of
from streams.wire import Topics
from tests.command import hopline
from tests.monitor.agreed import agreed_captures, agreed_clusters
from tests.monitor.odd import Place, Story, Written, committed
from tests.running import until_stable

DIALOGS = 120


def place(topics: Topics, home: str, database: str, queue: str, instance: str = "") -> Place:
    return Place(topics, home, database, queue, instance, 2)


def twice(topology: Topology) -> Topology:
    """Give every instance two partitions."""
    instances = {name: replace(i, partitions=2) for name, i in topology.instances.items()}
    return replace(topology, instances=instances)


@pytest.fixture(scope="module")
def clusters(kafka: str) -> Sequence[Cluster]:
    """Write dialogs that cross two clusters, and such with a mirrored database in a third."""
    now, prefix = time.time_ns() // 1_000_000 - 7_200_000, f"t{time.time_ns()}"
    buyer, seller, pair = (Cluster(kafka, Topics(f"{prefix}{n}.")) for n in range(3))
    whole = twice(load(topologies_dir() / "two_clusters", time.time()))
    mirrored = twice(load(topologies_dir() / "mirrored", time.time()))
    deploy(buyer, share_of(whole, "buyer"))
    deploy(seller, share_of(whole, "seller"))
    deploy(pair, mirrored)
    here = place(buyer.topics, "ServerA", "DatabaseA", "OrderQueue")
    there = place(seller.topics, "ServerB", "DatabaseB", "SupplierQueue")
    initiator = place(pair.topics, "ServerA", "DatabaseA", "InitiatorQueue")
    orders = place(pair.topics, "Orders", "Orders", "OrderQueue", "Partner2")
    for seed, (one, other) in enumerate([(here, there), (initiator, orders)]):
        write(buyer, Story(one, other, seed, now).tell(DIALOGS))
    return buyer, seller, pair


def write(cluster: Cluster, records: Sequence[Written]) -> None:
    """Write records in their order; some in transactions that are aborted."""
    plain, aborting = cluster.producer(), cluster.producer(transactional_id=f"t{time.time_ns()}")
    aborting.init_transactions(60)
    for topic, partition, key, value, headers, at, aborted in records:
        where: dict[str, Any] = {"partition": partition, "timestamp": at, "headers": headers}
        if aborted:
            assert plain.flush(30) == 0
            aborting.begin_transaction()
            aborting.produce(topic, value, key, **where)
            aborting.abort_transaction(60)
        else:
            plain.produce(topic, value, key, **where)
    assert plain.flush(30) == 0
    until_stable(cluster, *{record[0] for record in records})


@pytest.mark.long
def test_both_engines_give_one_ledger_of_several_clusters_and_mirrored_databases(
    spark: SparkSession, clusters: Sequence[Cluster]
) -> None:
    account = agreed_clusters(spark, clusters).account
    ledger = account.ledger
    assert all(ledger.faults[fault] for fault in Fault), "each kind of exception is in it"
    discarded = sum(1 for fate in DISCARDED if ledger.outcomes[fate])
    assert discarded >= 4 and ledger.outcomes[Fate.IN_TRANSMISSION_QUEUE]
    assert ledger.outcomes[Fate.UNREAD] and ledger.at_refused_targets
    assert account.duplicates and account.drops and account.delays
    assert {"8430", "8489"} & set(account.to_json()["refused"]) == {"8430"}
    places = {m.place for _, m in account.exceptions}
    assert {"ServerB/DatabaseB", "Orders/Orders"} <= places


@pytest.mark.long
def test_both_engines_select_the_same_dialogs(
    spark: SparkSession, clusters: Sequence[Cluster]
) -> None:
    asked = Asked(dialog_filter=DialogFilter("nightly"))
    found = agreed_clusters(spark, clusters[2:], asked).account
    assert found.ledger.accepted > 100
    assert found.replayed == {"nightly": found.ledger.accepted}


# --- captures ------------------------------------------------------------------------------------


METADATA = Metadata(CaptureOrigin.CAPTURED, "ssb.", "odd", 0)
PLACES = (
    place(Topics("ssb."), "ServerA", "DatabaseA", "InitiatorQueue"),
    place(Topics("ssb."), "ServerB", "DatabaseB", "TargetQueue"),
)


def rows(records: Sequence[Written]) -> list[Record]:
    """Return what a capture has of records."""
    offsets: Counter[tuple[str, int]] = Counter()
    found = []
    for topic, partition, key, value, headers, at, _ in committed(records):
        names = tuple((str(name), raw) for name, raw in headers)
        where = topic, partition, offsets[topic, partition], at, TimestampType.CREATE_TIME
        found.append(Record(*where, key, names, value))
        offsets[topic, partition] += 1
    return found


def captures(folder: Path, records: Sequence[Written], parts: int) -> list[Path]:
    """Write captures, each of a part of the time; the latest is the first."""
    found = rows(records)
    size = -(-len(found) // parts)
    files = [folder / f"{n}.avro" for n in range(parts)]
    for n, file in enumerate(files):
        with CaptureWriter(file, METADATA) as writer:
            for row in found[n * size : (n + 1) * size]:
                writer.write(row)
    return files[::-1]


@pytest.mark.long
def test_both_engines_give_one_ledger_of_captures_in_any_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    now = 1_790_000_000_000
    story = Story(*PLACES, 3, now)
    files = captures(tmp_path, story.tell(DIALOGS, too_large=False), 3)
    found = agreed_captures(spark, files)
    assert found.account.ledger.accepted > 400 and found.account.ledger.faults[Fault.LOST]
    half = now + len(story.records) // 2
    later = agreed_captures(spark, files, Asked(Span(half)))
    assert 0 < later.account.ledger.accepted < found.account.ledger.accepted


def verified(tmp_path: Path, engine: str, *, is_odd: bool) -> tuple[int, Any]:
    """Return what `hopline verify` finds in a capture without or with records of any size."""
    told = Story(*PLACES, 3, 1_790_000_000_000).tell(9, too_large=is_odd)
    many = told[0]._replace(key=b"x", headers=[("h", None)] * 300)
    [file] = captures(tmp_path, [*told, *[many] * is_odd], 1)
    command = [sys.executable, "-m", "streams", "verify", "--capture", file, "--engine", engine]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found.pop("engine") == engine
    return done.returncode, found


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.long)])
def test_records_that_are_no_statements_change_nothing(tmp_path: Path, engine: str) -> None:
    """A worker rejects what is too large with its body; a header costs Spark more than its text."""
    usual = verified(tmp_path, "local", is_odd=False)
    assert usual[0] == 1 and usual[1]["exceptions"], "messages are lost"
    assert verified(tmp_path, engine, is_odd=True) == usual


@pytest.mark.parametrize(
    ("most", "ended", "options", "engine"),
    [
        (200_000, True, (), "local"),
        (100, True, (), "spark"),
        (200_000, False, (), "spark"),
        (100, True, ("--engine", "local"), "local"),
    ],
)
def test_the_engine_is_chosen_by_the_number_of_records(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    ended: bool,
    options: tuple[str, ...],
    engine: str,
) -> None:
    """A capture whose writer did not come to its end does not say how many it has."""
    monkeypatch.setattr("streams.cli.look.verify._MOST_LOCAL", most)
    monkeypatch.setattr("streams.live.engines.spark.batch_session", lambda **_: nullcontext(spark))
    with suppress(KeyError), CaptureWriter(tmp_path / "c", METADATA) as writer:
        for row in rows(Story(*PLACES, 3, 1_790_000_000_000).tell(9, too_large=False)):
            writer.write(row)
        if not ended:
            raise KeyError
    file = tmp_path / ("c" if ended else "c.part")
    _, out, err = hopline("verify", "--capture", file, "--format", "json", *options)
    assert json.loads(out)["engine"] == engine
    said = "an unknown number of records" if not ended else "records with Spark"
    assert (said in err) == (engine == "spark")
