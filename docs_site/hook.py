"""What MkDocs calls: pages are added, links lead to the site's pages, lists are made wider."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage

from docs_site.contents import expanded, generated, places
from docs_site.links import rewritten, slug, titled
from docs_site.lists import widened
from docs_site.page import DOCS, ROOT

_STYLE = Path(__file__).with_name("site.css")
_FOUND_FIRST = {"numbers.md", "how_to.md"}
"""Pages that a search must show before pages that only mention its words."""
_FOUND_LAST = (
    "decisions/",
    "reference/python/",
    "changelog.md",
    "conformance.md",
    "third_party_notices.md",
)
"""Pages that a search shows after all others."""
_COMMENT = re.compile(r"^<!--.*?-->$", re.MULTILINE)
_PAGES = generated()
_PLACES = places(_PAGES)
_BASES = {page.path: page.base for page in _PAGES if page.base}
_TEXTS = {page.path: page.text for page in _PAGES}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take addresses from ``pyproject.toml``, and make anchors as code hosts do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.site_url = project.get("urls", {}).get("Documentation", config.site_url)
    config.repo_url = project.get("urls", {}).get("Repository", config.repo_url)
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and name them in the navigation."""
    for page in _PAGES:
        files.append(File.generated(config, page.path, content=page.text))
    files.append(File.generated(config, "site.css", abs_src_path=str(_STYLE)))
    config.nav = expanded(config.nav, [file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: SitePage, config: MkDocsConfig, files: Files) -> str:
    """Return a page's text as Python-Markdown and the site need it."""
    path = page.file.src_uri
    if path in _FOUND_FIRST:
        page.meta["search"] = {"boost": 4}
    elif path.startswith(_FOUND_LAST):
        page.meta["search"] = {"boost": 0.3}
    text = rewritten(_COMMENT.sub("", markdown), _BASES.get(path, f"docs/{path}"), path, _PLACES)
    return widened(titled(text, path, _title))


def _title(path: str) -> str | None:
    text = _TEXTS.get(path)
    if text is None and (DOCS / path).is_file():
        text = (DOCS / path).read_text(encoding="utf-8")
    found = re.search(r"^# (.+)$", text or "", re.MULTILINE)
    return found and found[1]
