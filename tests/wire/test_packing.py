"""What is packed by position is what a general encoder of Avro writes, byte for byte."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocol import Command, CommandKind
from streams.schema import load
from streams.wire.commands import COMMAND, decode_command, encode_command
from streams.wire.events import EVENT, encode_event
from streams.wire.packing import pack_int, pack_long, packer
from streams.wire.single_object import Codec, MalformedError

NAMES = (
    "Ack",
    "Chunk",
    "Command",
    "Dialog",
    "Event",
    "Hop",
    "Message",
    "Positions",
    "Route",
    "Status",
)
CODECS = {name: Codec(name) for name in NAMES}
INTS = {"int": 31, "long": 63}


def values(kind: Any, named: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return what may stand in a field of a type."""
    if isinstance(kind, list):
        return st.none() | values(kind[1], named)
    if isinstance(kind, str):
        if kind in INTS:
            return st.integers(-(1 << INTS[kind]), (1 << INTS[kind]) - 1)
        primitive = {"boolean": st.booleans(), "string": st.text()}
        return primitive[kind] if kind in primitive else values(named[kind], named)
    named[kind.get("name", "")] = kind
    match kind["type"]:
        case "record":
            names = [field["name"] for field in kind["fields"]]
            fields = st.tuples(*(values(field["type"], named) for field in kind["fields"]))
            return fields.map(lambda found: dict(zip(names, found, strict=True)))
        case "array":
            return st.lists(values(kind["items"], named), max_size=70)
        case "fixed":
            return st.binary(min_size=kind["size"], max_size=kind["size"])
        case _:
            return st.sampled_from(kind["symbols"])


def in_order(value: Any) -> Any:
    """Return records inside of a value as tuples."""
    if isinstance(value, dict):
        return tuple(map(in_order, value.values()))
    return list(map(in_order, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(data=st.data())
def test_packed_is_encoded(name: str, data: st.DataObject) -> None:
    codec = CODECS[name]
    record = data.draw(values(load(name), {}))
    assert tuple(record) == codec.names
    assert codec.pack(in_order(record)) == codec.encode(record)


@pytest.mark.parametrize(
    ("pack", "value"),
    [(pack_int, 1 << 31), (pack_int, -(1 << 31) - 1), (pack_long, 1 << 63)],
)
def test_what_does_not_fit_is_refused(pack: Any, value: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        pack(value)


def test_a_fixed_has_its_size() -> None:
    write = packer({"fields": [{"type": {"type": "fixed", "name": "F", "size": 2}}]})
    with pytest.raises(ValueError, match="3 bytes instead of 2"):
        write([b"abc"])


COMMANDS = st.builds(
    lambda *said, **more: Command(*said, **more),  # of a named tuple every field is drawn else
    st.just(uuid.UUID(int=1)),
    st.uuids(),
    st.sampled_from(CommandKind),
    st.sampled_from(["D", "x" * 63, "x" * 64, "ä"]),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1) | st.integers(1_600_000_000_000, 2_300_000_000_000),
    type=st.none() | st.text(max_size=9),
    error_text=st.none() | st.sampled_from(["no", "x" * 2000]),
    group=st.none() | st.uuids(),
    also=st.lists(st.uuids(), max_size=2).map(tuple),
    stored_at=st.just(7),
)


@settings(max_examples=300)
@given(command=COMMANDS)
def test_a_command_is_read_as_it_was_written(command: Command) -> None:
    raw = encode_command(command)
    assert decode_command(raw, command.conversation, None, 7) == command
    # once more, and with another id: what is remembered is not what differs
    again = COMMAND.decode(raw) | {"command_id": bytes(range(16)), "issued_at": 1_800_000_000_000}
    read = decode_command(COMMAND.encode(again), command.conversation, None, 7)
    assert read.command_id.bytes == bytes(range(16)) and read.issued_at == 1_800_000_000_000
    assert read.also == command.also and read.type == command.type


@settings(max_examples=300)
@given(command=COMMANDS, data=st.data())
def test_a_broken_command_is_told(command: Command, data: st.DataObject) -> None:
    raw = bytearray(encode_command(command))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    for broken in (bytes(raw), cut):
        try:
            expected: Any = COMMAND.decode(broken)
        except MalformedError:
            with pytest.raises(MalformedError):
                decode_command(broken, command.conversation, None, 7)
            continue
        try:
            read = decode_command(broken, command.conversation, None, 7)
        except MalformedError:
            continue  # it has no conversation id where one should be, or a statement to come
        assert read.issued_at == expected["issued_at"]
        assert read.command_id.bytes == expected["command_id"]
        assert read.database == expected["database"]


def test_what_an_event_does_not_say_takes_its_default() -> None:
    reported: dict[str, Any] = {"event": 124, "at": 5, "instance": "A"}
    assert encode_event(reported) == EVENT.encode(reported)
    more = reported | {
        "subclass": 11,
        "conversation": str(uuid.UUID(int=1)),
        "offset": 7,
        "other": 1,
    }
    assert encode_event(more) == EVENT.encode(more)
