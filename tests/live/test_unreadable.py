"""`hopline status` shows where an unreadable statement holds up its partition."""

from __future__ import annotations

import time
import uuid
from pathlib import Path

import pytest

from streams.cli.run.up_text import status_json, status_lines
from streams.errors import EventKind
from streams.kafka import deploy, read_catalog
from streams.live import Health, Status, UpFolder, find_status
from streams.live.admin.unreadable import find_held_back
from streams.live.local.folder import System
from streams.protocol import Command, CommandKind
from streams.wire.records import COMMAND, command_record
from streams.wire.single_object import prefix_of
from streams.workers import Plan, Process
from streams.workers.http import serving
from tests.command import hopline
from tests.health import metrics
from tests.running import DEADLINE, WorkerThread
from tests.terminal import at_terminal
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

            def holding() -> Status | None:
                found = find_status(folder, 30)
                return found if found.held_back else None

            # the offset of the statement before it is committed only with the commit marker
            found = eventually(holding, "the status shows it")
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
            options = ("--bootstrap", kafka, "--prefix", unique)
            code, out, err = hopline("skip", held.place, "--yes", *options)
            assert code == 0, err
            version = read_catalog(made.cluster).version
            assert out == f"{held.place} will be skipped as of catalog version {version}\n"
            assert f"  skip the statement {held.place}\n" in err
            eventually(lambda: worker.worker.held_back == 0 or pause(), "it goes on")
            client.begin("A", "DatabaseA", "InitiatorService", "TargetService", wait=True)
        eventually(lambda: not find_status(folder, 30).held_back, "nothing is held back")


@pytest.mark.long
def test_the_metric_counts_the_held_partition_until_it_is_skipped(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """A process serves it on `/metrics`; the command `hopline skip` refuses all other places."""
    held = ("hopline_held_back_partitions", "A", "endpoint")
    options = ("--bootstrap", kafka, "--prefix", unique)
    with rig(kafka, unique, pair(tmp_path)) as made:
        deploy(made.cluster, made.topology)
        process = Process(made.cluster, Plan(("endpoint",), ("A",)), timeout=DEADLINE)
        with serving(process, "0", 5.0) as port:
            workers = WorkerThread(process)
            try:
                eventually(lambda: metrics(port).get(held) == 0 or pause(), "nothing is held back")
                unreadable(made, newer("Command"))
                eventually(lambda: metrics(port).get(held) == 1 or pause(), "it is held back")
                before = read_catalog(made.cluster).version
                for place, says in (
                    ("cmd.A/0@1", "Nothing is held back at cmd.A/0@1."),
                    ("cmd.A/7@0", "Nothing is held back at cmd.A/7@0."),
                    ("out.A/0@0", "contains no statements"),
                    ("cmd.A/0", "cmd.A/0 is not the place of a statement."),
                ):
                    code, out, err = hopline("skip", place, "--yes", *options)
                    assert (code, out) == (2, ""), place
                    assert says in " ".join(err.split()), place
                code, shown = at_terminal("skip", "cmd.A/0@0", *options, typed="n\n")
                assert code == 1, shown
                assert "  skip the statement cmd.A/0@0\n" in shown
                assert shown.endswith("Continue? [y/N]: Nothing was changed.\n")
                assert read_catalog(made.cluster).version == before
                assert metrics(port)[held] == 1
                code, _, err = hopline("skip", "cmd.A/0@0", "--yes", *options)
                assert code == 0, err
                eventually(lambda: metrics(port)[held] == 0 or pause(), "it is skipped")
                [event] = made.events(1, event=EventKind.CORRUPTED_MESSAGE)
                assert "skipped by 'hopline skip'" in event["detail"]
                assert (event["partition"], event["offset"]) == (0, 0)
            finally:
                workers.stop()


def test_a_record_with_unreadable_headers_is_not_held_back(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Workers tell of it and pass on; until they have, `status` looks at it."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        deploy(made.cluster, made.topology)
        produce_raw(kafka, made.topics.cmd("A"), b"key", b"x", [(b"\xff", b"x")])
        assert find_held_back(made.cluster, ["A"]) == ()
