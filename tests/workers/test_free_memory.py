"""Free memory goes back to the operating system."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from streams.workers.process.free_memory import EVERY, FreeMemory

SIZE, COUNT = 60_000, 1_000


def resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and needs glibc")
def test_what_is_free_is_given_back_when_it_is_time() -> None:
    """Blocks with one in use behind them stay in the heap when they are freed."""
    libc, memory = ctypes.CDLL(None), FreeMemory(0.0)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(SIZE) for _ in range(COUNT)]
    for block in blocks:
        ctypes.memset(block, 1, SIZE)
    last = libc.malloc(SIZE)
    for block in blocks:
        libc.free(block)
    before = resident()
    assert not memory.give_back(EVERY / 2)
    assert resident() > before - SIZE * COUNT // 2
    assert memory.give_back(EVERY)
    assert resident() < before - SIZE * COUNT // 2
    assert not memory.give_back(EVERY * 1.5)
    libc.free(last)
