"""The answering application of the fault suite (``target`` of tests/faults) as an agent.

It is placed next to the topology of deploy/containers, under the name of that topology's agent.
"""

from __future__ import annotations

from streams.agents import Dialog, Received, hopline_app

ANSWER = 4
"""As in tests/faults/load.py, which is not in the image."""

app = hopline_app(
    "warehouse", instance="ServerB", database="DatabaseB", member="warehouse", web_enabled=False
)


@app.service("TargetService")
async def answering(dialog: Dialog, message: Received) -> None:
    """Answer messages that request it, and end a dialog after its last message."""
    if message.ends_dialog:
        return
    number = int(message.body.partition(b" ")[0])
    if number % ANSWER == 0:
        await dialog.send(b"%d" % number)
    if message.body.endswith(b"last"):
        await dialog.end()
