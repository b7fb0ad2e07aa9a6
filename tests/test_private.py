"""Only the owner may read the files in which Hopline stores other people's messages."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.capture import CaptureOrigin, CaptureWriter, Metadata
from streams.capture.folder import CaptureFolder
from streams.capture.parquet import write_parquet
from streams.demo.children import Children
from streams.embedded import Broker
from streams.live import UpFolder
from streams.live.local.folder import System
from streams.store import Store
from streams.wire import Topics

METADATA = Metadata(CaptureOrigin.CAPTURED, "ssb.", "combined", 1_767_600_000_000)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """Set the most generous umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def readable(folder: Path) -> list[str]:
    """Return what below a folder others than its owner may read, write or enter."""
    return [
        f"{path.relative_to(folder)} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in folder.rglob("*")
        if path.lstat().st_mode & 0o077
    ]


@pytest.mark.long
def test_an_embedded_broker_is_private(tmp_path: Path) -> None:
    with Broker(tmp_path / ".hopline" / "kafka") as broker:
        assert (broker.data.log_dir / "__cluster_metadata-0").is_dir()
        assert broker.data.state_file.is_file()
        assert not readable(tmp_path)


def test_the_folder_of_a_running_system_is_private(tmp_path: Path) -> None:
    folder = UpFolder(tmp_path / ".hopline" / "up")
    with folder.alone():
        folder.record_system(System(1, "127.0.0.1:1", "ssb.", "two_brokers", (), True, 0.0))
    assert not readable(tmp_path)


def test_the_logs_of_child_processes_are_private(tmp_path: Path) -> None:
    with Children(tmp_path / ".hopline" / "demo" / "logs") as children:
        children.start("version", "--version")
    assert children.log("version").is_file()
    assert not readable(tmp_path)


def test_a_store_and_its_folder_are_private(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/.hopline/monitor/monitor.sqlite", create=True):
        assert not [one for one in readable(tmp_path) if "sqlite" not in one]


def test_a_capture_is_private(tmp_path: Path) -> None:
    with CaptureWriter(tmp_path / "one.avro", METADATA):
        assert not readable(tmp_path)
    with CaptureFolder(tmp_path / "captures" / "folder", METADATA, 1 << 20) as folder:
        assert folder.path.is_dir()
        assert not readable(tmp_path)
    write_parquet(tmp_path / "one.parquet", (), Topics("ssb."))
    assert (tmp_path / "one.parquet").is_file()
    assert not readable(tmp_path)


def test_a_folder_that_exists_keeps_its_rights(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    chosen.mkdir(0o750)
    with CaptureFolder(chosen, METADATA, 1 << 20):
        assert stat.S_IMODE(chosen.stat().st_mode) == 0o750
