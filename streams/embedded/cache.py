"""The user's cache: files that are fetched or derived once per machine and can be deleted."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """Return the cache folder: ``HOPLINE_CACHE``, or the platform's place for caches."""
    chosen = os.environ.get("HOPLINE_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else _platform_cache() / "hopline"


def _platform_cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    xdg = os.environ.get("XDG_CACHE_HOME")
    return Path(xdg) if xdg else Path.home() / ".cache"
