"""`hopline replay` as a job, beside the run that was captured: killed, repeated, compared.

``HOPLINE_REPLAY`` is how many messages the comparison replays (``make replay``: 100,000).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.analysis.diff import remove
from streams.capture import (
    CaptureOrigin,
    CaptureReader,
    CaptureWriter,
    Metadata,
    Record,
    TimestampType,
)
from streams.capture.compare import LISTED
from streams.capture.generate import Traffic, generate, write_traffic
from streams.capture.judge import Judge, judge_captures
from streams.cli import main
from streams.kafka import Cluster, create, headers_of, read_all
from streams.kafka.listing import topic_names
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from streams.wire.job import tag_in, tag_of
from streams.wire.place import place_of
from streams.wire.records import command_record, header_of, read_command
from streams.wire.specs import TopicSpec
from tests.running import System, eventually, running

MESSAGES = int(os.environ.get("HOPLINE_REPLAY", "600"))
SHOP = Traffic(dialogs=max(MESSAGES // 20, 1), messages=MESSAGES, contract="DEFAULT")
KILLS = 5
DOCS = Path(__file__).parents[2] / "docs"


def hopline(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, list(map(str, args)))
    return result.exit_code, result.stdout, result.stderr


def compared(*args: object) -> tuple[int, dict[str, Any]]:
    code, out, err = hopline("replay", *args, "--asap", "--format", "json")
    assert out, err
    answer = json.loads(out)
    assert answer["comparison"] is not None, answer
    return code, answer["comparison"]


# --- once each, whatever is killed ----------------------------------------------------------------


@pytest.mark.long
def test_a_replay_that_is_killed_five_times_issues_every_command_once(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    path = tmp_path / "t.avro"
    traffic = Traffic(dialogs=100, messages=3_000, prefix=unique)
    write_traffic(path, traffic)
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.cmd("ServerA")
    create(cluster, [TopicSpec(topic, "cmd", 3)])
    wanted = [record.key for record in CaptureReader(path)]
    words = ("replay", str(path), "--bootstrap", kafka, "--job", "nightly", "--loop", "2")
    for _ in range(KILLS):
        before = len(list(read_all(cluster, topic)))
        process = _spawn(*words, "--rate", "100/s")  # far from the end, whenever it is killed
        _until_grown(cluster, topic, before, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stderr.close()
    between = len(list(read_all(cluster, topic)))
    assert 0 < between < 2 * len(wanted), "it was killed on its way"

    code, out, err = hopline(*words, "--rate", "1000000", "--format", "json")
    assert code == 0, err
    assert "job nightly resumes after" in err
    answer = json.loads(out)
    assert (answer["resumed"], answer["position"]) == (True, 2 * len(wanted))
    issued = [
        read_command(message.key(), None, headers_of(message), 0)
        for message in read_all(cluster, topic, to_high=True)
    ]
    assert len(issued) == 2 * len(wanted)
    assert len({command.command_id for command in issued}) == len(issued), "nothing is there twice"
    assert len({command.conversation for command in issued}) == 2 * traffic.dialogs
    assert {tag_in(command.conversation) for command in issued} == {tag_of("nightly")}

    code, out, _ = hopline(*words, "--format", "json")
    assert (code, json.loads(out)["sent"]) == (0, 0), "it is done"
    code, _, err = hopline(*words[:-2], "--asap")
    assert code == 2
    assert "already exists with another capture" in err


def _spawn(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "streams", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _until_grown(cluster: Cluster, topic: str, before: int, process: subprocess.Popen[str]) -> None:
    def has_grown() -> bool:
        if len(list(read_all(cluster, topic))) > before:
            return True
        assert process.poll() is None, process.communicate()
        return False

    eventually(has_grown, "something is sent")


# --- beside the captured run ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the capture of all that a running system did with the shop's traffic."""
    folder, prefix = tmp_path_factory.mktemp("recorded"), f"t{uuid.uuid4().hex[:8]}."
    with CaptureWriter(
        folder / "said.avro", Metadata(CaptureOrigin.GENERATED, "ssb.", "", 0)
    ) as writer:
        for record in generate(SHOP):
            command = read_command(record.key, record.value, list(record.headers), 0)
            _, _, headers = command_record(command._replace(type=None))
            writer.write(replace(record, headers=tuple(headers)))
    with running(kafka, prefix, "load_balanced") as system:
        code, found = compared(folder / "said.avro", *system.options, "--settle", "30s")
        assert (code, found["original"], found["outcomes"]) == (0, False, {}), found
        assert found["foretold"] == {"as": MESSAGES}
        assert found["arrived"] == MESSAGES
    yield _record(system, folder / "whole.avro")


