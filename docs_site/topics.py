"""Every kind of topic: its name, and how it must be configured."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from docs_site.page import Page, code, escaped, table
from streams.wire.specs import KINDS, spec
from streams.wire.topics import Topics

_METHODS = {"in": "inbox"}
"""The method of :class:`Topics` for a kind, if it is not called like the kind."""
_HEAD = """\
# Topics

In Kafka, each name begins with the prefix (default `ssb.`). [Kafka mapping](../kafka_mapping.md)
lists the keys, values, writers and readers of each topic. `hopline topics TOPOLOGY` lists the
topics of a topology, and `--check` compares them with a cluster.
"""


def pages() -> Iterator[Page]:
    """Yield the page of all topics."""
    yield Page("reference/topics.md", "\n".join([_HEAD, *map(_part, KINDS)]))


def _part(kind: str) -> str:
    member = inspect.getattr_static(Topics, _METHODS.get(kind, kind))
    function: Callable[..., str] = getattr(member, "fget", member)
    parameters = list(inspect.signature(function).parameters)[1:]
    name = ".".join([kind, *(f"<{parameter}>" for parameter in parameters)])
    said = inspect.cleandoc(function.__doc__ or "").removeprefix("Return ").partition("\n")[0]
    rows = [(code(key), code(value)) for key, value in sorted(spec(kind, kind).config.items())]
    lines = [f"## {kind}", "", f"{code(name)}: {escaped(said)}", "", table(("property", ""), rows)]
    return "\n".join(lines)
