"""The schemas with which records may have been written: our own, and those in the catalog."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaException, read_catalog
from streams.kafka.listing import topic_names
from streams.monitor.decode import Writers
from streams.schema import load
from streams.topology import split_key
from streams.wire import MalformedError
from streams.wire.evolution import is_schema
from streams.wire.single_object import Codec, canonical_form, prefix_of

_ANSWER_S = 15.0
MOST_WRITERS = 100
"""Maximum number of schemas of a record: Spark has a branch for each of them in every query."""


class Schemas:
    """The schemas that writers may have used, by record name; ``objects`` come from the catalog."""

    def __init__(self, objects: Iterable[tuple[str, str]] = ()) -> None:
        self._announced = [(split_key(k)[3].split(".")[0], b) for k, b in objects if is_schema(k)]

    def writers(self, name: str) -> Writers:
        """Return the schemas of a record, our own first; invalid schemas are left out.

        Like the workers, this uses a schema's canonical form, which its fingerprint identifies.
        """
        codec, found = Codec(name), {prefix_of(load(name)): load(name)}
        for named, body in self._announced:
            if named == name and len(found) < MOST_WRITERS:
                try:
                    schema: dict[str, Any] = json.loads(body)
                    prefix = codec.announce(schema)
                    found.setdefault(prefix, json.loads(canonical_form(schema)))
                except (MalformedError, ValueError, RecursionError):
                    continue
        return found


OWN = Schemas()
"""The schemas that this version writes."""


def learn(cluster: Cluster) -> Schemas:
    """Read the catalog, if there is one; raises SurroundingsError if Kafka fails."""
    try:
        if cluster.topics.catalog not in topic_names(cluster, _ANSWER_S):
            return Schemas()
        return Schemas(read_catalog(cluster).objects.items())
    except KafkaException as error:
        raise SurroundingsError(f"The catalog cannot be read: {error}.") from error
