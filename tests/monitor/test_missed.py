"""What the monitor makes of a checkpoint that is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import SurroundingsError
from streams.kafka import Cluster
from streams.monitor.missed import missed
from streams.wire import Topics

HEAD = b"v1\n{}\n"


@pytest.mark.parametrize(
    "written",
    [
        b"\xff\xfe",
        HEAD + b'{"q":{"0":12',
        HEAD + b'{"q":7}',
        HEAD + b'{"q":{"zero":12}}',
        HEAD + b'{"q":{"0":null}}',
        None,
    ],
    ids=["no text", "cut off", "no partitions", "no number", "no offset", "no file"],
)
def test_a_damaged_checkpoint_is_an_error_with_a_remedy(
    tmp_path: Path, written: bytes | None
) -> None:
    query = tmp_path / "deliveries"
    for folder in ("commits", "offsets"):
        (query / folder).mkdir(parents=True)
    (query / "commits" / "7").touch()
    if written is not None:
        (query / "offsets" / "7").write_bytes(written)
    with pytest.raises(SurroundingsError) as raised:
        missed(tmp_path, Cluster("127.0.0.1:1", Topics("t.")))
    assert str(query / "offsets" / "7") in raised.value.message
    assert str(tmp_path) in raised.value.remedy
