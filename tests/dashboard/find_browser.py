"""Which browser there is for the tests: ``python -m tests.dashboard.find_browser``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser(playwright: Playwright) -> str | None:
    """Return the program: playwright's own if it is there, else one on PATH; None without any."""
    own = Path(playwright.chromium.executable_path)
    return str(own) if own.exists() else next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__":
    with sync_playwright() as found:
        sys.exit(0 if find_browser(found) else 1)
