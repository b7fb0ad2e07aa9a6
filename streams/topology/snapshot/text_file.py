"""The text of a file, whichever of Windows' encodings it was saved in."""

from __future__ import annotations

from pathlib import Path

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_text(path: Path) -> str:
    """Return a file's text: by its mark, else UTF-16 where every other byte is zero, else UTF-8.

    What is none of them is taken for Windows-1252, in which no byte is wrong but a few are
    replaced: names in ASCII come out right in any case.
    """
    data = path.read_bytes()
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is not None:
        return data.decode(encoding, errors="replace")
    if data[1:2] == b"\0":
        return data.decode("utf-16-le", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_lines(path: Path) -> list[str]:
    """Return a file's lines without their ends; only CR and LF end a line."""
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")
