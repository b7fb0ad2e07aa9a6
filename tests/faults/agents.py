"""Agents that tests kill: ``python -m tests.faults.agents NAME worker``.

HOPLINE_BOOTSTRAP and HOPLINE_PREFIX give the cluster; the other arguments are Faust's.
"""

from __future__ import annotations

import os
import sys

from streams.agents import Dialog, Received, hopline_app
from tests.agents.rig import ACCEPTED, ORDERS

ENDS = b"end"
"""The prefix of orders whose dialog the application ``one`` ends."""


def main(name: str) -> None:
    """Answer every order with the order's text after the application's name."""
    app = hopline_app(
        f"{os.environ['HOPLINE_PREFIX']}{name}",
        instance="ServerB",
        database="DatabaseB",
        member=name,
    )

    @app.service(ORDERS)
    async def orders(dialog: Dialog, message: Received) -> None:
        if message.ends_dialog:
            await dialog.end()
        elif name == "one" or not message.body.startswith(ENDS):
            await dialog.send(b"%b %b" % (name.encode(), message.body), type=ACCEPTED)
            if message.body.startswith(ENDS):
                await dialog.end()

    app.main()


if __name__ == "__main__":
    main(sys.argv.pop(1))
