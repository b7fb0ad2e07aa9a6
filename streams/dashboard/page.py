"""What a page is made of: places for content, and a function that fills them from an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from markupsafe import Markup

from streams.dashboard.address import Address
from streams.dashboard.context import Context

Content = Markup | dict[str, Any]
"""HTML, or the options of an ECharts chart."""


class Places(Protocol):
    """Where a page's layout puts what; called once, before there is any content."""

    def html(self, name: str, classes: str = "") -> None:
        """Make a place for HTML."""

    def chart(self, name: str, title: str, hint: str = "", classes: str = "") -> None:
        """Make a panel with a chart; ``title`` and ``hint`` are also what a screen reader says."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard.

    ``layout`` makes the places; ``view`` returns their content for an address, and is asked again
    every few seconds, in a thread of its own. ``key`` leads to it from every page.
    """

    path: str
    name: str
    key: str
    layout: Callable[[Places], None]
    view: Callable[[Context, Address], Mapping[str, Content]]
