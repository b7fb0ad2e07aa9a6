"""Detect the encoding of a foreign script."""

from __future__ import annotations

from pathlib import Path

from streams.errors import UsageError

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LEGACY = "cp1252"
_LOOKED_AT = 4096


def check_name(path: Path) -> None:
    """Raise UsageError for a file name that is not UTF-8: no report or YAML can contain it."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"The name of {path} is not UTF-8.", "Rename it.") from error


def marked_encoding(data: bytes) -> str | None:
    """Return the encoding that a byte order mark shows, if there is a mark."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of a script, and its encoding.

    A byte order mark or the zero bytes of UTF-16 determine the encoding. Otherwise, the encoding is
    UTF-8, or cp1252 if the bytes are not valid UTF-8. Never raises: undecodable bytes become
    U+FFFD.
    """
    encoding = marked_encoding(data) or unmarked_utf_16(data)
    if encoding is not None:
        return data.decode(encoding, "replace"), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode(_LEGACY, "replace"), _LEGACY


def unmarked_utf_16(data: bytes) -> str | None:
    """Return the UTF-16 variant of unmarked text; in Latin text, every second byte is zero."""
    head = data[:_LOOKED_AT]
    for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if zeros and zeros.count(0) * 2 > len(zeros):
            return encoding
    return None
