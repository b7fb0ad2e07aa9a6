"""The page about Python shows what its code prints; ``python -m tests.analysis.test_python_page``
writes it anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)


def printed(text: str) -> list[tuple[str, str, str]]:
    """Run the page's blocks in one namespace; return each with what is shown and what it prints."""
    names: dict[str, object] = {}
    found = []
    for code, shown in _BLOCK.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)
        found.append((code, shown, out.getvalue()))
    return found


def test_every_block_prints_what_stands_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = printed(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 8
    for code, shown, out in blocks:
        assert shown == out, code


def main() -> None:
    """Write the page with what its code prints now."""
    os.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    outputs = iter([out for _, _, out in printed(text)])

    def block(match: re.Match[str]) -> str:
        out = next(outputs)
        return f"```python\n{match[1]}```" + (f"\n\n```\n{out}```" if out else "")

    PAGE.write_text(_BLOCK.sub(block, text), encoding="utf-8")


if __name__ == "__main__":
    main()
