"""What tests of single workers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.rig import Rig, pair, rig


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return two instances with a route each way, in which nothing runs yet."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made
