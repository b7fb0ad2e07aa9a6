"""Links of pages: relative to the repository in their text, relative to the site when built.

A page in ``docs/`` links to files all over the repository, so that its links work on a code host
and at the desk. The site has another layout, and a page for each such file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from docs_site.page import ROOT

_FENCE = re.compile(r"^ *(`{3,}|~{3,})")
_CODE_OR_LINK = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\(([^)\s]+)\)")
_NAMED = re.compile(r"\[((?:[\w.-]+/)*[\w.-]+\.md)\]\(([^)\s#]+)")
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.IGNORECASE)


def slug(title: str, separator: str = "-") -> str:
    """Return the anchor of a title, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", separator)


def targets(text: str, base: str) -> Iterator[str]:
    """Yield the files and anchors of the repository to which a text links."""
    found: list[str] = []

    def note(link: str) -> str:
        found.append(_absolute(link, base))
        return link

    _replaced(text, note)
    yield from found


def rewritten(text: str, base: str, page: str, places: Mapping[str, str]) -> str:
    """Return a page's text with links that are relative to the page.

    ``base`` is the file to which they were relative, ``page`` the page's path in the site.
    ``places``: the site's path for a path of the repository, if it is not that below ``docs/``.
    """

    def link(old: str) -> str:
        target = _absolute(old, base)
        path, _, anchor = target.partition("#")
        if target in places:
            path, anchor = places[target], ""
        elif (ROOT / path).is_dir() and f"{path}/README.md" in places:
            path = places[f"{path}/README.md"]
        else:
            path = places.get(path, path.removeprefix("docs/"))
        path = "" if path == page else posixpath.relpath(path, posixpath.dirname(page) or ".")
        return (path + (f"#{anchor}" if anchor else "")) or posixpath.basename(page)

    return _replaced(text, link)


def titled(text: str, page: str, title: Callable[[str], str | None]) -> str:
    """Return a page's text in which links that are called like a file are called like its page.

    ``title`` returns the title of a page of the site.
    """

    def name(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
        return f"[{title(path) or found[1]}]({found[2]}"

    return _NAMED.sub(name, text)


def _absolute(link: str, base: str) -> str:
    path, _, anchor = link.partition("#")
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(base), path)) if path else base
    return f"{whole}#{anchor}" if anchor else whole


def _replaced(text: str, link: Callable[[str], str]) -> str:
    """Return a text in which each relative link outside of code is replaced."""

    def one(found: re.Match[str]) -> str:
        old = found[2]
        return found[0] if old is None or _ABSOLUTE.match(old) else f"]({link(old)})"

    lines, fence = [], ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1].startswith(fence)):
            fence = "" if fence else opened[1]
        lines.append(line if fence or opened else _CODE_OR_LINK.sub(one, line))
    return "\n".join(lines) + "\n"