def _record(system: System, path: Path) -> Path:
    topics = system.cluster.topics
    metadata = Metadata(CaptureOrigin.CAPTURED, topics.prefix, "load_balanced", 0)
    with CaptureWriter(path, metadata) as writer:
        for name in sorted(topic_names(system.cluster)):
            place = place_of(name, topics)
            if place is None or place.kind not in ("cmd", "queue", "event"):
                continue
            for message in read_all(system.cluster, name, to_high=True):
                writer.write(
                    Record(
                        name, message.partition() or 0, message.offset() or 0,
                        message.timestamp()[1], TimestampType.CREATE_TIME, message.key(),
                        tuple(headers_of(message)), message.value(),
                    )
                )  # fmt: skip
    return path


def test_under_the_same_topology_every_message_fares_as_it_did(
    recorded: Path, kafka: str, unique: str
) -> None:
    with running(kafka, unique, "load_balanced") as system:
        code, found = compared(recorded, *system.options, "--settle", "30s")
        assert (code, found["differences"]) == (0, 0), found
        assert found["outcomes"] == {"same": MESSAGES}
        assert found["foretold"] == {"as": MESSAGES}
        assert (found["settled"], found["twice"]) == (True, 0)
        assert found["latency"]["max"] >= found["latency"]["p50"] > 0
        assert found["latency_before"]["p50"] > 0
        jobs = {
            header_of(headers_of(m), "sb-job")
            for m in read_all(system.cluster, system.cluster.topics.cmd("ServerA"), to_high=True)
        }
        assert len(jobs) == 1, "the original's own job is not taken along"


@pytest.mark.long
@pytest.mark.parametrize(
    "without",
    [("ServerA/DatabaseA/LoadBalancingRoute1",), ("ServerA/DatabaseA/LoadBalancingRoute2",)],
)
def test_under_a_changed_one_exactly_those_fare_otherwise_that_diff_foretells(
    recorded: Path, kafka: str, unique: str, without: tuple[str, ...]
) -> None:
    old = load(topologies_dir() / "load_balanced", time.time())
    new: Topology = reduce(remove, without, old)
    predicted: Counter[tuple[str, str]] = Counter()
    for row in judge_captures([recorded], Judge(old, new, time.time())):
        if row.change is not None:
            predicted[row.conversation, row.change.value] += row.messages
    assert predicted, "the change concerns some dialogs"
    with running(kafka, unique, new) as system:
        code, found = compared(recorded, *system.options)
    assert code == 1
    assert found["foretold"] == {"as": MESSAGES}
    totals: Counter[str] = Counter()
    for (_, change), count in predicted.items():
        totals[change] += count
    assert found["outcomes"] == {"same": MESSAGES - totals.total(), **totals}
    met = {
        (one["original"], outcome): count
        for one in found["dialogs"]
        for outcome, count in one["outcomes"].items()
    }
    assert len(met) == min(len(predicted), LISTED)
    assert met.items() <= predicted.items(), "the same dialogs"


