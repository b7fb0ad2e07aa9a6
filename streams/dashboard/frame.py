"""What is around every page, and the only place that speaks to NiceGUI.

A page's address is its whole state. A link to another address of the same page is followed without
loading anything (``static/dashboard.js`` tells the new address), and every few seconds the content
of the address is computed anew; either way only the places whose content has changed are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
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


class Places:
    """The places of one page in one browser."""

    def __init__(self) -> None:
        self._html: dict[str, ui.html] = {}
        self._charts: dict[str, ui.echart] = {}
        self._known: dict[str, Content] = {}

    def html(self, name: str, classes: str = "") -> None:
        """Make a place for HTML."""
        # Whatever is in it comes from a template, which escapes.
        place = ui.html(sanitize=False).classes(classes).props(f'data-place="{name}"')
        self._html[name] = place

    def chart(self, name: str, title: str, hint: str = "", classes: str = "") -> None:
        """Make a panel with a chart; ``title`` and ``hint`` are also what a screen reader says."""
        with ui.element("section").classes(f"panel {classes}"):
            ui.html(Markup("{}<small>{}</small>").format(title, hint), sanitize=False, tag="h2")
            chart = ui.echart({}, renderer="svg").classes("chart")
            chart.props["role"], chart.props["aria-label"] = "img", f"{title}. {hint}"
            chart.props["data-place"] = name
            self._charts[name] = chart

    def fill(self, contents: Mapping[str, Content]) -> None:
        """Put content into places, where it is not what is there already."""
        for name, content in contents.items():
            if self._known.get(name) == content:
                continue
            self._known[name] = content
            if isinstance(content, dict):
                self._draw(self._charts[name], content)
            else:
                self._html[name].set_content(str(content))

    def _draw(self, chart: ui.echart, options: dict[str, Any]) -> None:
        chart.options.clear()
        chart.options.update(options)
        chart.update()


class Browser:
    """One page in one browser, and the address that it shows."""

    def __init__(self, context: Context, pages: tuple[Page, ...], page: Page, where: str) -> None:
        self._context, self._pages, self._page = context, pages, page
        self._address = Address.of(where)
        self._places = Places()

    def lay_out(self, refresh: float) -> None:
        """Make all places, and see to it that they are filled again and again."""
        ui.add_head_html(head_html())
        self._places.html("skip")
        with ui.element("header").classes("frame"):
            for name in ("navigation", "span", "as_of"):
                self._places.html(name, name)
        self._places.html("banner")
        with ui.element("main").props(f'id=main tabindex=-1 data-page="{self._page.name}"'):
            self._page.layout(self._places)
        ui.on("hopline", self._go)
        ui.timer(refresh, self.show, immediate=False)

    async def show(self) -> None:
        """Compute the content of the address and fill it in."""
        address = self._address
        contents = await run.io_bound(self._contents, address)
        if contents and address == self._address:  # nobody went elsewhere meanwhile
            with suppress(RuntimeError):  # the browser has gone
                self._places.fill(contents)

    def _contents(self, address: Address) -> dict[str, Content]:
        page = self._page.view(self._context, address)
        return {**page, **header_of(self._context, self._pages, self._page, address)}

    async def _go(self, event: GenericEventArguments) -> None:
        self._address = Address.of(str(event.args))
        await self.show()


def add_pages(context: Context, pages: tuple[Page, ...], refresh: float) -> None:
    """Register all pages with NiceGUI."""
    for page in pages:
        _add(context, pages, page, refresh)


def _add(context: Context, pages: tuple[Page, ...], page: Page, refresh: float) -> None:
    @ui.page(page.path, title=f"{page.name} · Hopline")
    async def shown(request: Request) -> None:
        browser = Browser(context, pages, page, str(request.url))
        browser.lay_out(refresh)
        await browser.show()
