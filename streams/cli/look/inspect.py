"""``hopline inspect``: the content of a capture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from streams.capture import CaptureReader, Record
from streams.capture.conditions import condition_of
from streams.capture.foreign.findings import conversation_named
from streams.capture.look import Look, look, raw
from streams.capture.side_paths import SidePath, side_paths
from streams.capture.survey import survey
from streams.cli.exit_codes import NOT_OK
from streams.cli.look.survey_text import survey_json, survey_text
from streams.cli.options.answer import format_option
from streams.cli.text.record_lines import SHORTEST_ID, json_lines, lines, story
from streams.errors import UsageError
from streams.prose import counted
from streams.wire import Topics
from streams.wire.describe import describe

_HEX = frozenset("0123456789abcdef-")
Found = Iterator[tuple[Record, Look]]


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--where", metavar="EXPR",
    help="Only records that match this SQL condition, such as \"kind = 'event' AND error = "
    "28007\".",
)  # fmt: skip
@click.option(
    "--conversation", metavar="ID",
    help="Show one dialog's path and records. ID is the dialog's id, the first 8 characters of "
    "the id, or the text from which an import derived the id.",
)  # fmt: skip
@click.option("--records", is_flag=True, help="Print the decoded records instead of a summary.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="Only the first N records.")
@click.option(
    "--parquet", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the records as Parquet.",
)  # fmt: skip
@click.option("--salvage", is_flag=True, help="Skip damaged blocks, and report how much is lost.")
@format_option()
@click.pass_context
def inspect(
    ctx: click.Context,
    path: Path,
    where: str | None,
    conversation: str | None,
    records: bool,
    limit: int | None,
    parquet: Path | None,
    salvage: bool,
    format_: str,
) -> None:
    """Summarize a capture: dialogs, services, rates, gaps, duplicates; or print its records.

    With --records and --format json each record is a line of JSON. Columns for --where: time (as
    2026-01-05T09:00:00.000Z), topic, partition, offset, at, kind, instance, database, conversation,
    side, what, type, sequence, from_service, to_service, contract, error, size, id, body, key,
    headers.

    \b
      hopline inspect friday.avro
      hopline inspect friday.avro --where "what = 'SEND' AND size > 100000"
      hopline inspect friday.avro --conversation 6f1c2a04

    The exit code is 1 if anything was lost, or if the dialog does not exist.
    """
    reader = CaptureReader(path, salvage=salvage)
    topics = Topics(reader.metadata.prefix)
    meant = condition_of(where)
    looked = ((r, look(r, topics)) for r in reader)
    found = islice(((r, seen) for r, seen in looked if meant(seen, r)), limit)
    if parquet is not None:
        _export(found, topics, parquet, format_)
    elif conversation is not None:
        _dialog(ctx, found, topics, conversation, records, format_)
    elif records:
        show = json_lines if format_ == "json" else lines()
        for record, _ in found:
            show(describe(raw(record), topics))
    else:
        _numbers(reader, found, format_)
    _report_losses(ctx, reader)


def _numbers(reader: CaptureReader, found: Found, format_: str) -> None:
    numbers = survey(seen for _, seen in found)
    metadata = reader.metadata
    if format_ == "json":
        about = {
            "file": str(reader.path), "kind": metadata.kind.value, "prefix": metadata.prefix,
            "topology": metadata.topology, "created": metadata.created,
            "complete": reader.counts is not None,
            "lost": reader.lost if reader.losses else 0,
        }  # fmt: skip
        click.echo(json.dumps(about | survey_json(numbers), ensure_ascii=False))
        return
    topology = f", topology {metadata.topology}" if metadata.topology else ""
    end = "" if reader.counts is not None else "; its writer did not finish"
    click.echo(f"{reader.path}: {metadata.kind.value}, prefix '{metadata.prefix}'{topology}{end}")
    for line in survey_text(numbers):
        click.echo(line)


def _export(found: Found, topics: Topics, parquet: Path, format_: str) -> None:
    from streams.capture.parquet import write_parquet  # needs an extra

    count = write_parquet(parquet, found, topics)
    if format_ == "json":
        click.echo(json.dumps({"file": str(parquet), "records": count}))
    else:
        size = parquet.stat().st_size / 1e6
        click.echo(f"{parquet}: {counted(count, 'record')}, {size:.1f} MB")


def _dialog(
    ctx: click.Context, found: Found, topics: Topics, asked: str, records: bool, format_: str
) -> None:
    is_meant = _is(asked)
    meant = [(seen.conversation, r) for r, seen in found if is_meant(seen.conversation)]
    ids = list(dict.fromkeys(conversation for conversation, _ in meant))
    if len(ids) > 1:
        raise UsageError(
            f"'{asked}' matches several conversations: {ids[0]}, {ids[1]}.",
            "Give more characters of the id.",
        )
    described = sorted(
        (describe(raw(r), topics) for _, r in meant),
        key=lambda record: record["at"],
    )
    if not described:
        doubt = "" if _begin_of_id(asked) else (
            " This is not a GUID (8-4-4-4-12 hexadecimal digits), its first "
            f"{SHORTEST_ID} or more digits, or the name of an imported conversation."
        )  # fmt: skip
        click.echo(f"There is no record of conversation {asked}.{doubt}", err=True)
        ctx.exit(NOT_OK)
    both = side_paths(described)
    if records and format_ == "json":
        for record in described:
            json_lines(record)
    elif format_ == "json":
        sides = {_side(path): {"way": path.instances, "drops": path.drops} for path in both}
        answer = {"conversation": ids[0], "ways": sides, "records": described}
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        _print_dialog(described, both)


def _print_dialog(records: list[dict[str, Any]], both: tuple[SidePath, SidePath]) -> None:
    show: Callable[[dict[str, Any]], None] = story()
    for record in records:
        show(record)
    for path in both:
        if path.instances:
            click.echo(f"The {_side(path)}'s messages: {' -> '.join(path.instances)}")
        for drop in path.drops:
            click.echo(f"  dropped: {drop}")


def _side(path: SidePath) -> str:
    return "initiator" if path.from_initiator else "target"


def _is(asked: str) -> Callable[[str | None], bool]:
    """Return a predicate that matches conversations by id, by prefix of an id, or by name."""
    begin, named = _begin_of_id(asked), str(conversation_named(asked))
    if not begin:
        return lambda found: found == named
    return lambda found: found is not None and (found.startswith(begin) or found == named)


def _begin_of_id(asked: str) -> str:
    """Return the text as the prefix of an id; empty if it cannot be a prefix."""
    begin = asked.strip("{}").lower()
    return begin if len(begin) >= SHORTEST_ID and set(begin) <= _HEX else ""


def _report_losses(ctx: click.Context, reader: CaptureReader) -> None:
    if not reader.losses:
        return
    for file, damage in reader.losses[:20]:
        click.echo(
            f"{file}: bytes {damage.at:,} to {damage.until:,} are skipped: {damage.why}", err=True
        )
    lost = reader.lost
    many = "an unknown number of records" if lost is None else counted(lost, "record")
    click.echo(f"Lost: {many}, in {counted(len(reader.losses), 'place')}.", err=True)
    ctx.exit(NOT_OK)
