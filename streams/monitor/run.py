"""Run the monitor: start all queries, watch them, stop them in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from streams.errors import SurroundingsError
from streams.kafka import Cluster
from streams.kafka.listing import topic_names
from streams.monitor.cluster import cluster_id
from streams.monitor.config import MonitorConfig
from streams.monitor.learned import learn
from streams.monitor.look import Eye
from streams.monitor.metrics import serving
from streams.monitor.missed import missed
from streams.monitor.publish import Publisher
from streams.monitor.queries import Query, queries
from streams.monitor.sampler import Sampler
from streams.monitor.session import close_session, open_session
from streams.monitor.sink import Target
from streams.monitor.unreadable import pass_unreadable
from streams.monitor.upkeep import Upkeep
from streams.monitor.watch import Watch
from streams.private import make_folder
from streams.store import Store
from streams.store.freshness import ARRIVALS
from streams.store.patient_store import PatientStore

_LOOK_S = 0.25
_SAY_S = 5.0
_NOTE_MS = 1_000
_LAST_BATCH_S = 20.0
_ANSWER_S = 15.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Starter:
    """Start queries, and start them again after unreadable records, which are reported once."""

    spark: SparkSession
    config: MonitorConfig
    checkpoint: Path
    say: Say
    _said: set[tuple[str, int, int]] = field(default_factory=set)

    def start(self, query: Query) -> StreamingQuery:
        return query.start(self.checkpoint.as_uri(), trigger_ms=self.config.trigger)

    def pass_unreadable(self, query: Query, failure: str = "") -> bool:
        """Let a query leave out records that it cannot read; return whether there are any.

        Also call this without a ``failure``, because such a record can end Spark's process.
        """
        folder = self.checkpoint / query.name
        try:
            found = pass_unreadable(self.spark, self.config.kafka, folder, failure)
        except Py4JJavaError:  # Kafka does not respond, which the query reports more clearly
            return False
        if found is not None and found[:3] not in self._said:
            self._said.add(found[:3])
            self.say(str(found))
        return found is not None


def run(
    config: MonitorConfig,
    *,
    stop: Event,
    say: Say = lambda _: None,
    spark: SparkSession | None = None,
) -> None:
    """Monitor a cluster until ``stop`` is set or, with ``until_idle``, no more records arrive.

    ``say`` is called with lines for the user. If no session is given, a session is started, and
    stopped at the end. Raises SurroundingsError if Java, Kafka or the store is missing or fails,
    UsageError if the store has different settings. If the store becomes unavailable later, its
    writers wait. ``stop`` is set at the end, which ends their waits.
    """
    with Store.open(config.store) as store:
        if spark is not None:
            _monitor(config, spark, store, stop, say)
            return
        say("starting Spark")
        own = open_session(master=config.master, log=config.checkpoint / "spark.log")
        try:
            if not stop.is_set():
                _monitor(config, own, store, stop, say)
        finally:
            close_session(own)


def _monitor(
    config: MonitorConfig, spark: SparkSession, store: Store, stop: Event, say: Say
) -> None:
    kafka = config.kafka
    cluster = cluster_id(spark, kafka)
    store.claim(config.claims(cluster))
    checkpoint = config.checkpoint_for(cluster)
    make_folder(checkpoint)
    for (topic, partition), count in missed(checkpoint, kafka).items():
        say(
            f"{topic}/{partition}: Kafka has deleted up to {count:,} records that the monitor had "
            "not read; its figures do not include them"
        )
    patient = PatientStore.of(store, stop, say)
    defined = queries(spark, config, _target(kafka, patient, say), learn(kafka))
    starter = _Starter(spark, config, checkpoint, say)
    watches: list[Watch] = []
    eye = Eye(kafka)
    sampler = Sampler(store, eye, say=say)
    try:
        for query in defined:
            starter.pass_unreadable(query)
            watches.append(Watch(starter.start(query)))
        sampler.start()
        with serving(config.http, watches, store, lambda: patient.outage) as port:
            if port is not None:
                say(f"metrics and health on port {port}")
            _follow(defined, starter, watches, sampler, patient, stop)
        say("stopping")
        _finish([watch.query for watch in watches])
        for watch in watches:
            watch.look(patient)
        _note(watches, patient, {}, config.horizon)
        sampler.stop()
        if sampler.failure is not None:
            raise sampler.failure
        say(_line(watches))
    finally:
        stop.set()  # a batch that waits for the store would delay the end of its query
        sampler.stop()
        for watch in watches:
            watch.query.stop()


def _target(cluster: Cluster, store: Store, say: Say) -> Target:
    """Return the target of figures: the store, and the topic ``metric`` if the cluster has it."""
    if cluster.topics.metric in topic_names(cluster, _ANSWER_S):
        return Publisher(store, cluster)
    say(f"there is no topic {cluster.topics.metric}; 'hopline apply' creates it")
    return store


def _follow(
    defined: tuple[Query, ...],
    starter: _Starter,
    watches: list[Watch],
    sampler: Sampler,
    store: Store,
    stop: Event,
) -> None:
    config, say = starter.config, starter.say
    ready, last_line, reported_at = False, "", time.monotonic()
    noted: dict[str, int] = {}
    worked, upkeep = time.monotonic(), Upkeep(store, config.keep, time.time)
    while not stop.wait(_LOOK_S):
        for query, watch in zip(defined, watches, strict=True):
            _check(query, watch, starter)
            watch.ends = sampler.ends
        if sampler.failure is not None:
            raise sampler.failure
        now = time.monotonic()
        busy = [watch.look(store) or (ready and not watch.ready) for watch in watches]
        if any(busy):
            worked = now
        upkeep.look(now)
        noted = _note(watches, store, noted, config.horizon)
        if not ready and all(watch.ready for watch in watches):
            ready, worked = True, now
            say(f"monitoring {config.bootstrap}, topics {config.prefix}*, into {store.address}")
            if config.ready_file is not None:
                config.ready_file.touch()
        if now - reported_at >= _SAY_S and (line := _line(watches)) != last_line:
            last_line, reported_at = line, now
            say(line)
        if ready and config.until_idle is not None and now - worked >= config.until_idle:
            return


def _note(
    watches: list[Watch], store: Store, noted: dict[str, int], horizon: int
) -> dict[str, int]:
    """Store how far each query has read, unless the progress is small; return what is stored.

    A query that has not yet read its topics keeps the value of a former run, which is still valid.
    """
    reached = {str(w.query.name): w.reached for w in watches if w.reached is not None}
    for watch in watches:
        if watch.query.name == "messages" and watch.watermark is not None:
            # a session ends a horizon after its last sighting
            reached[ARRIVALS] = watch.watermark - horizon
    if any(at >= noted.get(query, 0) + _NOTE_MS for query, at in reached.items()):
        store.reach(reached)
        return reached
    return noted


def _check(query: Query, watch: Watch, starter: _Starter) -> None:
    """Start a query again if it has stopped because Spark's client cannot read some records."""
    running = watch.query
    if running.isActive:
        return
    if query.sink.failure is not None:
        raise query.sink.failure
    failure = running.exception()
    if failure is not None and starter.pass_unreadable(query, str(failure)):
        watch.follow(starter.start(query))
        return
    text = str(failure).splitlines()[0] if failure else "unknown cause"
    raise SurroundingsError(f"The query '{query.name}' ended: {text}")


def _finish(running: Iterable[StreamingQuery]) -> None:
    """Stop queries after their current batches, or earlier if this takes too long."""
    end = time.monotonic() + _LAST_BATCH_S
    for query in running:
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < end:
            time.sleep(0.02)
        query.stop()


def _line(watches: list[Watch]) -> str:
    parts = (
        f"{watch.query.name} {watch.rows:,}" + (f" ({watch.late:,} late)" if watch.late else "")
        for watch in watches
    )
    return "records read: " + ", ".join(parts)
