"""A page's URL is its whole state: its subject and its time range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlencode, urlsplit

from streams.dashboard.span import Span, span_of

_TIME = ("from", "until", "last")


@dataclass(frozen=True, slots=True)
class Address:
    """A page's path, its time range, and its other parameters by name (``chosen``)."""

    path: str = "/"
    span: Span = field(default_factory=Span)
    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse a path with its query, or a whole URL; any text is valid."""
        text = text.encode("utf-8", "replace").decode()  # JSON can contain a lone surrogate
        try:
            parts = urlsplit(text)
        except ValueError:  # an unclosed bracket
            return cls()
        query = dict(parse_qsl(parts.query))
        chosen = {name: value for name, value in query.items() if name not in _TIME}
        return cls(parts.path or "/", span_of(query), chosen)

    def __str__(self) -> str:
        query = {**{n: v for n, v in self.chosen.items() if v}, **self.span.parameters()}
        return self.path + (f"?{urlencode(query)}" if query else "")

    def get(self, name: str) -> str:
        """Return a parameter, or "" if it is missing."""
        return self.chosen.get(name, "")

    def with_(self, **chosen: str) -> Address:
        """Return the address with other parameters; an empty value removes a parameter."""
        kept = {n: v for n, v in {**self.chosen, **chosen}.items() if v}
        return replace(self, chosen=kept)

    def at(self, span: Span) -> Address:
        """Return the address with another time range."""
        return replace(self, span=span)

    def to(self, path: str, **chosen: str) -> Address:
        """Return the address of another page with the same time range."""
        return Address(path, self.span, chosen)
