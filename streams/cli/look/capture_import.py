"""``hopline capture import``: convert foreign recordings into a capture."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from streams.capture.foreign.assemble import Between
from streams.capture.foreign.findings import Left, Report
from streams.capture.foreign.homes import Homes, place_of
from streams.capture.foreign.log import LogColumns
from streams.capture.foreign.sources import Reader, Source
from streams.capture.foreign.write import import_foreign
from streams.capture.record import CaptureOrigin, Counts, Metadata
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.parameters import SERVICE, TOPIC_PREFIX
from streams.cli.options.together import together
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.values import shorten
from streams.errors import UsageError
from streams.prose import counted, listed
from streams.wire.evolution import own_schemas

_SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xml", ".parquet")
_OFFSET = re.compile(r"([+-]?)(\d{1,2}):?(\d{2})")


class _UtcOffset(click.ParamType):
    """A clock's UTC offset, such as ``+02:00``; its value is in minutes."""

    name = "offset"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number of minutes of a string such as ``+02:00``."""
        if isinstance(value, int):
            return value
        match = _OFFSET.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a UTC offset; write it like +02:00 or -0500.", param, ctx)
        minutes = int(match[2]) * 60 + int(match[3])
        return -minutes if match[1] == "-" else minutes


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of ``hopline capture import``."""

    output: Path
    conversation: str | None
    time_: str | None
    body: str | None
    type_: str | None
    message_type: str | None
    from_service: str | None
    to_service: str | None
    contract: str | None
    leave_open: bool
    topology: str | None
    database: str | None
    utc_offset: int
    prefix: str
    format_: str


@click.command("import", short_help="Convert traces, dumps of views and message logs.")
@click.argument("sources", nargs=-1, required=True, metavar="[INSTANCE=]FILE|FOLDER ...")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="Output file.")
@click.option(
    "--conversation", metavar="COLUMN", help="Message log: column that identifies the dialog."
)
@click.option("--time", "time_", metavar="COLUMN", help="Message log: column with the send time.")
@click.option("--body", metavar="COLUMN", help="Message log: column with the body.")
@click.option("--type", "type_", metavar="COLUMN", help="Message log: column with the type.")
@click.option("--message-type", metavar="NAME", help="Message type if no column has it.")
@click.option(
    "--from-service", metavar="[INSTANCE/DATABASE/]SERVICE",
    help="Initiator service, if the input does not name it.",
)  # fmt: skip
@click.option("--to-service", type=SERVICE, help="Target service, if the input does not name it.")
@click.option("--contract", metavar="NAME", help="Contract, if the input does not name it.")
@click.option(
    "--leave-open", is_flag=True, help="Message log: do not end dialogs after the last message."
)
@click.option(
    "--topology", metavar="TOPOLOGY",
    help="Topology that locates services and maps the names of instances.",
)  # fmt: skip
@click.option("--database", metavar="NAME", help="Database, if the input does not name one.")
@click.option(
    "--utc-offset", type=_UtcOffset(), default="+00:00", show_default=True, metavar="+HH:MM",
    help="UTC offset of times without a zone; SQL Trace uses the server's local time.",
)  # fmt: skip
@click.option(
    "--prefix", default="ssb.", show_default=True, type=TOPIC_PREFIX, help="Prefix of the topics."
)
@format_option()
@click.pass_context
@together(ImportOptions)
def import_(
    ctx: click.Context,
    sources: tuple[str, ...],
    given: ImportOptions,
) -> None:
    """Convert traces and message logs of other systems into a capture.

    The command recognizes these inputs by their columns: Extended Events (rows of
    sys.fn_xe_file_target_read_file as XML, CSV or JSON, or an export of SSMS), SQL Trace and
    Profiler (rows of fn_trace_gettable, Profiler's XML), and dumps of sys.conversation_endpoints,
    sys.transmission_queue and queues. Any other table is a message log, whose columns you name.
    Tables may be CSV, JSON, JSON Lines or Parquet, of any size.

    INSTANCE is the instance where a recording was made, if the recording does not name it; the
    default is the file's name. Input that cannot be mapped is reported by kind, with counts. The
    exit code is 1 if there is such input, or if nothing was found.

    \b
      hopline capture import ServerA=broker_events.xml --output friday.avro
      hopline capture import shop.csv --output shop.avro --topology combined \\
        --conversation order_id --time at --body payload \\
        --from-service InitiatorService --to-service TargetService \\
        --contract //hopline/OrderContract --message-type //hopline/Order
    """
    log = _log(given)
    known = (
        None if given.topology is None else TopologyArgument().convert(given.topology, None, ctx)
    )
    homes = Homes(known, given.database)
    place = (
        (None, None, None) if given.from_service is None else place_of(given.from_service, homes)
    )
    if log is not None and (place[1] is None or given.to_service is None):
        raise UsageError(
            "A message log does not name the services.",
            "Give --from-service INSTANCE/DATABASE/SERVICE (or --topology) and --to-service.",
        )
    report = Report()
    reader = Reader(report, log, given.database, given.utc_offset)
    between = Between(place[2], given.to_service, given.contract, place[0], place[1])
    name = "" if given.topology is None else Path(given.topology).resolve().name
    now = time.time_ns() // 1_000_000
    counts = import_foreign(
        list(_sources(sources)),
        reader,
        between,
        homes,
        given.output,
        Metadata(CaptureOrigin.IMPORTED, given.prefix, name, now, own_schemas()),
        ends=log is not None and not given.leave_open,
    )
    if given.format_ == "json":
        size = given.output.stat().st_size
        result = {"file": str(given.output), "size": size, "records": counts.records}
        click.echo(json.dumps(result | report.to_json(), ensure_ascii=False))
    else:
        for line in _text(given.output, counts, report):
            click.echo(line)
    ctx.exit(0 if report.good and counts.records else NOT_OK)


