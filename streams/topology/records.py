"""Convert frozen dataclasses to plain dictionaries and back, by their annotations.

Missing keys get the field's default and unknown keys are ignored, so that older and newer versions
can read each other's data.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from streams.topology.findings import Source

T = TypeVar("T")
_LARGEST = 2**63


def encode(value: Any, without: frozenset[str] = frozenset()) -> Any:
    """Return a JSON-serializable form without sources and the fields named in ``without``."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        names = [name for name in _hints(type(value)) if name not in without]
        return {name: encode(getattr(value, name)) for name in names}
    return value


def decode(cls: type[T], data: Mapping[str, Any]) -> T:
    """Return the object from which :func:`encode` made ``data``.

    Raises ValueError if a value does not have its field's type. The catalog may contain any values,
    and a number instead of a text would fail much later, in a worker's thread.
    """
    hints = _hints(cls)
    known = {name: _decode(hints[name], value) for name, value in data.items() if name in hints}
    return cls(**known)


_HINTS: dict[type[Any], dict[str, Any]] = {}


def _hints(cls: type[Any]) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = _annotations(cls)
    return _HINTS[cls]


def _annotations(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields(cls) if hints[f.name] is not Source}


def _decode(hint: Any, value: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        hint = next(arg for arg in args if arg is not type(None))
        return None if value is None else _decode(hint, value)
    if origin is tuple:
        return tuple(_decode(args[0], item) for item in _of(list, value))
    if origin is not None:  # Mapping
        return {_text(key): _decode(args[1], item) for key, item in _of(dict, value).items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hasattr(hint, "__dataclass_fields__"):
        return decode(hint, _of(dict, value))
    return _plain(hint, value)


def _plain(hint: Any, value: Any) -> Any:
    if hint is str:
        return _text(value)
    if hint is bool:
        return _of(bool, value)
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        if hint is float and math.isfinite(value) and abs(value) < _LARGEST:
            return float(value)
        if hint is int and isinstance(value, int) and abs(value) < _LARGEST:
            return value
    raise ValueError(f"{str(value)[:40]!r} is not a valid {hint.__name__}")


def _text(value: Any) -> str:
    """Return a string that UTF-8 can encode, because JSON can contain lone surrogates."""
    text: str = _of(str, value)
    text.encode("utf-8")
    return text


def _of(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{str(value)[:40]!r} is not a {kind.__name__}")
    return value
