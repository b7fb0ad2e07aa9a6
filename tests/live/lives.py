"""Dialogs that are lived for tests, and what their lives say."""

from __future__ import annotations

import time
import uuid

from streams.analysis import find_paths, find_sender
from streams.live.life import Life, Step, read_life
from streams.protocol import Limits
from streams.topology import Topology
from tests.running import DEADLINE, System

MIDDLE = ("GatewayA", "GatewayB")
AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
PATIENT = Limits(retries=(int(DEADLINE) * 1_000,))
"""No message is sent again, however long the workers take to start."""


def chosen(topology: Topology, database: str) -> uuid.UUID:
    """Return a conversation id whose hash takes a database."""
    sender = find_sender(topology, "ServerA/DatabaseA/InitiatorService", "TargetService")
    for _ in range(100):
        conversation = uuid.uuid4()
        paths = find_paths(
            topology, sender, "TargetService", time.time(), conversation=conversation
        )
        if all(o.way.ending.database == database for o in paths.outcomes):
            return conversation
    raise AssertionError(f"no conversation id takes {database}")


def lived(system: System, conversation: uuid.UUID) -> Life:
    """Live a dialog from ServerA to ServerB: a message, an answer, and both sides end."""
    with system.client() as client:
        dialog = client.begin(*AT_A, "InitiatorService", "TargetService", conversation=conversation)
        client.send(dialog, b"<hello/>", wait=True)
        [question] = system.received(*AT_B, "TargetQueue", 1)
        client.send(question.conversation, b"<answer/>", wait=True)
        [answer] = system.received(*AT_A, "InitiatorQueue", 1)
        client.end(answer.conversation, wait=True)
        [ended] = system.received(*AT_B, "TargetQueue", 1)
        client.end(ended.conversation, wait=True)
        system.events(124, lambda e: e["state"] == "CD" and e["from_initiator"])
        system.events(124, lambda e: e["state"] == "CD" and not e["from_initiator"])
    return read_life(system.cluster, conversation)


def step_text(step: Step) -> str:
    """Return the text of a step on a diagram, without its aside."""
    sight = step.sight
    number = f" {sight.number}" if sight.number is not None else ""
    return f"{sight.verb}{number}{sight.rest}"


def arrows(life: Life) -> list[tuple[str, str, str]]:
    """Return from, to and words of the copies."""
    return [
        (step.sight.ends[0][0], step.sight.ends[1][0], step_text(step))
        for step in life.steps
        if step.sight.shape.is_copy
    ]
