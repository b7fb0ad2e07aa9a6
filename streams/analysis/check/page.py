"""The location of a finding's page in the documentation site."""

from __future__ import annotations


def page_path(code: str) -> str:
    """Return the path of a finding's page, relative to the root of the site."""
    return f"reference/findings/{code}/"


def page_url(code: str, site: str) -> str:
    """Return the URL of a finding's page; ``site`` is the URL of the documentation site."""
    return f"{site.rstrip('/')}/{page_path(code)}"
