"""The catalog: the topology that workers use, in one compacted partition.

A change is one transaction: the changed objects, tombstones for removed objects, and finally the
record ``version`` with the number and the hash of all live objects. Readers switch to the new
version when they read that record, provided that the hash matches the objects that they have read.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.errors import SurroundingsError, UsageError
from streams.kafka.cluster import UNCOMPRESSED, Cluster, Message, TopicPartition
from streams.kafka.reader import read_all, read_from
from streams.topology import Topology, catalog_key, flatten, pairs_of, unflatten
from streams.wire import decode_catalog_object, encode_catalog_object
from streams.wire.evolution import is_schema, learn, written_schemas

VERSION_KEY = "version"


@dataclass(slots=True)
class CatalogState:
    """The part of the catalog read so far; ``topology`` is that of ``version``, the last valid one.

    Schemas take effect immediately, for the whole process; an additional schema is harmless.
    ``refused`` is the hash in the last version record if it differs from the hash of the objects
    that were read. ``next`` is the offset of the next record.
    """

    version: int = 0
    topology: Topology | None = None
    error: str = ""
    objects: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    next: int = 0
    _reread_for: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Return whether the catalog must be read again from its start.

        Kafka removes a tombstone after a day. A reader that was absent for longer may still have
        removed objects, and would refuse every new version. If a version still does not match after
        the catalog has been read again, its writer is at fault.
        """
        return self.refused not in ("", self._reread_for)

    def replace(self, reread: CatalogState) -> bool:
        """Adopt the state that was read again from the start; return whether it is newer.

        Otherwise the last valid version stays in use, although it may no longer be in the log.
        """
        self.objects, self.error, self.next = reread.objects, reread.error, reread.next
        self.refused = self._reread_for = reread.refused
        if reread.version <= self.version:
            return False
        self.version, self.topology = reread.version, reread.topology
        return True

    def read(self, message: Message) -> bool:
        """Read one record; return whether a new version is complete."""
        self.next = (message.offset() or 0) + 1
        raw_key, value = message.key(), message.value()
        key = raw_key.decode("utf-8", "replace") if isinstance(raw_key, bytes) else str(raw_key)
        if value is None:
            self.objects.pop(key, None)
            return False
        try:
            number, body = decode_catalog_object(value)
            if key != VERSION_KEY:
                self.objects[key] = body
                if is_schema(key):
                    learn(key, json.loads(body))
                return False
            return self._complete(number, json.loads(body)["hash"])
        except Exception as error:  # any client with write access can write any record
            self.error = f"{key}: {error}"
            return False

    def _complete(self, number: int, digest: str) -> bool:
        if digest != hash_of(self.objects):
            self.error = f"version {number}: the hash does not match the objects that were read"
            self.refused = str(digest)
            return False
        self.refused = ""
        self.topology = _topology_of(self.objects)
        self.version, self.error = number, ""
        return True


class UnusableCatalogError(SurroundingsError):
    """The catalog contains foreign objects that make any new version invalid for readers."""


def _topology_of(objects: Mapping[str, str]) -> Topology:
    """Return the topology of live objects, except schemas, which may be old and invalid."""
    topology = unflatten({k: json.loads(v) for k, v in objects.items() if not is_schema(k)})
    pairs_of(topology)  # all readers use the pairs, and an invalid pair would end some of them
    return topology


def hash_of(objects: Mapping[str, str]) -> str:
    """Return the hash of all live objects, regardless of their order."""
    digest = hashlib.sha256()
    for key in sorted(objects):
        digest.update(f"{key}\0{objects[key]}\0".encode())
    return digest.hexdigest()


