"""The evidence of findings about flows: places, routes, and the path that proves them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streams.analysis.check.trouble import Trouble
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import routes_of
from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.journey import Hops
from streams.analysis.flows.route_index import At
from streams.analysis.known import Home, known
from streams.prose import listed
from streams.topology import (
    NOWHERE,
    Database,
    Instance,
    Source,
)

LISTED = 20
"""Maximum number of flows that a finding lists; its count includes all flows."""


def place_of(instance: Instance, database: Database) -> str:
    """Return ``Instance/Database``."""
    return f"{instance.name}/{database.name}"


def written(*sources: Source) -> Source:
    """Return the first place that is in a file; default objects have no place of their own."""
    return next((source for source in sources if source.file), NOWHERE)


def where(at: At) -> Source:
    """Return the place of a route in a file, or else the place of its table or instance."""
    return written(at.route.source, at.database.source, at.instance.source)


def shown(routes: Iterable[At], path: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return evidence: routes with the places of their tables, in the same order, and a path."""
    rows = tuple(
        dict.fromkeys((at.route.name, place_of(at.instance, at.database)) for at in routes)
    )
    return {
        "routes": [name for name, _ in rows],
        "places": [place for _, place in rows],
        "path": list(path),
        **more,
    }


def routes_on(estate: Estate, hops: Hops) -> tuple[At, ...]:
    """Return the routes that a path follows, in path order."""
    index = routes_of(estate)
    found = (index.behind(state, step) for state, step in hops)
    return tuple(at for at in found if at is not None)


def flows_in(answers: Iterable[FlowAnswer]) -> dict[str, Any]:
    """Return evidence: at most ``LISTED`` flows that a finding concerns."""
    names = tuple(dict.fromkeys(str(answer.flow) for answer in answers))
    return {"flows": list(names[:LISTED]), "flow_count": len(names)}


# --- Evidence of a failure -----------------------------------------------------------------------


def evidence(estate: Estate, trouble: Trouble) -> dict[str, Any]:
    """Return evidence: the path that fails, and the flows that take it."""
    failure = trouble.failure
    return shown(
        routes_on(estate, failure.hops), failure.instances,
        service=trouble.service, broker=failure.ending.broker,
        error=None if failure.ending.error is None else int(failure.ending.error),
        **flows_in(trouble.answers),
    )  # fmt: skip


def table_of(estate: Estate, trouble: Trouble) -> Home:
    """Return the database whose table decides at the end of the failing path."""
    state, step = trouble.failure.hops[-1]
    instance = estate.topology.instances[state.instance]
    outside = state.database is None or step.decision.looped_back
    database = None if outside or state.database is None else instance.database(state.database)
    return Home(instance, database or instance.msdb)


def named(trouble: Trouble) -> str:
    """Return the destination of a message: the service, and the broker id if it is known."""
    broker = trouble.failure.ending.broker
    return trouble.service + (f" (broker id {broker})" if broker is not None else "")


def lives(estate: Estate, service: str) -> str:
    """Describe the location of a service."""
    homes = known(estate).services.get(service, ())
    if not homes:
        return "no database of this topology has the service"
    return f"the service is in {listed([str(home) for home in homes])}"
