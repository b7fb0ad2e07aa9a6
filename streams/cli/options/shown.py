"""Reject secrets on the command line: the process list is visible to all users.

Nor do errors show the password of a URL, because they are often copied into a log or a ticket.
"""

from __future__ import annotations

import re

import click
from click.core import ParameterSource

from streams.errors import UsageError

_PASSWORD = re.compile(r"//[^/:]*:.*@|[?&]\w*password=", re.IGNORECASE)
_OF_URL = re.compile(r"\b(?!tcp:)(\w[\w+.-]+:/+).*:.*@", re.IGNORECASE)
"""The login of a URL. A path has one slash; an address of a route (tcp) has no login."""
_OF_KEYWORD = re.compile(r"([?&;]\s*\w*(?:password|pwd)\s*=)[^&;\n]+", re.IGNORECASE)


def refuse_store_password(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Raise UsageError for a store's URL with a password, given as an argument."""
    if value and _PASSWORD.search(value) and _is_argument(context, parameter):
        raise UsageError(
            "--store: its password would be visible to all users in the process list.",
            "Remove it from the URL. Set PGPASSWORD, or set PGPASSFILE to a password file.",
        )
    return value


def refuse_token(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Raise UsageError for a token given as an argument."""
    if value and _is_argument(context, parameter):
        raise UsageError(
            "--token: it would be visible to all users in the process list.",
            "Set HOPLINE_DASHBOARD_TOKEN.",
        )
    return value


def masked(text: str) -> str:
    """Return an error's text without the passwords of the URLs in it."""
    return _OF_KEYWORD.sub(r"\1***", _OF_URL.sub(r"\1***@", text))


def _is_argument(context: click.Context, parameter: click.Parameter) -> bool:
    source = context.get_parameter_source(parameter.name or "")
    return source is ParameterSource.COMMANDLINE
