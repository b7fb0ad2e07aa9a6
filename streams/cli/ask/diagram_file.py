"""A diagram's output file; its suffix selects the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from streams.diagram import Diagram, mermaid_text, svg_text


def _markdown(diagram: Diagram) -> str:
    return f"```mermaid\n{mermaid_text(diagram)}```\n"


_WRITERS: dict[str, Callable[[Diagram], str]] = {
    ".mmd": mermaid_text,
    ".md": _markdown,
    ".svg": svg_text,
}


class DiagramFile(click.Path):
    """A file for a diagram: ``.svg``, ``.mmd`` or ``.md``."""

    def __init__(self) -> None:
        """Accept a path that need not exist."""
        super().__init__(path_type=Path, dir_okay=False)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the path, if its suffix is supported."""
        path = Path(str(value))
        if path.suffix not in _WRITERS:
            self.fail(f"'{path}' must end in one of {', '.join(_WRITERS)}.", param, ctx)
        return path


def write_diagram(path: Path, diagram: Diagram) -> None:
    """Write a diagram; raise OSError if the file cannot be written."""
    path.write_text(_WRITERS[path.suffix](diagram), encoding="utf-8", newline="\n")
