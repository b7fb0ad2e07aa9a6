"""The Python API: a page for each public module, which mkdocstrings fills from docstrings."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from docs_site.page import Page, table

FOLDER = "reference/python"
MODULES: Mapping[str, tuple[str, ...]] = {
    "streams.analysis": (),
    "streams.analysis.diff": ("compare_topologies", "remove"),
    "streams.analysis.show": ("show",),
    "streams.analysis.estate": ("Estate",),
    "streams.topology": ("load", "Topology"),
    "streams.errors": (),
    "streams.client": (),
    "streams.client.outbox": ("Outbox",),
    "streams.client.inbox": ("Inbox",),
    "streams.agents": (),
    "streams.kafka": ("Cluster",),
    "streams.capture": (),
    "streams.simulator": ("Simulation", "read_scenario", "scenario_text"),
    "streams.store": ("Report", "Situation", "Store", "Which"),
}
"""Public modules, and which of their names are public; all of ``__all__`` if there are none."""
_INDEX = """\
# Python API

How to use it: [the same questions in Python](../../python.md),
[the Python client](../../client.md), [services](../../writing_a_service.md).

"""


def pages() -> Iterator[Page]:
    """Yield the list of modules, and a page for each."""
    rows = []
    for module in MODULES:
        said = (importlib.import_module(module).__doc__ or "").partition("\n")[0]
        rows.append((f"[`{module}`]({module}.md)", said))
    yield Page(f"{FOLDER}/index.md", _INDEX + table(("module", ""), rows))
    for module in MODULES:
        parts = [f"::: {module}.{name}\n" for name in public(module)]
        yield Page(f"{FOLDER}/{module}.md", "\n".join([f"# {module}\n", *parts]))


def public(module: str) -> tuple[str, ...]:
    """Return the public names of a module."""
    return MODULES[module] or tuple(importlib.import_module(module).__all__)
