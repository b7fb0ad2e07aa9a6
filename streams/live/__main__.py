"""``python -m streams.live FOLDER BOOTSTRAP PREFIX``: the keeper of a system, started by `up`."""

from __future__ import annotations

import sys
from pathlib import Path

from streams.live.folder import UpFolder
from streams.live.keeper import keep

if __name__ == "__main__":
    keep(UpFolder(Path(sys.argv[1])), sys.argv[2], sys.argv[3])
