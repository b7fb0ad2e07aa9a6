"""Clusters, clients, topics and the catalog in Kafka; nothing else imports confluent_kafka.

``cluster`` creates all clients; ``cluster_from_topology`` finds a cluster that a topology defines.
``deploy`` is the deployment of a topology: ``create_topics`` and ``compare_topics``, then
``catalog``; ``acls`` and ``brokers`` concern users and brokers.

Every consumer is a ``checked_consumer``, which skips compressed malformed batches that only a
hostile writer sends (``silent_search``), and a ``fallback_consumer``, which reads uncompressed ones
as stored (``stored_partitions``, ``silent_partitions``). ``stored_batches`` requests what is stored
(``access`` is how it connects), ``batch_headers`` and ``stored_records`` parse it. Modules that
read: ``reader`` reads partitions to their ends, ``follow`` and ``spans`` read many topics, and
``recent_records`` reads the newest records. ``fetcher`` fetches single records, within a
``search_time``, with a ``record_cache`` and a ``stored_reader``. ``bounded_poll`` takes records
that a client has already fetched, and ``headers`` reads the headers of a record. ``transactor``
writes in a transaction; ``fenced`` recognizes a client whose name another process has taken.
Modules for offsets and groups: ``commits``, ``committed``, ``offset_metadata``, ``lag``,
``members``, ``coordinator``; ``trim`` deletes the beginnings of logs.

Errors and watchdogs: ``failure`` turns exceptions into errors with a remedy; ``patience`` limits
calls that may never return; ``outage``, ``lost_brokers``, ``stalled_fetch``,
``reassign_new_topics``, ``consumer_health`` and ``hung`` detect what the client does not report.
"""

from streams.kafka.access import UnsupportedError, access_of
from streams.kafka.acls import create_acls, set_passwords
from streams.kafka.bounded_poll import take, take_more
from streams.kafka.catalog import (
    CatalogState,
    Change,
    UnusableCatalogError,
    change_for,
    order_skip,
    publish,
    read_catalog,
    skip_key,
)
from streams.kafka.checked_consumer import CheckedConsumer
from streams.kafka.cluster import (
    OFFSET_BEGINNING,
    RECEIVED,
    UNCOMPRESSED,
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from streams.kafka.cluster_from_topology import demand_stateable, stated_cluster
from streams.kafka.commits import Commits
from streams.kafka.committed import Notes, Offsets, read_notes, read_notes_of, read_positions
from streams.kafka.compare_topics import (
    Mismatch,
    broker_count,
    compare,
    demand,
    demand_replicas,
    durable_config,
)
from streams.kafka.consumer_health import ConsumerHealth
from streams.kafka.coordinator import while_coordinator_moves
from streams.kafka.create_topics import create, grow
from streams.kafka.deploy import Deployment, deploy, find_beyond_apply, preview, specs_of
from streams.kafka.failure import is_forbidden, is_passing, worded
from streams.kafka.fenced import FENCED, LOST, WITHOUT_ID, FencedError, is_displaced, is_fatal
from streams.kafka.fetcher import Fetcher, GoneError
from streams.kafka.headers import Headers, headers_of, size_of
from streams.kafka.hung import Hung, HungTransactions, await_committed, find_hung, find_open
from streams.kafka.lag import Lags, read_begins, read_ends, read_highs, read_lags
from streams.kafka.lost_brokers import LostBrokers
from streams.kafka.offset_metadata import closed, note_of
from streams.kafka.patience import Patience, StuckError, in_time
from streams.kafka.reader import (
    next_of,
    partitions_of,
    read_all,
    read_from,
    read_live,
    watermarks,
)
from streams.kafka.reassign_new_topics import Returning
from streams.kafka.recent_records import GATHERED, PROMPT, is_at_end, pausing, start_before_newest
from streams.kafka.record_cache import CACHE_BYTES
from streams.kafka.search_time import NotNowError, SearchTime
from streams.kafka.spans import Overtaken, Spans
from streams.kafka.stalled_fetch import StalledFetch
from streams.kafka.statistics import ReadStatistics, Statistics, StatisticsReader
from streams.kafka.topic_ids import NO_TOPIC, find_topic_id, topic_id, topic_ids
from streams.kafka.transactor import AbortedError, Outgoing, Transactor
from streams.kafka.trim import first_since, trim

__all__ = [
    "CACHE_BYTES",
    "FENCED",
    "GATHERED",
    "LOST",
    "NO_TOPIC",
    "OFFSET_BEGINNING",
    "PROMPT",
    "RECEIVED",
    "UNCOMPRESSED",
    "WITHOUT_ID",
    "AbortedError",
    "CatalogState",
    "Change",
    "CheckedConsumer",
    "Cluster",
    "Commits",
    "Consumer",
    "ConsumerHealth",
    "Deployment",
    "FencedError",
    "Fetcher",
    "GoneError",
    "Headers",
    "Hung",
    "HungTransactions",
    "KafkaError",
    "KafkaException",
    "Lags",
    "LostBrokers",
    "Message",
    "Mismatch",
    "NotNowError",
    "Notes",
    "Offsets",
    "Outgoing",
    "Overtaken",
    "Patience",
    "Producer",
    "ReadStatistics",
    "Returning",
    "SearchTime",
    "Spans",
    "StalledFetch",
    "Statistics",
    "StatisticsReader",
    "StuckError",
    "TopicPartition",
    "Transactor",
    "UnsupportedError",
    "UnusableCatalogError",
    "access_of",
    "await_committed",
    "broker_count",
    "change_for",
    "closed",
    "compare",
    "create",
    "create_acls",
    "demand",
    "demand_replicas",
    "demand_stateable",
    "deploy",
    "durable_config",
    "find_beyond_apply",
    "find_hung",
    "find_open",
    "find_topic_id",
    "first_since",
    "grow",
    "headers_of",
    "in_time",
    "is_at_end",
    "is_displaced",
    "is_fatal",
    "is_forbidden",
    "is_passing",
    "next_of",
    "note_of",
    "order_skip",
    "partitions_of",
    "pausing",
    "preview",
    "publish",
    "read_all",
    "read_begins",
    "read_catalog",
    "read_ends",
    "read_from",
    "read_highs",
    "read_lags",
    "read_live",
    "read_notes",
    "read_notes_of",
    "read_positions",
    "set_passwords",
    "size_of",
    "skip_key",
    "specs_of",
    "start_before_newest",
    "stated_cluster",
    "take",
    "take_more",
    "topic_id",
    "topic_ids",
    "trim",
    "watermarks",
    "while_coordinator_moves",
    "worded",
]
