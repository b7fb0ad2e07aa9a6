"""The only importer of confluent_kafka: clusters, clients, topics, the catalog."""

from streams.kafka.acls import create_acls, set_passwords
from streams.kafka.catalog import (
    CatalogState,
    Change,
    change_for,
    publish,
    read_catalog,
)
from streams.kafka.cluster import (
    Cluster,
    Consumer,
    Headers,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    headers_of,
)
from streams.kafka.deploy import Deployment, deploy, find_too_few, preview, specs_of
from streams.kafka.failure import is_forbidden, is_passing, worded
from streams.kafka.fenced import FENCED, LOST, FencedError, is_fatal
from streams.kafka.hung import Hung, HungTransactions, await_committed, find_hung
from streams.kafka.lag import (
    Lags,
    Notes,
    Offsets,
    read_begins,
    read_ends,
    read_highs,
    read_lags,
    read_notes,
    read_notes_of,
    read_positions,
)
from streams.kafka.notes import closed, note_of
from streams.kafka.patience import OneAtATime, Patience, StuckError
from streams.kafka.reader import (
    CACHE_BYTES,
    Fetcher,
    GoneError,
    next_of,
    partitions_of,
    read_all,
    read_live,
    watermarks,
)
from streams.kafka.recent import GATHERED, is_at_end, start_before_newest, take
from streams.kafka.returning import Returning
from streams.kafka.spans import Overtaken, Spans
from streams.kafka.stated import refuse_secrets, stated_cluster
from streams.kafka.stranded import Stranded
from streams.kafka.topics import (
    Mismatch,
    broker_count,
    compare,
    create,
    demand,
    demand_replicas,
    durable_config,
    topic_id,
    topic_ids,
)
from streams.kafka.transactor import AbortedError, Outgoing, Transactor
from streams.kafka.trim import first_since, trim

__all__ = [
    "CACHE_BYTES",
    "FENCED",
    "GATHERED",
    "LOST",
    "AbortedError",
    "CatalogState",
    "Change",
    "Cluster",
    "Consumer",
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
    "Message",
    "Mismatch",
    "Notes",
    "Offsets",
    "OneAtATime",
    "Outgoing",
    "Overtaken",
    "Patience",
    "Producer",
    "Returning",
    "Spans",
    "Stranded",
    "StuckError",
    "TopicPartition",
    "Transactor",
    "await_committed",
    "broker_count",
    "change_for",
    "closed",
    "compare",
    "create",
    "create_acls",
    "demand",
    "demand_replicas",
    "deploy",
    "durable_config",
    "find_hung",
    "find_too_few",
    "first_since",
    "headers_of",
    "is_at_end",
    "is_fatal",
    "is_forbidden",
    "is_passing",
    "next_of",
    "note_of",
    "partitions_of",
    "preview",
    "publish",
    "read_all",
    "read_begins",
    "read_catalog",
    "read_ends",
    "read_highs",
    "read_lags",
    "read_live",
    "read_notes",
    "read_notes_of",
    "read_positions",
    "refuse_secrets",
    "set_passwords",
    "specs_of",
    "start_before_newest",
    "stated_cluster",
    "take",
    "topic_id",
    "topic_ids",
    "trim",
    "watermarks",
    "worded",
]