@pytest.mark.long
def test_new_conversations_have_their_job_and_can_be_replayed_beside_the_old_ones(
    recorded: Path, kafka: str, unique: str
) -> None:
    with running(kafka, unique, "load_balanced") as system:
        for loop in range(2):
            words = ("--new-conversations", "--job", f"load{loop}")
            _, found = compared(recorded, *system.options, *words)
            assert found["arrived"] == found["messages"] == MESSAGES
            assert found["foretold"] == {"as": MESSAGES}
            assert not {"stops", "begins", "neither"} & found["outcomes"].keys()
        cmd = read_all(system.cluster, system.cluster.topics.cmd("ServerA"), to_high=True)
        tags = {tag_in(uuid.UUID(str(m.key(), "ascii"))) for m in cmd if m.key()}  # type: ignore[arg-type]
        assert tags == {tag_of("load0"), tag_of("load1")}


# --- before anything is produced ------------------------------------------------------------------


def test_a_dry_run_shows_commands_places_and_predictions(tmp_path: Path) -> None:
    write_traffic(tmp_path / "t", SHOP)
    words = ("replay", tmp_path / "t", "--topology", "load_balanced", "--dry-run")
    code, out, err = hopline(*words, "--speed", "10x")
    assert (code, err) == (0, "")
    assert "in 6 s" in out
    assert f"{MESSAGES + 2 * SHOP.dialogs:,}  ssb.cmd.ServerA" in out
    assert "ServerB/DatabaseB" in out and "ServerC/DatabaseC" in out
    code, out, _ = hopline(*words, "--rate", "100/s", "--loop", "2", "--format", "json")
    answer = json.loads(out)
    assert answer["seconds"] == answer["commands"] / 100
    assert answer["messages"] == sum(one["messages"] for one in answer["forecast"]) == 2 * MESSAGES
    _, out, _ = hopline("replay", tmp_path / "t", "--topology", "two_clusters", "--dry-run")
    assert f"{MESSAGES:,}  not known: from a sender that is not in the topology" in out


def test_a_dry_run_without_a_topology_needs_the_cluster(tmp_path: Path) -> None:
    write_traffic(tmp_path / "t", SHOP)
    words = ("--dry-run", "--bootstrap", "127.0.0.1:1", "--timeout", "1s")
    code, out, err = hopline("replay", tmp_path / "t", *words)
    assert (code, out) == (3, "")
    assert "--topology" in err


@pytest.mark.parametrize(
    "words, message",
    [
        (["--speed", "fast"], "is not a speed"),
        (["--rate", "0/s"], "is not a valid rate"),
        (["--rate", "5", "--asap"], "cannot be combined"),
        (["--loop", "0"], "range"),
        (["--loop", "2", "--keep-conversations"], "--loop and --keep-conversations"),
        (["--job", "a b"], "not a valid job name"),
    ],
)
def test_wrong_use(tmp_path: Path, words: list[str], message: str) -> None:
    write_traffic(tmp_path / "t", Traffic(dialogs=1, messages=1))
    code, out, err = hopline("replay", tmp_path / "t", "--dry-run", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_wrong_clock_is_reported_before_anything_is_sent(tmp_path: Path) -> None:
    topic = "ssb.cmd.ServerA"
    with CaptureWriter(tmp_path / "c", Metadata(CaptureOrigin.CAPTURED, "ssb.", "", 0)) as writer:
        for n, at in enumerate((1_767_600_000_000, 32_503_680_000_000)):
            kind = TimestampType.CREATE_TIME
            writer.write(Record(topic, 0, n, at, kind, b"k", (), b""))
    code, _, err = hopline("replay", tmp_path / "c", "--bootstrap", "127.0.0.1:1")
    assert code == 2
    assert "record 2 from 3000-01-01" in err and "--rate" in err


def test_the_output_on_the_page_before_the_run_is_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "replay.md").read_text(encoding="utf-8")
    parts = re.split(r"^ {4}\$ hopline ", page, flags=re.MULTILINE)[1:]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(DOCS)
    for part in parts[:2]:
        block = re.match(r"(?:.*\\\n)*.*\n(?: {4}.*\n)*", part)
        assert block is not None
        command, _, shown = block[0].replace("\\\n", " ").partition("\n")
        code, out, err = hopline(*shlex.split(command))
        assert code == 0, err
        assert textwrap.dedent(shown).strip() in f"{err}{out}".strip()
