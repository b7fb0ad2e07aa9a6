"""Write text in Mermaid's language for flow charts."""

from __future__ import annotations

from streams.prose import one_line


def mermaid_label(text: str) -> str:
    """Return a label with Mermaid's, HTML's and all control characters escaped."""
    return "".join(f"#{ord(c)};" if c in '"#&<>`\n' else one_line(c) for c in text)
