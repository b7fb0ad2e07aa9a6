"""``python -m streams`` is ``hopline``."""

from __future__ import annotations

from streams.cli import main

if __name__ == "__main__":
    main(prog_name="hopline")
