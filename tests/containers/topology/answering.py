"""The application that answers in the fault suite, as an agent: the ``target`` of tests/faults.

It stands beside the topology of deploy/containers under the name of that one's agent.
"""

from __future__ import annotations

from streams.agents import Dialog, Received, hopline_app

ANSWER = 4
"""As tests/faults/load.py has it, which is not in the image."""

app = hopline_app(
    "warehouse", instance="ServerB", database="DatabaseB", member="warehouse", web_enabled=False
)


@app.service("TargetService")
async def answering(dialog: Dialog, message: Received) -> None:
    """Answer what asks for it, and end a dialog after its last message."""
    if message.ends_dialog:
        return
    number = int(message.body.partition(b" ")[0])
    if number % ANSWER == 0:
        await dialog.send(b"%d" % number)
    if message.body.endswith(b"last"):
        await dialog.end()