def read_catalog(cluster: Cluster, *, to_high: bool = True) -> CatalogState:
    """Read the catalog to its end; with ``to_high``, wait for a change that is being committed.

    Without this wait, a publisher could read the previous version, because a commit returns before
    the broker has written the commit marker.
    """
    state = CatalogState()
    for message in read_all(cluster, cluster.topics.catalog, to_high=to_high):
        state.read(message)
    return state


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of publishing: the keys of added, changed and removed objects.

    ``repairs``: the catalog's last version record is unusable. Compaction may have removed all
    other version records; then a starting worker waits for a new version.
    """

    base: int
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    repairs: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.repairs)


def _bodies(topology: Topology) -> dict[str, str]:
    objects = {**flatten(topology), **written_schemas()}
    return {k: json.dumps(v, sort_keys=True) for k, v in objects.items()}


def change_for(state: CatalogState | None, topology: Topology, *, prune: bool = False) -> Change:
    """Compare a topology and this version's schemas with the catalog, if it exists.

    Only ``prune`` removes objects; schemas are never removed.
    """
    state = state or CatalogState()
    new, old = _bodies(topology), state.objects
    added = tuple(sorted(k for k in new if k not in old))
    changed = tuple(sorted(k for k in new if k in old and old[k] != new[k]))
    gone = (k for k in old if k not in new and not is_schema(k))
    removed = tuple(sorted(gone)) if prune else ()
    return Change(state.version, added, changed, removed, repairs=bool(state.error))


def publish(cluster: Cluster, topology: Topology, change: Change) -> int:
    """Write a change in one transaction, like :func:`publish_objects`; return the new version."""
    return publish_objects(cluster, _bodies(topology), change)


def order_skip(cluster: Cluster, place: str) -> int:
    """Let workers skip the blocking record at a place (TOPIC/PARTITION@OFFSET).

    Returns the catalog's new version.
    """
    key, state = skip_key(place), read_catalog(cluster)
    if key in state.objects:
        return state.version
    change = Change(state.version, (key,), (), ())
    return publish_objects(cluster, {key: "{}"}, change)


def skip_key(place: str) -> str:
    """Return the key of the object that lets workers skip a record."""
    return catalog_key("", "", "skip", place)


def publish_objects(cluster: Cluster, bodies: Mapping[str, str], change: Change) -> int:
    """Write objects in one transaction; return the new version, once readers can read it.

    All writers share one transactional id, so a second writer fences the first. The catalog is read
    again after the fencing. Raises SurroundingsError if another writer was faster, and
    UnusableCatalogError if readers could not use the objects; then nothing is written.
    """
    topics = cluster.topics
    producer = cluster.producer(transactional_id=f"{topics.prefix}catalog", **UNCOMPRESSED)
    producer.init_transactions(30)
    state = read_catalog(cluster)
    if state.version != change.base:
        raise SurroundingsError(
            f"The catalog is now at version {state.version}, but the plan was made for "
            f"{change.base}.",
            "Run the command again.",
        )
    version = change.base + 1
    written = {key: bodies[key] for key in (*change.added, *change.changed)}
    live = {k: v for k, v in state.objects.items() if k not in change.removed} | written
    _demand_usable(live)
    producer.begin_transaction()
    for key, body in written.items():
        producer.produce(topics.catalog, key=key, value=encode_catalog_object(version, body))
    for key in change.removed:
        producer.produce(topics.catalog, key=key, value=None)
    body = json.dumps({"number": version, "hash": hash_of(live), "objects": len(live)})
    producer.produce(topics.catalog, key=VERSION_KEY, value=encode_catalog_object(version, body))
    producer.commit_transaction(30)
    _await_readable(cluster, state.next)
    return version


def _await_readable(cluster: Cluster, offset: int) -> None:
    """Wait until all records from an offset can be read: commit returns before its marker exists.

    Without this wait, a worker that starts right after the change could use the previous version.
    """
    deque(read_from(cluster, [TopicPartition(cluster.topics.catalog, 0, offset)], to_high=True), 0)


def _demand_usable(objects: Mapping[str, str]) -> None:
    try:
        _topology_of(objects)
    except UsageError as error:  # for example, a pair whose partners differ
        raise UnusableCatalogError(
            f"{error.message} Workers would not accept such a catalog, so none was published.",
            error.remedy,
        ) from error
    except Exception as error:  # any client with write access can write any record there
        raise UnusableCatalogError(
            f"The catalog has an invalid object: {error}. Workers would not accept a new version "
            "that contains it, so none was published.",
            "`hopline apply TOPOLOGY --prune` removes objects that the topology does not have.",
        ) from error
