"""Text files of any size and encoding, in pieces or lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from streams.errors import InputError
from streams.topology.decode import marked_encoding, unmarked_utf_16

LONGEST = 16 * 1024 * 1024
"""Maximum number of characters in a line, cell or element; messages are not longer."""
_PIECE = 256 * 1024
_DECLARED = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)""")
_NO_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "utf-7"})
"""Codecs of Python whose results are text, but that cannot decode files, or not in linear time.

UTF-7 and the escapes of names keep what is not closed, and decode it again with each piece.
"""
_ERRORS = "hopline-cp1252"


def pieces(path: Path) -> Iterator[str]:
    """Yield a file's text; BOM, zero bytes or XML declaration determine the encoding, else UTF-8.

    Invalid UTF-8 is read as Windows-1252, byte by byte; undecodable bytes in other encodings become
    U+FFFD. Raises InputError for an unreadable file.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
            decoder = _decoder(head)
            yield decoder.decode(head)
            while piece := file.read(_PIECE):
                yield decoder.decode(piece)
            yield decoder.decode(b"", final=True)
    except OSError as error:
        raise InputError(
            f"The file cannot be read: {error.strerror}.", file=str(path),
            remedy="Give the path of a readable file.",
        ) from error  # fmt: skip


def lines(text: Iterable[str]) -> Iterator[tuple[int, str | None]]:
    """Yield (number from 1, line with its line end); ``None`` replaces an overlong line."""
    number, rest, dropping = 1, "", False
    for piece in text:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            long = dropping or len(line) > LONGEST
            yield number, None if long else line + "\n"
            number, dropping = number + 1, False
        if len(rest) > LONGEST:
            rest, dropping = "", True
    if rest or dropping:
        yield number, None if dropping else rest


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    name = marked_encoding(head) or unmarked_utf_16(head)
    if name is None:
        declared = _DECLARED.search(head)
        name = "utf-8" if declared is None else declared[1].decode("ascii")
    try:
        codec = codecs.lookup(name)
    except LookupError:
        found = "utf-8"
    else:  # a file may declare any codec of Python, such as "zlib"
        is_text = getattr(codec, "_is_text_encoding", True) and codec.name not in _NO_FILES
        found = codec.name if is_text else "utf-8"
    # Declared as UTF-16 or UTF-32 but without zero bytes: the text was saved again differently.
    if _declared_only(found, head):
        found = "utf-8"
    errors = _ERRORS if found.startswith("utf-8") else "replace"
    return codecs.getincrementaldecoder(found)(errors)


def _declared_only(name: str, head: bytes) -> bool:
    """Return whether a string declares UTF-16 or UTF-32 but has another encoding."""
    wide = name.startswith(("utf-16", "utf-32"))
    return wide and not (marked_encoding(head) or unmarked_utf_16(head))


def _as_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError), "it is registered for decoding"
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_ERRORS, _as_1252)
