"""Fixtures: a real browser, and a dashboard on a small store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from streams.store import Store
from streams.store.freshness import QUERIES
from tests.dashboard.rows import ROWS, UNTIL
from tests.dashboard.served import Seen, launched, serving
from tests.running import DEADLINE

_MILLISECONDS = 1_000 * DEADLINE
"""A page may take long on a busy machine."""
expect.set_options(timeout=_MILLISECONDS)
SIZE = {"width": 1440, "height": 900}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return a headless Chromium; without one these tests fail, they do not skip."""
    with sync_playwright() as playwright:
        found = launched(playwright)
        if found is None:
            pytest.fail("These tests need a browser. Run make browser.", pytrace=False)
        yield found
        found.close()


@pytest.fixture
def seen(browser: Browser) -> Iterator[Seen]:
    """Return a new page that is watched; nothing of another test is in its cookies."""
    context = browser.new_context(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(_MILLISECONDS)
    yield Seen.of(context.new_page())
    context.close()


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of a store with a few rows of a few minutes."""
    url = f"sqlite:///{tmp_path_factory.mktemp('dashboard')}/monitor.sqlite"
    with Store.open(url) as store:
        store.write("deliveries", "run", 0, ROWS)
        store.reach(dict.fromkeys(QUERIES, UNTIL))
    return url


@pytest.fixture(scope="package")
def dashboard(small: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a dashboard over it, with the topology ``combined``."""
    log = tmp_path_factory.mktemp("dashboard") / "log"
    with serving("--store", small, "--topology", "combined", log=log) as address:
        yield address
