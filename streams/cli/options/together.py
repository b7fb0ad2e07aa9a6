"""Collect many options of a command into one value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def together(kind: type[Any]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Call a command with its options as one ``kind``, a dataclass with their names as fields.

    Put it below the options; the value is the argument ``given``. Arguments that are not fields of
    ``kind`` are passed on.
    """
    names = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(command)
        def called(*args: Any, **given: Any) -> Result:
            options = kind(**{name: given.pop(name) for name in names})
            return command(*args, **given, given=options)

        return called

    return decorate
