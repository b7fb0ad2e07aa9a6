"""Explain why no snapshot was taken: the text of the server or its driver, and the remedy.

The driver does not pass on the numbers of SQL Server's errors, and their texts depend on the
login's language. So the remedy depends on the step that failed and on the driver's own texts, which
are in English; the numbers and the texts of some servers only refine it.
"""

from __future__ import annotations

import re

from streams.errors import SurroundingsError
from streams.prose import clipped, one_line
from streams.sqlserver.url import PASSWORD, Server
from streams.topology.snapshot import RIGHTS

_LONGEST = 300
_LAYER = re.compile(r"\[(?:Microsoft|SQL Server|ODBC Driver \d+ for SQL Server)\]")
_NEEDS = f"The login needs {', '.join(RIGHTS[:-1])} and {RIGHTS[-1]} (docs/diagnose.md)."

_CONNECTING = (
    (
        r"Failed to load the driver|could not be loaded",
        "On Linux, the driver needs libltdl and Kerberos: apt-get install libltdl7 "
        "libgssapi-krb5-2, or dnf install libtool-ltdl krb5-libs.",
    ),
    (
        r"Invalid authorization specification|Login failed",
        f"Check the user, and the password in {PASSWORD}. Without USER@ in the URL, the login is "
        "that of your Windows account. The server's error log states the reason.",
    ),
    (
        r"Entra|access token",
        "Sign in as the option Authentication of the URL requires.",
    ),
    (
        r"certificate|SSL Provider",
        "Connect with the name in the server's certificate, or state it with "
        "?HostNameInCertificate=NAME. ?TrustServerCertificate=yes skips the check, so use it only "
        "in a network that you trust.",
    ),
    (
        r"Cannot open database|access violation",
        "Leave /DATABASE out of the URL; the script starts in master and reads all databases "
        "that are online.",
    ),
)
"""Texts of failures to connect, and their remedies; the first that occurs counts."""
_NO_ANSWER = (
    "Check host and port, that the server runs and accepts TCP, and the firewall between. "
    "HOST\\INSTANCE needs SQL Server Browser; a port does not."
)
_READING = (
    (
        r"timeout|HYT00",
        "Run the script with sqlcmd, which waits longer: hopline diagnose --script json.",
    ),
    (
        r"FOR JSON|JSON_QUERY|near 'JSON'",
        "The script needs SQL Server 2016. Take a CSV snapshot: hopline diagnose --script csv.",
    ),
)


def cannot_connect(server: Server, error: Exception, password: str | None) -> SurroundingsError:
    """Return the error for a connection or login that failed."""
    text = _text(error, password)
    what = f"Cannot connect to {server.name} ({server.address})"
    return SurroundingsError(f"{what}: {text}.", _remedy(_CONNECTING, text) or _NO_ANSWER)


def cannot_read(server: Server, error: Exception, password: str | None) -> SurroundingsError:
    """Return the error for a script that failed; usually, a permission is missing."""
    text = _text(error, password)
    what = f"The snapshot script failed on {server.name}"
    return SurroundingsError(f"{what}: {text}.", _remedy(_READING, text) or _NEEDS)


def no_document(server: Server) -> SurroundingsError:
    """Return the error for a script that ran without a result."""
    return SurroundingsError(f"{server.name} returned no snapshot.", _NEEDS)


def _remedy(table: tuple[tuple[str, str], ...], text: str) -> str:
    found = (remedy for pattern, remedy in table if re.search(pattern, text, re.IGNORECASE))
    return next(found, "")


def _text(error: Exception, password: str | None) -> str:
    """Return the driver's text and the server's, without the password."""
    parts = [getattr(error, "driver_error", ""), getattr(error, "ddbc_error", "")]
    text = _LAYER.sub("", ": ".join(p for p in parts if p) or str(error))
    for secret in (password, (password or "").replace("}", "}}")):  # as ODBC quotes it
        text = text.replace(secret, "***") if secret else text
    return clipped(one_line(text).strip(), _LONGEST).rstrip(".")
