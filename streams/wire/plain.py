"""Convert values into JSON-able data."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, Flag
from typing import Any


def body_of(value: bytes | None) -> dict[str, Any] | None:
    """Return a body as text if it is UTF-8, otherwise as hexadecimal digits, with its size."""
    if value is None:
        return None
    try:
        return {"size": len(value), "text": value.decode("utf-8")}
    except UnicodeDecodeError:
        return {"size": len(value), "hex": value.hex()}


def plain(value: Any) -> Any:
    """Return a value as JSON-able data: ids as text, flags as lists of their names."""
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Flag):
        return [flag.name for flag in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return body_of(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    return value


def text_of_bytes(raw: bytes | None) -> str | None:
    """Return bytes as text if they are UTF-8, otherwise as hexadecimal digits after ``0x``."""
    if raw is None:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"
