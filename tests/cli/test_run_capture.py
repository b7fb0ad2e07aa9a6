"""``hopline simulate --diagram --capture``: files of a run that others can read."""

from __future__ import annotations

import uuid
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.capture import CaptureOrigin, CaptureReader, Record
from streams.cli import main
from streams.diagram import mermaid_text, svg_text
from streams.resources import topologies_dir
from streams.simulator import START, Simulation, read_scenario
from streams.simulator.diagram import Choice, diagram_of
from streams.wire import Topics, decode_header
from streams.wire.describe import RawRecord, describe
from streams.wire.records import MESSAGE, read_command, read_message, read_queued
from tests.running import running
from tests.simulator.build import path_of

TWO = "several_targets/two_targets"
ORDERS = f"""
topology: {topologies_dir() / "load_balanced"}
network: {{latency: [2ms, 20ms], loss: 0.1, duplicate: 0.1, until: 20s}}
steps:
  - at: 0s
    begin:
      {{dialog: d, count: 12, from: ServerA/DatabaseA/InitiatorService, to: TargetService}}
  - {{at: 0s, send: {{dialog: d, body: order, count: 3}}}}
  - {{at: 1s, end: {{dialog: d}}}}
"""


def hopline(*args: str | Path) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, list(map(str, args)))


def captured(path: Path, scenario: str | Path) -> list[Record]:
    """Simulate, and read the capture back."""
    done = hopline("simulate", scenario, "--capture", path)
    assert done.exit_code == 0, done.output
    return list(CaptureReader(path))


# --- the diagram's file --------------------------------------------------------------------------


