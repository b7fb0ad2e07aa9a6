"""Texts in indexes are short: PostgreSQL refuses a row whose entry takes a third of a page."""

from __future__ import annotations

from sqlalchemy import String, UniqueConstraint

from streams.store.tables import METADATA

SHORT = {
    "key": "a digest",
    "conversation": "an id, which the monitor's queries write in canonical form",
    "instance": "part of a topic's name",
    "query": "a name in this program",
    "run": "an id of Spark's",
    "name": "a name in this program",
}
"""Names of indexed columns with a text, and why no record can make the text long."""

INSTANCES = {"dialogs"}
"""Tables whose instance is from a topic's name; in others, it may be any text of an event."""


def test_every_indexed_text_is_short() -> None:
    found = {
        (table.name, column.name)
        for table in METADATA.tables.values()
        for columns in (table.primary_key.columns, *(index.columns for index in table.indexes))
        for column in columns
        if isinstance(column.type, String)
    }
    assert {name for _, name in found} == set(SHORT)
    assert {table for table, name in found if name == "instance"} == INSTANCES
    constraints = {type(each) for table in METADATA.tables.values() for each in table.constraints}
    assert UniqueConstraint not in constraints, "it has an index, too"
