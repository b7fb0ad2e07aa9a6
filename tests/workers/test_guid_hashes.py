"""Clients choose conversation ids, but not which of them have equal hashes."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import sys, uuid
from streams.workers import randomize_guid_hashes
if sys.argv[1:]:
    randomize_guid_hashes()
ids = [uuid.UUID(int=5 + n * sys.hash_info.modulus) for n in range(2_000)]
again = [uuid.UUID(str(one)) for one in ids]
kept = {("DatabaseA", one, True): number for number, one in enumerate(ids)}
assert [kept["DatabaseA", one, True] for one in again] == list(range(2_000))
print(len({hash(one) for one in ids}))
"""


@pytest.mark.parametrize(("words", "least", "most"), [((), 1, 1), (("random",), 1_999, 2_000)])
def test_chosen_ids_have_different_hashes(words: tuple[str, ...], least: int, most: int) -> None:
    command = (sys.executable, "-c", CODE, *words)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert least <= int(done.stdout) <= most
