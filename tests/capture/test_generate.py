"""Generated traffic: its shape, its bodies, and that it is the same every time."""

from __future__ import annotations

import uuid
import zlib
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from streams.capture import CaptureOrigin, CaptureReader, Record
from streams.capture.generate import EPOCH, ORDER, ORDER_LINE, Traffic, generate, write_traffic
from streams.errors import UsageError
from streams.protocol.command import Command, CommandKind
from streams.resources import topologies_dir
from streams.wire import decode_command

SHIPPED = topologies_dir() / "combined" / "traffic.avro"


def command(record: Record) -> Command:
    assert record.key is not None
    conversation = uuid.UUID(record.key.decode("ascii"))
    return decode_command(record.header("sb-command"), conversation, record.value, record.timestamp)


@pytest.fixture(scope="module")
def shipped() -> list[Record]:
    return list(CaptureReader(SHIPPED))


@pytest.fixture(scope="module")
def commands(shipped: list[Record]) -> dict[uuid.UUID, list[Command]]:
    dialogs = defaultdict(list)
    for record in shipped:
        one = command(record)
        dialogs[one.conversation].append(one)
    return dialogs


def test_the_shipped_file_is_what_the_generator_writes(tmp_path: Path) -> None:
    write_traffic(tmp_path / "traffic.avro", Traffic())
    if (tmp_path / "traffic.avro").read_bytes() == SHIPPED.read_bytes():
        return
    ours, theirs = CaptureReader(tmp_path / "traffic.avro"), CaptureReader(SHIPPED)
    assert ours.metadata == theirs.metadata
    assert ours.metadata.schemas == theirs.metadata.schemas, "write it anew: TRAFFIC.md"
    assert list(ours) == list(theirs)
    assert "zlib-ng" in zlib.ZLIB_RUNTIME_VERSION, "only another zlib may compress otherwise"


def test_under_default_every_message_has_the_type_default() -> None:
    made = [command(r) for r in generate(Traffic(contract="DEFAULT", dialogs=5, messages=20))]
    assert {c.type for c in made if c.kind is CommandKind.SEND} == {"DEFAULT"}


def test_the_shipped_file_is_large_enough_and_small_enough() -> None:
    reader = CaptureReader(SHIPPED)
    assert reader.metadata.kind is CaptureOrigin.GENERATED
    assert reader.counts is not None
    assert reader.counts.records == 2_000 + 20_000 + 2_000
    assert 1_000_000 < SHIPPED.stat().st_size <= 5_000_000


def test_every_dialog_begins_sends_and_ends(commands: dict[uuid.UUID, list[Command]]) -> None:
    assert len(commands) == 2_000
    for acts in commands.values():
        kinds = [act.kind for act in acts]
        sends = len(acts) - 2
        assert kinds == [CommandKind.BEGIN, *[CommandKind.SEND] * sends, CommandKind.END]
        assert [act.type for act in acts[1:-1]] == [ORDER, *[ORDER_LINE] * (sends - 1)]
        assert acts[0].to_service == "TargetService"
        assert acts[0].contract == "//hopline/OrderContract"
    assert sum(len(acts) - 2 for acts in commands.values()) == 20_000


def test_ids_are_distinct_and_shaped_like_version_4(
    commands: dict[uuid.UUID, list[Command]],
) -> None:
    ids = [act.command_id for acts in commands.values() for act in acts]
    assert len(set(ids)) == len(ids)
    assert {one.version for one in [*ids, *commands]} == {4}


def test_numbers_of_messages_are_heavy_tailed(commands: dict[uuid.UUID, list[Command]]) -> None:
    sizes = sorted(len(acts) - 2 for acts in commands.values())
    assert sizes[0] == 1
    assert sizes[len(sizes) // 2] < 8, "most dialogs are below the mean of 10"
    assert sizes[-1] > 100


def test_dialogs_are_interleaved_and_come_in_bursts(shipped: list[Record]) -> None:
    changes = sum(a.key != b.key for a, b in pairwise(shipped))
    assert changes > 0.8 * len(shipped)
    begins = [0] * 60
    seen = set()
    for record in shipped:
        if record.key not in seen:
            begins[min((record.timestamp - EPOCH) // 1000, 59)] += 1
            seen.add(record.key)
    assert max(begins) > 4 * sorted(begins)[30]


def test_times_grow_and_stay_within_the_duration(shipped: list[Record]) -> None:
    times = [record.timestamp for record in shipped]
    assert times == sorted(times)
    assert EPOCH <= times[0] < times[-1] <= EPOCH + 60_000
    assert [record.offset for record in shipped] == list(range(len(shipped)))


def test_bodies_are_well_formed_orders(shipped: list[Record]) -> None:
    bodies = [record.value for record in shipped if record.value is not None]
    assert min(map(len, bodies)) < 200
    assert 3_000 < max(map(len, bodies)) < 8_000
    for body in bodies:
        root = ElementTree.fromstring(body)
        lines = root.findall(".//{urn:hopline:order}Line")
        assert lines
        for line in lines:
            assert [child.tag.partition("}")[2] for child in line] == [
                "Article",
                "Quantity",
                "Price",
            ]


def test_only_sends_have_a_body(shipped: list[Record]) -> None:
    for record in shipped:
        assert (record.value is not None) == (command(record).kind is CommandKind.SEND)


@pytest.mark.parametrize("dialogs, messages", [(1, 1), (1, 7), (7, 7), (30, 31), (10, 500)])
@pytest.mark.parametrize("duration", [1, 100, 3_600_000])
def test_numbers_are_exact(dialogs: int, messages: int, duration: int) -> None:
    traffic = Traffic(dialogs=dialogs, messages=messages, duration=duration, seed=dialogs)
    records = list(generate(traffic))
    assert len(records) == 2 * dialogs + messages
    assert len({record.key for record in records}) == dialogs
    assert max(record.timestamp for record in records) <= EPOCH + duration
    acts = defaultdict(list)
    for record in records:
        acts[record.key].append(command(record).kind)
    for kinds in acts.values():
        assert (kinds[0], kinds[-1]) == (CommandKind.BEGIN, CommandKind.END)


def test_a_seed_decides_everything() -> None:
    small = Traffic(dialogs=5, messages=20)
    assert list(generate(small)) == list(generate(small))
    assert list(generate(small)) != list(generate(replace(small, seed=2)))


@pytest.mark.parametrize("wrong", [{"dialogs": 0}, {"messages": 1_999}, {"duration": 0}])
def test_what_cannot_be_generated(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError) as caught:
        Traffic(**wrong)  # type: ignore[arg-type]
    assert caught.value.remedy
