"""All generated pages, and where in the site each file of the repository is."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

from docs_site import commands, findings, metrics, python, repository, schemas, settings, topics
from docs_site.links import targets
from docs_site.page import DOCS, ROOT, Page

_SOURCES = (repository, commands, findings, settings, metrics, topics, schemas, python)


def generated() -> tuple[Page, ...]:
    """Return every page that is in no file of ``docs/``."""
    made = tuple(chain.from_iterable(source.pages() for source in _SOURCES))
    return (*made, *_listings(made))


def places(made: tuple[Page, ...]) -> dict[str, str]:
    """Return the site's path for each file or anchor of the repository that a page stands for."""
    return {name: page.path for page in made for name in page.stands_for}


def _listings(made: tuple[Page, ...]) -> Iterator[Page]:
    """Yield a page for each file outside ``docs/`` to which only links lead."""
    known = places(made)
    texts = [(page.text, page.base or f"docs/{page.path}") for page in made]
    texts += [
        (file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())
        for file in sorted(DOCS.rglob("*.md"))
    ]
    linked = {target.partition("#")[0] for text, base in texts for target in targets(text, base)}
    for file in sorted(linked - known.keys()):
        if not file.startswith(("docs/", "../")) and (ROOT / file).is_file():
            yield repository.listing(file)


def expanded(nav: Any, paths: list[str]) -> Any:
    """Return a navigation in which ``*`` stands for all matching paths that it does not name."""
    if isinstance(nav, dict):
        return {title: expanded(inner, paths) for title, inner in nav.items()}
    if not isinstance(nav, list):
        return nav
    result: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and "*" in entry:
            result += [p for p in paths if fnmatchcase(p, entry) and p not in nav]
        else:
            result.append(expanded(entry, paths))
    return result
