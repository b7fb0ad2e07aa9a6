"""HTML from templates: values are escaped, and figures are formatted."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from streams.dashboard import wording
from streams.dashboard.model.buckets import LAGS

FOLDER = Path(__file__).parent / "templates"
_FILTERS = ("count", "rate", "duration", "size", "clock")


def part(template: str, name: str, *arguments: Any, **named: Any) -> Markup:
    """Return the HTML that a template's macro creates."""
    macro = getattr(_template(template).module, name)
    return Markup(macro(*arguments, **named))


@cache
def _template(name: str) -> Template:
    return _environment().get_template(f"{name}.html")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update({name: getattr(wording, name) for name in _FILTERS})
    made.filters["plural"] = wording.plural
    made.globals["NONE"] = wording.NONE
    made.globals["LAGS"] = LAGS
    return made
