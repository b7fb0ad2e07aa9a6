"""The address of the documentation site, from the metadata of the installed project."""

from __future__ import annotations

LABEL = "Documentation"
"""The key of the address of the documentation in ``[project.urls]`` of ``pyproject.toml``."""


def documentation_url() -> str | None:
    """Return the address of the documentation site, or None if the project has none."""
    from importlib import metadata  # this import takes as long as a small check

    try:
        stated = metadata.metadata("hopline").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    urls = dict(url.split(", ", 1) for url in stated)
    return urls.get(LABEL)
