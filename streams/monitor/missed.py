"""Records that Kafka deleted before the monitor read them, because the monitor did not run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Offsets, read_begins


def missed(checkpoint: Path, cluster: Cluster) -> Offsets:
    """Return the maximum number of records that each partition has lost since the queries last ran.

    ``checkpoint`` is the folder with the checkpoint of each query. The markers of transactions also
    occupy offsets, so there may have been fewer records. Raises SurroundingsError if a file of the
    checkpoint is damaged: Spark could not continue there either.
    """
    positions: Offsets = {}
    for query in checkpoint.iterdir():
        for topic, number, offset in _positions(query):
            place = topic, number
            positions[place] = min(offset, positions.get(place, offset))
    begins = read_begins(cluster, list(dict.fromkeys(topic for topic, _ in positions)))
    return {
        place: begins[place] - offset
        for place, offset in positions.items()
        if begins.get(place, 0) > offset
    }


def _positions(query: Path) -> Iterator[tuple[str, int, int]]:
    """Yield topic, partition and next offset of each source of a query's last completed batch.

    Spark writes a file for each batch: two other lines, then a line of JSON for each source.
    Without a completed batch there are no positions.
    """
    batches = [int(file.name) for file in (query / "commits").glob("*") if file.name.isdigit()]
    if not batches:
        return
    file = query / "offsets" / str(max(batches))
    try:
        lines = file.read_text().splitlines()[2:]
        for topics in (json.loads(line) for line in lines if line.startswith("{")):
            for topic, partitions in topics.items():
                for number, offset in partitions.items():
                    yield str(topic), int(number), int(offset)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise SurroundingsError(
            f"{file} is damaged, so the monitor cannot continue at its checkpoint: {error}",
            f"Move the folder {query.parent} away: the monitor then reads all records that are "
            "still in the topics.",
        ) from error
