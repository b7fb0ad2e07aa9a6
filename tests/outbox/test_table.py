"""What a relay reads of an outbox in either database, whoever has written it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from streams.outbox.table import METADATA, OUTBOX, OutboxTable

ROW: dict[str, Any] = {
    "id": "00000000-0000-0000-0000-000000000001",
    "instance": "ServerA",
    "conversation": "00000000-0000-0000-0000-000000000002",
    "kind": "SEND",
    "command": b"{}",
    "body": b"body",
}


@pytest.fixture
def table(application_database: str) -> Iterator[OutboxTable]:
    engine = sa.create_engine(application_database)
    METADATA.drop_all(engine)
    table = OutboxTable.open(application_database)
    table.claim()
    yield table
    table.close()
    METADATA.drop_all(engine)
    engine.dispose()


def insert(url: str, *rows: dict[str, Any]) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for row in rows:
            connection.execute(OUTBOX.insert().values({**ROW, **row}))
    engine.dispose()


def test_a_text_that_is_no_id_is_read_as_it_is(
    application_database: str, table: OutboxTable
) -> None:
    """A database would take a backslash for the beginning of bytes, and refuse the query."""
    insert(application_database, {"conversation": "\\"}, {"id": "\\"}, {"instance": "é"})
    batch = table.take(0)
    assert batch is not None
    assert batch.statements[0].conversation == "\\"
    assert batch.statements[1].id == "\\"
    assert batch.instances == ("ServerA", "é")


def test_a_row_that_kafka_does_not_take_stays(
    application_database: str, table: OutboxTable
) -> None:
    """All behind it is relayed; an operator is told of it."""
    large = bytes(1_000_001)
    insert(application_database, {"body": large}, {"command": large}, {}, {"body": None})
    batch = table.take(0)
    assert batch is not None
    assert [each.body for each in batch.statements] == [b"body", None]
    assert len(table.too_large()) == 2


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts what Linux has read")
def test_bodies_that_are_too_large_are_not_read_to_find_their_size(tmp_path: Path) -> None:
    """They stay in the table, so each poll would read all of them; text in their place is read."""
    url = f"sqlite:///{tmp_path}/outbox.db"
    table = OutboxTable.open(url)
    table.claim()
    text = sa.literal("é" * 600_000)
    insert(url, *({"body": bytes(3_000_000)} for _ in range(10)), {"body": text}, {})
    before = bytes_read()
    batch = table.take(0)
    read = bytes_read() - before
    table.close()
    assert batch is not None
    assert [each.body for each in batch.statements] == [b"body"]
    assert read < 3_000_000


def bytes_read() -> int:
    """Return how many bytes this process has read so far."""
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split("\n")[0])
