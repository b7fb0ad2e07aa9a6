"""Pictures for docs/dashboard.md: ``python -m tests.dashboard.screenshots ADDRESS [QUERY [ID]]``.

ADDRESS is that of a dashboard over a system that runs; QUERY, such as ``last=15m``, is the time.
With the ID of a dialog the pictures are of that.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.dashboard.served import launched

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ASK = "ask=ServerA/DatabaseA/InitiatorService&to=TargetService"
PICTURES = {
    "overview-light": "/?",
    "topology-light": f"/topology?link=ServerA>GatewayA&{ASK}",
}
OF_A_DIALOG = {"dialog-light": "/dialog/{}?step=2"}
_SETTLED = 3_000


def take(browser: Browser, name: str, address: str) -> None:
    """Take one picture."""
    page = browser.new_page(
        viewport={"width": 1440, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
    )
    page.goto(address)
    selector = "svg.sequence" if "/dialog/" in address else "#main .panel:visible"
    page.wait_for_selector(selector)
    page.wait_for_timeout(_SETTLED)
    page.screenshot(path=IMAGES / f"{name}.png", full_page=True)
    page.close()


def main(address: str, query: str = "", dialog: str = "") -> None:
    """Take all pictures; of a dialog only those, where one is named."""
    IMAGES.mkdir(exist_ok=True)
    pictures = {n: path.format(dialog) for n, path in OF_A_DIALOG.items()} if dialog else PICTURES
    with sync_playwright() as playwright:
        browser = launched(playwright)
        assert browser is not None, "make browser"
        for name, path in pictures.items():
            take(browser, name, f"{address}{path}&{query}")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
