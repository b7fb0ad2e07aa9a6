"""Write the agents of ``topology.yaml``."""

from __future__ import annotations

from typing import Any

from streams.topology.agents import Agent, Classification


def agent(a: Agent) -> dict[str, Any]:
    """Return an agent's settings."""
    classifier = {} if a.classifier is None else {"classifier": _classifier(a.classifier)}
    return {"runs": a.runs.text, **{k: s.text for k, s in a.settings.items()}, **classifier}


def _classifier(c: Classification) -> dict[str, Any]:
    given = {
        c.language.value: c.expression.text,
        "services": dict(c.services),
        "otherwise": c.otherwise,
        "namespaces": dict(c.namespaces),
        "schema": None if c.schema is None else c.schema.text,
    }
    return {key: value for key, value in given.items() if value not in (None, {})}