def test_the_file_extension_selects_the_format(tmp_path: Path) -> None:
    run = Simulation(*read_scenario(path_of(*TWO.split("/"))))
    plain = hopline("simulate", TWO)
    run.play()
    diagram = diagram_of(run, Choice("d", last=500_000))
    mermaid = mermaid_text(diagram)
    for name, text in (
        ("a.mmd", mermaid),
        ("a.md", f"```mermaid\n{mermaid}```\n"),
        ("a.svg", svg_text(diagram)),
    ):
        file = tmp_path / name
        done = hopline("simulate", TWO, "--diagram", file, "--dialog", "d", "--until", "500ms")
        assert (done.exit_code, done.stdout) == (0, plain.stdout)
        assert file.read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--diagram", "a.png"], "'a.png' must end in one of .mmd, .md, .svg."),
        (["--diagram", "nowhere/a.svg"], "nowhere/a.svg: No such file or directory"),
        (["--capture", "nowhere/a.avro"], "nowhere/a.avro: the file cannot be written"),
        (["--diagram", "a.svg", "--dialog", "e"], "There is no dialog 'e' in this run"),
        (["--until", "5s"], "--dialog, --since and --until need --diagram"),
    ],
)
def test_wrong_use_is_reported(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = hopline("simulate", TWO, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_exploration_has_neither(tmp_path: Path) -> None:
    done = hopline("simulate", "--explore", "1", "--capture", tmp_path / "a.avro")
    assert done.exit_code == 2
    assert "--explore cannot be combined with --diagram or --capture" in done.stderr


# --- the capture ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "queue", "messages"),
    [
        ("load_balanced/dialogs", "ssb.queue.ServerB.DatabaseB.TargetQueue", 153),
        ("load_balanced/table_change", "ssb.queue.ServerB.DatabaseB.TargetQueue", 38),
    ],
)
def test_every_record_of_a_run_can_be_read_as_on_kafka(
    scenario: str, queue: str, messages: int, tmp_path: Path
) -> None:
    records = captured(tmp_path / "a.avro", scenario)
    ends: defaultdict[str, int] = defaultdict(int)
    for record in records:
        raw = RawRecord(
            record.topic,
            record.partition,
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            record.headers,
        )
        described = describe(raw, Topics())
        assert "malformed" not in described, described
        assert record.timestamp >= START
        assert (record.partition, record.offset) == (0, ends[record.topic])
        ends[record.topic] += 1
    kinds = {name.split(".")[1] for name in ends}
    assert kinds == {"cmd", "out", "txq", "in", "ack", "queue", "event"}
    assert ends[queue] == messages
    metadata = CaptureReader(tmp_path / "a.avro").metadata
    assert (metadata.kind, metadata.topology) == (
        CaptureOrigin.GENERATED,
        scenario.partition("/")[0],
    )


def test_questions_for_roles_are_not_captured(tmp_path: Path) -> None:
    """On Kafka nobody asks which partner is the principal yet; everything else is there."""
    kinds = {
        record.topic.split(".")[1] for record in captured(tmp_path / "a.avro", "mirrored/split")
    }
    assert kinds >= {"cmd", "out", "txq", "queue"}


def test_the_records_hold_the_statements_of_the_run(tmp_path: Path) -> None:
    run = Simulation(*read_scenario(path_of("local", "request_reply")))
    result = run.run()
    queued, commands, inside = [], [], []
    for record in captured(tmp_path / "a.avro", "local/request_reply"):
        headers = list(record.headers)
        if record.topic == "ssb.queue.ServerA.DatabaseB.TargetQueue":
            queued.append(read_queued(record.value, headers))
        if record.topic == "ssb.in.ServerA":
            inside.append(read_message(record.key, record.value, headers).inside)
        if record.topic == "ssb.cmd.ServerA":
            commands.append(read_command(record.key, record.value, headers, record.timestamp))
    rows = result.queues["ServerA/DatabaseB/TargetQueue"]
    assert [(m.header.sequence, m.body.decode()) for m in queued] == [
        (row["sequence"], row["body"]) for row in rows
    ]
    assert inside == [True] * 7, "the dialog never leaves the instance"
    kinds = [command.kind.name for command in commands]
    assert kinds == ["BEGIN", *["SEND"] * 6, "END", "END"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    captured(tmp_path / "a.avro", TWO)
    captured(tmp_path / "b.avro", TWO)
    assert (tmp_path / "a.avro").read_bytes() == (tmp_path / "b.avro").read_bytes()


@pytest.mark.long
def test_a_replay_brings_every_dialog_the_same_messages(
    tmp_path: Path, kafka: str, unique: str
) -> None:
    """The hash chooses the same database, and a lossy network makes no difference to a queue."""
    scenario, file = tmp_path / "orders.yaml", tmp_path / "orders.avro"
    scenario.write_text(ORDERS, encoding="utf-8")
    wanted: defaultdict[tuple[str, uuid.UUID], list[tuple[int, bytes]]] = defaultdict(list)
    for record in captured(file, scenario):
        if ".queue." in record.topic:
            header, message = decode_header(record.header(MESSAGE)), record.value or b""
            conversation = read_queued(record.value, list(record.headers)).conversation
            queue = record.topic.removeprefix("ssb.")
            wanted[queue, conversation].append((header.sequence, message))
    assert {len(messages) for messages in wanted.values()} == {4}, "three, and the EndDialog"
    assert len(wanted) == 12
    assert len({queue for queue, _ in wanted}) == 2, "both databases"

    with running(kafka, unique, "load_balanced") as system:
        done = hopline("replay", file, "--asap", *system.options)
        assert done.exit_code == 0, done.output
        assert "60 of 60 commands delivered, 12 dialogs" in done.stdout
        found: defaultdict[tuple[str, uuid.UUID], list[tuple[int, bytes]]] = defaultdict(list)
        for name, place in (("B", "ServerB"), ("C", "ServerC")):
            queue = Topics("").queue(place, f"Database{name}", "TargetQueue")
            count = sum(len(messages) for (q, _), messages in wanted.items() if q == queue)
            for received in system.received(place, f"Database{name}", "TargetQueue", count):
                frame = received.frame
                found[queue, frame.conversation].append((frame.header.sequence, frame.body))
    assert found == wanted
