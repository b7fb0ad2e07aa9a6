"""The interface of a page: places for content, and a function that fills them from a URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from markupsafe import Markup

from streams.dashboard.address import Address
from streams.dashboard.context import Context

Content = Markup | dict[str, Any] | None
"""HTML, the options of an ECharts chart, or nothing, which hides the place."""


class Places(Protocol):
    """The layout of a page, which is created once, before any content is known."""

    def html(self, name: str, classes: str = "") -> None:
        """Create a place for HTML."""

    def chart(self, name: str, title: str, hint: str = "", classes: str = "") -> None:
        """Create a panel with a chart; ``title`` and ``hint`` are also for screen readers."""

    def group(self, classes: str) -> AbstractContextManager[object]:
        """Return a box for the places created within it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard.

    ``layout`` creates the places; ``view`` returns their content for a URL, and is called every few
    seconds, in its own thread. ``key`` is its keyboard shortcut. ``also`` contains additional
    paths, such as ``/dialog/{conversation}``.
    """

    path: str
    name: str
    key: str
    layout: Callable[[Places], None]
    view: Callable[[Context, Address], Mapping[str, Content]]
    also: tuple[str, ...] = ()
