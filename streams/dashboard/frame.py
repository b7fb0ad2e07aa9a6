"""The frame around every page, and the only module that uses NiceGUI.

A page's URL is its whole state. A link to another URL of the same page is followed without loading
(``static/dashboard.js`` sends the new URL). The content is also computed again every few seconds.
The server sends only the places that have changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

from fastapi import Request
from markupsafe import Markup
from nicegui import run, ui
from nicegui.events import GenericEventArguments

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.head import head_html
from streams.dashboard.header import header_of
from streams.dashboard.page import Content, Page
from streams.dashboard.template import part

_PATIENCE = 0.7
"""Seconds for which a browser waits for content before it gets the empty frame."""
_LONGEST = 60.0
"""Seconds after which NiceGUI reports that it could not build the frame, on a very busy machine."""

log = logging.getLogger("hopline.dashboard")


class Places:
    """The places for content on one page in one browser."""

    def __init__(self) -> None:
        self._html: dict[str, ui.html] = {}
        self._charts: dict[str, ui.echart] = {}
        self._panels: dict[str, ui.element] = {}
        self._known: dict[str, Content] = {}

    def html(self, name: str, classes: str = "") -> None:
        """Create a place for HTML."""
        # The content of the place comes from a template, which escapes values.
        place = ui.html(sanitize=False).classes(classes).props(f'data-place="{name}"')
        self._html[name] = self._panels[name] = place

    def chart(self, name: str, title: str, hint: str = "", classes: str = "") -> None:
        """Create a panel with a chart; ``title`` and ``hint`` are also for screen readers."""
        self._panels[name] = panel = ui.element("section").classes(f"panel {classes}")
        with panel:
            ui.html(Markup("{} <small>{}</small>").format(title, hint), sanitize=False, tag="h2")
            chart = ui.echart({}, renderer="svg").classes("chart")
            chart.props["role"], chart.props["aria-label"] = "img", f"{title}. {hint}"
            chart.props["data-place"] = name
            self._charts[name] = chart

    def group(self, classes: str) -> AbstractContextManager[object]:
        """Return a box for the places created within it."""
        return ui.element("div").classes(classes)

    def hide(self) -> None:
        """Hide places without content."""
        for name in self._panels.keys() - self._known.keys():
            self._panels[name].set_visibility(False)

    def fill(self, contents: Mapping[str, Content]) -> None:
        """Update changed places."""
        for name, content in contents.items():
            if name in self._known and self._known[name] == content:
                continue
            self._known[name] = content
            self._panels[name].set_visibility(content is not None)
            if isinstance(content, dict):
                self._draw(self._charts[name], content)
            elif content is not None:
                self._html[name].set_content(str(content))

    def _draw(self, chart: ui.echart, options: dict[str, Any]) -> None:
        chart.options.clear()
        chart.options.update(options)
        chart.update()


class Browser:
    """One page in one browser, and its URL."""

    def __init__(self, context: Context, pages: tuple[Page, ...], page: Page, where: str) -> None:
        self._context, self._pages, self._page = context, pages, page
        self._address = Address.of(where)
        self._places = Places()
        self._shown = False
        # keep a reference: a task without a reference may be garbage-collected
        self._first: asyncio.Task[None] | None = None

    def lay_out(self, refresh: float) -> None:
        """Create all places, and refresh them periodically."""
        ui.add_head_html(head_html())
        self._places.html("skip")
        with ui.element("header").classes("frame"):
            for name in ("navigation", "span", "as_of"):
                self._places.html(name, name)
        self._places.html("banner")
        self._places.html("waiting")
        with ui.element("div").props("id=main tabindex=-1").classes("page"):
            self._page.layout(self._places)
        self._places.hide()
        ui.on("hopline", self._go)
        ui.timer(refresh, self.show, immediate=False)

    async def begin(self) -> None:
        """Show the content; slow parts follow later."""
        self._first = asyncio.create_task(self.show())
        await asyncio.wait({self._first}, timeout=_PATIENCE)

    async def show(self) -> None:
        """Compute the URL's content and show it, beginning with the frame's."""
        address = self._address
        await self._fill(address, self._header)
        await self._fill(address, self._content)
        self._shown = True

    async def _fill(self, address: Address, of: Callable[[Address], Mapping[str, Content]]) -> None:
        try:
            contents = await run.io_bound(of, address)
        except Exception:
            log.exception("%s cannot be shown", address)
            contents = {"waiting": part("frame", "failed", str(address))}
        if contents and address == self._address:  # the user has not navigated away since
            with suppress(RuntimeError):  # the browser disconnected
                self._places.fill(contents)

    def _header(self, address: Address) -> Mapping[str, Content]:
        header = header_of(self._context, self._pages, self._page, address)
        return {**header, "waiting": None if self._shown else part("frame", "waiting")}

    def _content(self, address: Address) -> Mapping[str, Content]:
        return {**self._page.view(self._context, address), "waiting": None}

    async def _go(self, event: GenericEventArguments) -> None:
        self._address = Address.of(str(event.args))
        await self.show()


def add_pages(context: Context, pages: tuple[Page, ...], refresh: float) -> None:
    """Register all pages with NiceGUI."""
    for page in pages:
        _add(context, pages, page, refresh)


def _add(context: Context, pages: tuple[Page, ...], page: Page, refresh: float) -> None:
    async def shown(request: Request) -> None:
        browser = Browser(context, pages, page, str(request.url))
        browser.lay_out(refresh)
        await browser.begin()

    for path in (page.path, *page.also):
        ui.page(path, title=f"{page.name} · Hopline", response_timeout=_LONGEST)(shown)
