"""Convert decisions to dictionaries for JSON output."""

from __future__ import annotations

import uuid
from typing import Any

from streams.analysis.paths.network import Step
from streams.routing import Decision, Verdict, order_databases


def database_of(decision: Decision, conversation: uuid.UUID | None) -> str | None:
    """Return the database that receives a message, selected by U-13 if there are several."""
    if decision.verdict is not Verdict.DELIVER:
        return None
    ordered = order_databases(decision.candidates, conversation)
    return ordered[0] if ordered else None


def decision_json(
    instance: str, decision: Decision, conversation: uuid.UUID | None
) -> dict[str, Any]:
    """Return a decision with the keys of the JSON output; databases are ``instance/database``."""
    taken = database_of(decision, conversation)
    return {
        "verdict": decision.verdict.value,
        "error": None if decision.error is None else int(decision.error),
        "step": decision.step,
        "routes": list(decision.routes),
        "broker": decision.broker,
        "next_hops": [str(address) for address in decision.addresses],
        "deliver_to": None if taken is None else f"{instance}/{taken}",
        "candidates": [f"{instance}/{name}" for name in decision.candidates],
    }


def decided(step: Step) -> str:
    """Return the name of a step's route, or all route names if it is unclear which one was used."""
    routes, addresses = step.decision.routes, step.decision.addresses
    if step.address in addresses and len(routes) == len(addresses):
        return routes[addresses.index(step.address)]
    return ", ".join(routes)
