"""Passwords from files: ``sasl.password.file`` is the path of a file with the password.

A variable for this path ends in ``_FILE``, as in container images. So no secret appears in a
process list, environment or shared settings file. Properties whose files librdkafka itself reads
(``ssl.key.location`` and the like) are unaffected.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.errors import UsageError
from streams.settings.properties import Sourced

SUFFIX = ".file"
_BY_FILE = ("password", "passphrase", "secret")
"""Endings of the names of properties whose values can be in files."""


def is_filed(name: str) -> bool:
    """Return whether a property's value is the path of a file with another property's value."""
    return name.endswith(tuple(f"{end}{SUFFIX}" for end in _BY_FILE))


def with_files_read(properties: Mapping[str, Sourced]) -> dict[str, Sourced]:
    """Return the properties of one source, with the contents of files.

    A property overrides its file. One newline at the end of a file is ignored. Raises UsageError if
    a file is unreadable.
    """
    found = {name: sourced for name, sourced in properties.items() if not is_filed(name)}
    for name, sourced in properties.items():
        if is_filed(name):
            found.setdefault(name.removesuffix(SUFFIX), read_secret(name, sourced))
    return found


def read_secret(name: str, sourced: Sourced) -> Sourced:
    """Return the content of the file whose path is ``sourced``, the value of property ``name``."""
    path = Path(str(sourced.value))
    try:
        text = path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"{sourced.source}: {path} cannot be read: {why}.",
            f"It must contain {name.removesuffix(SUFFIX)}, and this process must be able to read "
            "it.",
        ) from None
    if not text:
        raise UsageError(f"{sourced.source}: {path} is empty.", "Write the secret into it.")
    return Sourced(text, sourced.source)
