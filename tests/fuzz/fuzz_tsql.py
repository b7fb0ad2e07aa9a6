"""Feed mutated scripts to the reader with atheris, which looks for new branches by itself.

    pip install atheris
    python tests/fuzz/fuzz_tsql.py -max_total_time=600 -dict=tests/fuzz/tsql.dict \
        FOUND tests/fuzz/corpus tests/topology/scripts

FOUND is a folder for what it finds. An input that breaks something is written here as ``broken-*``,
and once mended belongs into ``tests/fuzz/corpus``, which the ordinary tests read.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[2]))

with atheris.instrument_imports(include=["streams.topology"]):
    from tests.fuzz.properties import check_script


def check_and_keep(data: bytes) -> None:
    """Check a script; keep it where it breaks something."""
    try:
        check_script(data)
    except BaseException:
        Path(f"broken-{hashlib.sha256(data).hexdigest()[:12]}.sql").write_bytes(data)
        raise


if __name__ == "__main__":
    atheris.Setup(sys.argv, check_and_keep)
    atheris.Fuzz()
