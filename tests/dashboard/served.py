"""A dashboard as a process of its own, and a browser to look at it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright, expect

from tests.dashboard.find_browser import find_browser
from tests.running import DEADLINE

_ADDRESS = re.compile(r"http://\S+")


@dataclass(slots=True)
class Seen:
    """A page in a browser, with every request that it made and everything that it complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> Seen:
        """Watch a page from now on."""
        seen = cls(page)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("websocket", lambda socket: seen.requests.append(socket.url))
        page.on("requestfailed", lambda r: seen.complaints.append(f"{r.url}: {r.failure}"))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                seen.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        return seen

    def text(self, selector: str) -> str:
        """Return what a user reads there, on one line."""
        return " ".join(self.page.locator(selector).inner_text().split())

    def shows(self, selector: str, *texts: str) -> None:
        """Wait until a user reads these texts there."""
        for text in texts:
            expect(self.page.locator(selector)).to_contain_text(text, use_inner_text=True)

    def click_link(self, name: str) -> None:
        """Click the middle of a link in the graph, where a straight one has no height."""
        x, y = self.page.locator(f"[id='link-{name}'] .line").evaluate(_MIDDLE)
        self.page.mouse.click(x, y)


_MIDDLE = """path => {
    const middle = path.getPointAtLength(path.getTotalLength() / 2);
    const on = middle.matrixTransform(path.getScreenCTM());
    return [on.x, on.y];
}"""


def launched(playwright: Playwright) -> Browser | None:
    """Start the browser that there is: playwright's own, else one on PATH; None without any."""
    found = find_browser(playwright)
    if found is None:
        return None
    return playwright.chromium.launch(
        executable_path=found, args=["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"]
    )


@contextmanager
def serving(*options: str, log: Path) -> Iterator[str]:
    """Run `hopline dashboard` on a free port with options; yields its address."""
    # Within a test NiceGUI is another one.
    environment = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    command = [sys.executable, "-m", "streams", "dashboard", "--port", "0", *options]
    with log.open("wb") as errors:
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
    try:
        assert running.stdout is not None
        found = _ADDRESS.search(running.stdout.readline())
        assert found is not None, log.read_text()
        yield found[0].rstrip("/")
    finally:
        running.terminate()
        running.communicate(timeout=DEADLINE)
        output = log.read_text()
        assert "Traceback" not in output, output
