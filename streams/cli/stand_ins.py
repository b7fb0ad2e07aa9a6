"""Import a command without the client libraries of its extra, so that its help can be shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

import click

from streams.cli.commands import EXTRAS


class _StandIn(str):
    """A stand-in for a module, class or value of a missing library, so that our modules load.

    It can serve as a base class, function, decorator or container, and in types and SQL
    conditions. It is an empty string, because some values must be strings.
    """

    def __getattr__(self, name: str) -> _StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def _itself(self, *_: object, **__: object) -> Any:
        return self

    __call__ = __getitem__ = __or__ = __ror__ = _itself
    __gt__ = __ge__ = __lt__ = __le__ = __and__ = __add__ = __sub__ = _itself


class _Finder(MetaPathFinder, Loader):
    """Find the libraries of extras that no other finder has found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_known = name.partition(".")[0] in EXTRAS
        return ModuleSpec(name, self, is_package=True) if is_known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return cast(ModuleType, _StandIn())

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


@contextmanager
def stand_ins() -> Iterator[None]:
    """Let imports of missing libraries of extras succeed while the context is active.

    The imported modules cannot be used afterwards, so the process must do nothing but show help.
    """
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def only_help(command: click.Command, missing: ModuleNotFoundError) -> None:
    """Make a command, and the commands of a group, raise the error instead of running."""

    def refuse(**_: object) -> None:
        if click.get_current_context().invoked_subcommand is None:
            raise missing

    command.callback = refuse
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        only_help(each, missing)
