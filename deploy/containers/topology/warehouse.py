"""The service that answers: it says to a dialog's first message that the order is accepted."""

from streams.agents import Dialog, Received, hopline_app

app = hopline_app(
    "warehouse", instance="ServerB", database="DatabaseB", member="warehouse", web_enabled=False
)


@app.service("TargetService")
async def warehouse(dialog: Dialog, message: Received) -> None:
    """Accept an order, take its lines, and end a dialog when the other side has."""
    if message.ends_dialog:
        await dialog.end()
    elif message.frame.header.sequence == 0:
        await dialog.send(b"<accepted/>")
