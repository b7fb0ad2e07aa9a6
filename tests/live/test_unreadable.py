"""`hopline status` shows where an unreadable statement holds up its partition."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

from streams.cli.run.up_text import status_json, status_lines
from streams.kafka import deploy
from streams.live import Health, UpFolder, find_status
from streams.live.admin.skip import skip_statement
from streams.live.admin.unreadable import find_held_back
from streams.live.local.folder import System
from streams.protocol import Command, CommandKind
from streams.wire.records import COMMAND, command_record
from streams.wire.single_object import prefix_of
from tests.workers.raw_produce import produce_raw
from tests.workers.rig import Rig, eventually, pair, pause, rig
from tests.workers.tomorrow import newer, under


def unreadable(made: Rig, schema: object) -> None:
    """Write a BEGIN in a schema that nobody has."""
    begin = Command(
        uuid.uuid4(),
        uuid.uuid4(),
        CommandKind.BEGIN,
        "DatabaseA",
        from_service="InitiatorService",
        to_service="TargetService",
    )
    key, value, headers = command_record(begin)
    made.produce(made.topics.cmd("A"), key, value, under(headers, COMMAND, schema))


@pytest.mark.long
def test_status_shows_the_held_partition_and_the_remedy(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    (tmp_path / "topology").mkdir()
    with rig(kafka, unique, pair(tmp_path / "topology")) as made:
        deploy(made.cluster, made.topology)
        worker, schema = made.endpoint(), newer("Command")
        with made.client() as client:
            client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
            unreadable(made, schema)
            eventually(lambda: worker.worker.held_back == 1 or pause(), "it is held back")
            folder = UpFolder(tmp_path)
            folder.record_system(System(0, kafka, unique, "pair", ("A", "B"), False, time.time()))
            found = find_status(folder, 30)
            [held] = found.held_back
            assert (found.health, held.instance, held.place) == (
                Health.BROKEN,
                "A",
                f"cmd.A/0@{held.offset}",
            )
            why = f"Command: unknown fingerprint {prefix_of(schema)[2:].hex()}"
            text = "\n".join(status_lines(folder, found))
            assert f"Partition 0 of cmd.A (A) is blocked at offset {held.offset}: {why}." in text
            assert f"hopline skip cmd.A/0@{held.offset}" in text
            [row] = status_json(folder, found)["held_back"]
            assert (row["place"], row["remedy"]) == (held.place, held.remedy)
            skip_statement(made.cluster, held.place)
            eventually(lambda: worker.worker.held_back == 0 or pause(), "it goes on")
            client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
        eventually(lambda: not find_status(folder, 30).held_back, "nothing is held back")


def test_a_record_with_unreadable_headers_is_not_held_back(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Workers tell of it and pass on; until they have, `status` looks at it."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        deploy(made.cluster, made.topology)
        produce_raw(kafka, made.topics.cmd("A"), b"key", b"x", [(b"\xff", b"x")])
        assert find_held_back(made.cluster, ["A"]) == ()
