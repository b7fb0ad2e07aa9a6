"""Locate the shipped schemas and topologies: inside an installed package, or in the checkout.

``setup.py`` maps the top-level folders to ``streams/_schemas`` and ``streams/_topologies``.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def schemas_dir() -> Path:
    """Return the folder of the Avro schemas."""
    return _shipped("schemas")


def topologies_dir() -> Path:
    """Return the folder of the shipped topologies."""
    return _shipped("topologies")


def _shipped(name: str) -> Path:
    inside = _PACKAGE / f"_{name}"
    return inside if inside.is_dir() else _PACKAGE.parent / name
