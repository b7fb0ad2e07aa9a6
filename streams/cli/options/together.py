"""The options of a command as one value, where they are many."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def together(kind: type[Any]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Call a command with its options as one ``kind``, a dataclass with their names as fields.

    It stands below the options; the value is the argument ``given``. Arguments of the command that
    are no fields of it are passed on as they are.
    """
    names = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(command)
        def called(*args: Any, **given: Any) -> Result:
            options = kind(**{name: given.pop(name) for name in names})
            return command(*args, **given, given=options)

        return called

    return decorate
