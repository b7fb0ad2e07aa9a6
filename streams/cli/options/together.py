"""Collect many options of a command into one value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def together(kind: type[Any]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Collect options of a command in one value of ``kind``, a dataclass with a field for each.

    Put this decorator below the options. The command gets the value as the argument ``given``, and
    arguments that are not fields of ``kind`` unchanged.
    """
    names = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(command)
        def called(*args: Any, **given: Any) -> Result:
            options = kind(**{name: given.pop(name) for name in names})
            return command(*args, **given, given=options)

        return called

    return decorate