def _log(given: ImportOptions) -> LogColumns | None:
    conversation, time_, body = given.conversation, given.time_, given.body
    if conversation is not None and time_ is not None and body is not None:
        return LogColumns(
            conversation, time_, body, given.type_, given.message_type, given.utc_offset
        )
    if any((conversation, time_, body, given.type_)):
        raise UsageError(
            "A message log needs three columns.",
            "Give --conversation, --time and --body.",
        )
    return None


def _sources(words: tuple[str, ...]) -> Iterator[Source]:
    for word in words:
        name, equals, rest = word.partition("=")
        named = bool(equals) and not Path(word).exists()
        path = Path(rest if named else word)
        instance = name if named else None
        if not path.is_dir():
            yield Source(path, instance)
            continue
        files = [p for p in sorted(path.iterdir()) if p.suffix.casefold() in _SUFFIXES]
        if not files:
            raise UsageError(
                f"There is nothing to import in {path}.", f"Files end in {listed(_SUFFIXES, 9)}."
            )
        yield from (Source(file, instance) for file in files)


def _text(output: Path, counts: Counts, report: Report) -> Iterator[str]:
    yield "Read:"
    for kind, number in sorted(report.rows.items()):
        yield f"  {number:>11,}  {kind}"
    for title, kinds in (("Not mapped:", report.left), ("Notes:", report.noted)):
        if kinds:
            yield title
            yield from (_kind(kind, one) for kind, one in kinds.items())
    if report.skipped:
        yield "Skipped, not about dialogs:"
        for kind, number in report.skipped.most_common(20):
            yield f"  {number:>11,}  {shorten(kind, 84)}"
    size = output.stat().st_size / 1e6
    made = listed((f"{number:,} {what}" for what, number in report.made.items()), 9)
    yield f"{output}: {counted(counts.records, 'record')} ({made or 'nothing'}), {size:.1f} MB"


def _kind(kind: str, one: Left) -> str:
    first = f" (first: {one.first})" if one.first else ""
    return f"  {one.count:>11,}  {shorten(kind, 120)}{first}"
