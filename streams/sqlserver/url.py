"""The address of a SQL Server, ``[NAME=]mssql://[USER@]HOST[\\INSTANCE][:PORT][/DATABASE]``.

A URL never contains a password, because the process list shows the command line to all users. No
error shows the text of a URL, because it may contain one nevertheless. The driver gets each part as
the value of one keyword, so no part may contain a mark with which ODBC separates keywords.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from streams.errors import UsageError

PASSWORD = "SQLCMDPASSWORD"
"""The environment variable with the password, as of sqlcmd."""
OPTIONS = (
    "ApplicationIntent",
    "Authentication",
    "Encrypt",
    "HostNameInCertificate",
    "MultiSubnetFailover",
    "ServerCertificate",
    "TrustServerCertificate",
)
"""Keywords of Microsoft's ODBC driver that a URL may contain."""
_BY_FOLD = {name.casefold(): name for name in OPTIONS}
_WITH_PASSWORD = frozenset({"sqlpassword", "activedirectorypassword",
                            "activedirectoryserviceprincipal"})  # fmt: skip
"""Values of ``Authentication`` with which the driver sends a user and a password."""
_SECRET = re.compile(r"(?:password|pwd|secret|token)\w*\s*=", re.IGNORECASE)
_MARKS = frozenset(";={}:")
_OF_FILES = frozenset({"ServerCertificate"})
"""Options whose value is a file, which may be on a drive (``C:``)."""
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\ud800-\udfff]')
_URL = re.compile(
    r"(?:(?P<name>[^=]*)=)?mssql://(?:(?P<user>.*)@)?(?P<host>[^@:/\\?#,;=\[\]{}%\s]+)"
    r"(?:\\(?P<instance>[^@:/\\?#,;=\[\]{}%\s]+))?(?::(?P<port>\d{1,5}))?"
    r"(?:/(?P<database>[^/?#]*))?(?:\?(?P<options>.*))?",
    re.IGNORECASE,
)
_FORM = (
    "Write [NAME=]mssql://[USER@]HOST[:PORT][/DATABASE], for example ServerA=mssql://hopline@sql01."
)


@dataclass(frozen=True, slots=True)
class Server:
    """A SQL Server. ``name``: its host name in routes. ``user``: None for the Windows account."""

    name: str
    host: str
    instance: str | None = None
    port: int | None = None
    database: str = "master"
    user: str | None = None
    options: Mapping[str, str] | None = None

    @property
    def address(self) -> str:
        """Return the server as ODBC writes it, such as ``sql01,1433``."""
        instance = f"\\{self.instance}" if self.instance else ""
        return f"{self.host}{instance}{f',{self.port}' if self.port else ''}"

    @property
    def file(self) -> str:
        """Return a portable file name for the server's snapshot."""
        return f"{_UNSAFE.sub('_', self.name)}.json"

    @property
    def needs_password(self) -> bool:
        """Return whether the login has a password."""
        way = (self.options or {}).get("Authentication", "SqlPassword")
        return self.user is not None and way.casefold() in _WITH_PASSWORD

    def keywords(self, password: str | None) -> dict[str, Any]:
        """Return the driver's keywords; without a user, the login is that of the own account."""
        found: dict[str, Any] = {"Server": self.address, "Database": self.database}
        found |= self.options or {}
        if self.user is not None:
            found["UID"] = self.user
        elif "Authentication" not in found:
            found["Trusted_Connection"] = "yes"
        return found if password is None else found | {"PWD": password}


def read_url(text: str) -> Server:
    """Return the server of ``[NAME=]URL``; NAME is the host unless stated.

    Raises UsageError, without the text, for a password in it and for any other text.
    """
    behind = text.partition("//")[2]
    if ":" in unquote(behind.rpartition("@")[0]) or _SECRET.search(unquote(behind)):
        raise UsageError(
            "--connect: a URL must not contain a password, which the process list would show.",
            f"Set {PASSWORD}, or enter the password when asked. Write @ in a user name as %40.",
        )
    found = _URL.fullmatch(text)
    if found is None:
        raise UsageError("--connect: this is not the URL of a SQL Server.", _FORM)
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 1 << 16:
        raise UsageError("--connect: the port of a URL is not a port.", "Ports are 1 to 65535.")
    instance = f"\\{found['instance']}" if found["instance"] else ""
    return Server(
        _name(found["name"], f"{found['host']}{instance}"),
        found["host"],
        found["instance"],
        port,
        _one_value("database", unquote(found["database"] or "master")),
        _one_value("user", unquote(found["user"])) if found["user"] else None,
        _options(parse_qsl(found["options"] or "", keep_blank_values=True)),
    )


def _name(stated: str | None, host: str) -> str:
    name = host if stated is None else stated.strip()
    if not name or "/" in name:
        raise UsageError(
            "--connect: NAME is the host name of an instance, without a database.", _FORM
        )
    return name


def _options(stated: list[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, (text, value) in enumerate(stated, 1):
        name = _BY_FOLD.get(text.casefold())
        if name is None:
            raise UsageError(
                f"--connect: option {number} of a URL is unknown.",
                f"Options: {', '.join(OPTIONS)}.",
            )
        marks = _MARKS - {":"} if name in _OF_FILES else _MARKS
        found[name] = _one_value(f"option {name}", value, marks)
    return found


def _one_value(part: str, value: str, marks: frozenset[str] = _MARKS) -> str:
    """Return a part of a URL; raise UsageError, without it, for a mark of ODBC in it."""
    if marks.isdisjoint(value):
        return value
    raise UsageError(
        f"--connect: the {part} of a URL must not contain any of {' '.join(sorted(marks))}",
        f"Write options as ?OPTION=VALUE&OPTION=VALUE, and set {PASSWORD} for a password.",
    )
