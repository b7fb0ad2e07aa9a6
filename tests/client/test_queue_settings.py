"""A queue's settings, as its receivers follow them in the catalog."""

from __future__ import annotations

import contextlib
import json

from streams.client.queues import QueueSettings
from streams.kafka import Cluster, Consumer, deploy, read_catalog
from streams.kafka.catalog import VERSION_KEY
from streams.resources import topologies_dir
from streams.topology import apply_sql, load
from streams.wire import Topics, encode_catalog_object
from tests.workers.rig import eventually, pause

WHERE = ("ServerA", "DatabaseB")


def test_who_missed_a_removal_reads_the_catalog_again(kafka: str, unique: str) -> None:
    """The application was suspended, and no later version would fit to what it has read."""
    cluster = Cluster(kafka, Topics(unique))
    deploy(cluster, load(topologies_dir() / "local", 0))
    settings = QueueSettings(cluster, *WHERE, "TargetQueue")
    topology = read_catalog(cluster).topology
    assert settings.status and topology is not None
    settings._state.objects["ServerA/DatabaseB/route/Removed"] = "{}"
    deploy(cluster, apply_sql(topology, *WHERE, "ALTER QUEUE TargetQueue WITH STATUS = OFF", 0))

    def is_off() -> bool:
        settings.look()
        return not settings.status

    with contextlib.closing(settings):
        eventually(lambda: is_off() or pause(), "the settings are known")
        assert "ServerA/DatabaseB/route/Removed" not in settings._state.objects


def test_a_version_that_fits_nothing_is_read_again_once(kafka: str, unique: str) -> None:
    """It is its writer's fault; the last valid version counts."""
    cluster = Cluster(kafka, Topics(unique))
    deploy(cluster, load(topologies_dir() / "local", 0))
    settings = QueueSettings(cluster, *WHERE, "TargetQueue")
    producer = cluster.producer()
    value = encode_catalog_object(2, json.dumps({"number": 2, "hash": "of others"}))
    producer.produce(cluster.topics.catalog, key=VERSION_KEY, value=value)
    assert producer.flush(30) == 0
    clients: list[Consumer] = [settings._consumer]

    def has_read_it() -> bool:
        settings.look()
        clients.extend([] if settings._consumer is clients[-1] else [settings._consumer])
        return settings._state.refused == "of others"

    with contextlib.closing(settings):
        eventually(lambda: has_read_it() or pause(), "the version is read")
        for _ in range(10):
            has_read_it()
        assert len(clients) == 2
        assert settings.status and settings._state.version == 1
