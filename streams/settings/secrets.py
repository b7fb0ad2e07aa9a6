"""Passwords from files: ``sasl.password.file`` says where ``sasl.password`` stands.

A variable ends in ``_FILE`` for it, as those of container images do. So a secret is in no process
list, in no environment and in no settings file that is shared. What librdkafka itself reads from a
file (``ssl.key.location`` and the like) is none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.errors import UsageError
from streams.settings.properties import Sourced

SUFFIX = ".file"
_BY_FILE = ("password", "passphrase", "secret")
"""How the names of properties end that may stand in a file."""


def is_filed(name: str) -> bool:
    """Tell whether a property's value is the path of a file with the value of another one."""
    return name.endswith(tuple(f"{end}{SUFFIX}" for end in _BY_FILE))


def with_files_read(properties: Mapping[str, Sourced]) -> dict[str, Sourced]:
    """Return the properties of one source with what their files say; a property wins over its file.

    One newline at the end of a file does not count. Raises UsageError where one cannot be read.
    """
    found = {name: sourced for name, sourced in properties.items() if not is_filed(name)}
    for name, sourced in properties.items():
        if is_filed(name):
            found.setdefault(name.removesuffix(SUFFIX), read_secret(name, sourced))
    return found


def read_secret(name: str, sourced: Sourced) -> Sourced:
    """Return what the file says that ``sourced`` names; ``name`` is what it is for."""
    path = Path(str(sourced.value))
    try:
        text = path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            f"{sourced.source}: {path} cannot be read: {why}.",
            f"It must hold {name.removesuffix(SUFFIX)}, and this process must be able to read it.",
        ) from None
    if not text:
        raise UsageError(f"{sourced.source}: {path} is empty.", "Write the secret into it.")
    return Sourced(text, sourced.source)
