"""Schemas that change: those that this version writes, and learning what other versions write.

A writer's schema is an object of the catalog, named by its fingerprint. ``apply`` puts those of its
own version there and removes none, because records under old ones lie in topics; whoever reads the
catalog learns them all. So an upgrade begins with the new version's ``apply``: the old workers can
read what the new ones are going to write.
"""

from __future__ import annotations

from typing import Any

from streams.schema import load
from streams.topology import catalog_key, split_key
from streams.wire import codecs, state, statements
from streams.wire.single_object import Codec, prefix_of

KIND = "schema"
_CODECS: dict[str, Codec] = {
    codec.name: codec
    for codec in (
        codecs.ROUTE,
        codecs.MESSAGE,
        codecs.HOP,
        codecs.ACK,
        codecs.STATUS,
        statements.COMMAND,
        statements.CAUSE,
        statements.RESULT,
        codecs.EVENT,
        codecs.PRESENCE,
        state.DIALOG,
        state.CHUNK,
        state.POSITIONS,
        state.REQUEST,
        state.SEEN,
    )
}
"""Not that of the catalog itself: nobody could learn it there."""


def schema_key(schema: Any) -> str:
    """Return the key of a schema's object in the catalog."""
    return catalog_key("", "", KIND, f"{schema['name']}.{prefix_of(schema)[2:].hex()}")


def written_schemas() -> dict[str, Any]:
    """Return the schemas that this version writes, by their keys in the catalog."""
    return {schema_key(load(name)): load(name) for name in _CODECS}


def is_schema(key: str) -> bool:
    """Tell whether a catalog object is a schema."""
    return key.count("/") == 3 and split_key(key)[2] == KIND


def learn(key: str, schema: Any) -> None:
    """Read records under a schema from now on, if we have any use for them.

    Raises MalformedError where it is no schema.
    """
    codec = _CODECS.get(split_key(key)[3].split(".")[0])
    if codec is not None:
        codec.announce(schema)
