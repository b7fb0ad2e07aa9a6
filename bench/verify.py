"""The duration and memory of `hopline verify`: `python -m bench.verify`.

The captures contain all topics of a system without faults: generated traffic, each message in its
target's queue, both sides closed. Each file has its own messages; first one file is verified, then
all. CPU and resident memory are summed over all processes, including Spark's JVM and its Python
workers.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import time
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import fastavro

from bench.part import progress
from streams.capture import CaptureOrigin, CaptureWriter, Metadata, Record, TimestampType
from streams.capture.generate import EPOCH, Traffic, generate
from streams.protocol import END_DIALOG, Dialog, State
from streams.protocol.command import CommandKind
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.wire.records import Wire, queue_record, read_command
from streams.wire.state import Positions, encode_dialog, encode_positions
from streams.wire.state_keys import POSITIONS_KEY, dialog_key

CMD, QUEUE = "ssb.cmd.ServerA", "ssb.queue.ServerB.DatabaseB.TargetQueue"
STATES = ("ssb.dialog.ServerA", "ssb.dialog.ServerB")
PARTIES = Parties(
    "TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "//hopline/OrderContract", True
)
FAMILY = b"\xfa\xce\xfa\xce\xfa\xce"
"""The prefixes of the ids of generated dialogs."""
LENGTH = 10
"""Average number of messages per dialog."""
TEMPLATE = 50_000
"""Number of generated messages; all others are copies of them in other dialogs."""
_COUNTS = re.compile(rb'\{"records":[^}]*\}')

EVERY = 0.5
"""Seconds between samples of memory."""


def capture(path: Path, seed: int, messages: int) -> Path:
    """Write a capture with this number of messages, if there is none.

    Only a part of it is generated. The rest has the same bytes in other dialogs, because generating
    millions of records in Python takes too long.
    """
    if path.exists():
        return path
    size = min(TEMPLATE, messages)
    template = _template(path.with_suffix(".template"), seed, size)
    with template.open("rb") as source, path.open("wb") as file:
        blocks = list(fastavro.block_reader(source))
        head = template.read_bytes()[: blocks[0].offset]
        file.write(_COUNTS.sub(lambda found: b" " * len(found[0]), head))
        for part in range(messages // size):
            for block in blocks:
                payload = _renamed(block.bytes_.getvalue(), _family(seed, part))  # type: ignore[attr-defined]
                file.write(_block(block.num_records, payload, head[-16:]))
    template.unlink()
    return path


def _template(path: Path, seed: int, messages: int) -> Path:
    """Write a capture of generated traffic, whose dialogs have ids of one family."""
    traffic = Traffic(dialogs=messages // LENGTH, messages=messages, seed=seed)
    offsets = Counter[str]()
    with CaptureWriter(
        path, Metadata(CaptureOrigin.GENERATED, "ssb.", "combined", EPOCH)
    ) as writer:
        for topic, at, (key, value, headers) in _system(traffic):
            where = topic, 0, offsets[topic], at, TimestampType.CREATE_TIME
            writer.write(Record(*where, key, tuple(headers), value))
            offsets[topic] += 1
        read = encode_positions(Positions(cmd=offsets[CMD]))
        where = STATES[0], 0, offsets[STATES[0]], EPOCH, TimestampType.CREATE_TIME
        writer.write(Record(*where, POSITIONS_KEY, (), read))
    return path


def _family(seed: int, part: int) -> bytes:
    """Return bytes with which the ids of a family begin, and which are in no body."""
    return b"\xfa" + (seed * 1_000 + part).to_bytes(5, "big")


def _renamed(payload: bytes, family: bytes) -> bytes:
    """Return the records with dialogs of another family, in binary ids and in their text form."""
    for old, new in ((FAMILY, family), (_text(FAMILY), _text(family))):
        payload = payload.replace(old, new)
    return payload


def _text(family: bytes) -> bytes:
    return str(uuid.UUID(bytes=family + bytes(10))).encode()[:13]


def _block(count: int, payload: bytes, marker: bytes) -> bytes:
    """Return a block of an Avro container."""
    packed = zlib.compress(payload, 1, wbits=-15)
    return _number(count) + _number(len(packed)) + packed + marker


def _number(value: int) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, "long", value)
    return file.getvalue()


def _system(traffic: Traffic) -> Iterator[tuple[str, int, Wire]]:
    """Yield the records of a system that has processed this traffic."""
    numbers = Counter[uuid.UUID]()
    for said in generate(traffic):
        command = read_command(said.key, said.value, list(said.headers), said.timestamp)
        dialog = uuid.UUID(bytes=FAMILY + command.conversation.bytes[6:])
        yield CMD, said.timestamp, (str(dialog).encode(), said.value, list(said.headers))
        if command.kind is CommandKind.BEGIN:
            continue
        ends = command.kind is CommandKind.END
        kind, flags = (END_DIALOG, Flag.END) if ends else (command.type or "", Flag.NONE)
        at, number = said.timestamp, numbers[dialog]
        header = Header(command.command_id, kind, number, at, at + 3_600_000, flags)
        path = (("ServerA", at + 2), ("GatewayA", at + 5), ("ServerB/DatabaseB", at + 9))
        journey = Journey(14, at + 60_000, 0, at + 1, 0, path)
        body = command.body or b""
        yield QUEUE, at + 9, queue_record(dialog, dialog, PARTIES, header, journey, body)
        numbers[dialog] += 1
        if ends:
            yield from _states(dialog, at, numbers[dialog])


def _states(dialog: uuid.UUID, at: int, count: int) -> Iterator[tuple[str, int, Wire]]:
    """Yield the state of both sides, closed."""
    for topic, place, is_initiator in zip(STATES, "AB", (True, False), strict=True):
        own, far = f"Database{place}", f"Database{'BA'['AB'.index(place)]}"
        state = Dialog(
            *(dialog, own, own, is_initiator, State.CD, "Own", "Far", far, "Contract"),
            *(dialog, dialog, at, at + 3_600_000, True),
        )
        if is_initiator:
            state.send_sequence, state.acknowledged = count, (count, 0)
        else:
            state.received, state.deaf_from = (count, 0), count
        yield topic, at, (dialog_key((own, dialog, is_initiator)), encode_dialog(state), [])


def verified(files: Sequence[Path], master: str) -> tuple[float, float, int]:
    """Verify captures; return the duration, the CPU seconds, and the maximum of resident bytes.

    Spark's Python workers are not our children, so the CPU time of each is that of the last sample.
    """
    began, used, most = time.monotonic(), dict[int, int](), 0
    named = [text for file in files for text in ("--capture", str(file))]
    child = subprocess.Popen(
        [sys.executable, "-m", "streams", "verify", "--master", master, *named]
    )
    while child.poll() is None:
        seen = _processes_below(child.pid)
        used |= {pid: ticks for pid, (ticks, _) in seen.items()}
        most = max(most, sum(pages for _, pages in seen.values()))
        time.sleep(EVERY)
    if child.returncode:
        raise SystemExit(f"hopline verify ended with {child.returncode}")
    cpu = sum(used.values()) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - began, cpu, most * os.sysconf("SC_PAGE_SIZE")


def _processes_below(root: int) -> dict[int, tuple[int, int]]:
    """Return the CPU ticks and resident pages of a process and all its descendants."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended meanwhile
            pid = int(entry.name)
            parents[pid], found[pid] = int(stat[1]), (int(stat[11]) + int(stat[12]), int(stat[21]))
    ours = {root}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {pid: found[pid] for pid in ours if pid in found}


def main() -> None:
    """Make the captures, and verify first one of them, then all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".hopline/bench-verify"))
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--messages", type=int, default=1_000_000, help="in each file")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--make", action="store_true", help="only make the captures")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in range(given.files):
        progress(f"capture {number + 1} of {given.files}")
        path = given.folder / f"{given.messages}-{number}.avro"
        files.append(capture(path, number + 1, given.messages))
    for some in ([], files[:1], files) if not given.make else ():
        if some:
            seconds, cpu, most = verified(some, given.master)
            count = given.messages * len(some)
            print(f"{count:,} messages: {seconds:.0f} s, {cpu:.0f} s of CPU, {most / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
