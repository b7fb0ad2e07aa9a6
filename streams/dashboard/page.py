"""What a page is made of: places for content, and a function that fills them from an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from markupsafe import Markup

from streams.dashboard.address import Address
from streams.dashboard.context import Context

Content = Markup | dict[str, Any] | None
"""HTML, the options of an ECharts chart, or nothing: then the place is not to be seen."""


class Places(Protocol):
    """Where a page's layout puts what; called once, before there is any content."""

    def html(self, name: str, classes: str = "") -> None:
        """Make a place for HTML."""

    def chart(self, name: str, title: str, hint: str = "", classes: str = "") -> None:
        """Make a panel with a chart; ``title`` and ``hint`` are also what a screen reader says."""

    def group(self, classes: str) -> AbstractContextManager[object]:
        """Return a box for the places that are made within it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard.

    ``layout`` makes the places; ``view`` returns their content for an address, and is asked again
    every few seconds, in a thread of its own. ``key`` leads to it from every page. ``also`` are
    further paths, such as ``/dialog/{conversation}``: the address has them as they are asked for.
    """

    path: str
    name: str
    key: str
    layout: Callable[[Places], None]
    view: Callable[[Context, Address], Mapping[str, Content]]
    also: tuple[str, ...] = ()
