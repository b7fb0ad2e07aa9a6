"""``hopline capture slice``: extract a part of a capture; mask, rename or remove data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import click

from streams.capture import CaptureReader, CaptureWriter, Counts, Record
from streams.capture.choose import Choice, choose
from streams.capture.conditions import condition_of
from streams.capture.edit import OURS, Done, Edit, Editor
from streams.capture.foreign.findings import conversation_named
from streams.capture.look import Look, look
from streams.capture.mask import rule_of
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.instant import INSTANT
from streams.cli.options.parameters import SERVICE, Finite
from streams.cli.options.renamed import since_option, until_option
from streams.cli.options.together import together
from streams.errors import UsageError
from streams.prose import counted, listed
from streams.wire import Topics


@dataclass(frozen=True, slots=True)
class SliceOptions:
    """The options of ``hopline capture slice``."""

    output: Path
    begin: int | None
    end: int | None
    ids: tuple[str, ...]
    services: tuple[str, ...]
    instances: tuple[str, ...]
    percent: float
    seed: int
    where: str | None
    whole: bool
    renames: tuple[str, ...]
    drops: tuple[str, ...]
    allows: tuple[str, ...]
    masks: tuple[str, ...]
    removes: tuple[str, ...]
    salvage: bool
    format_: str


@click.command("slice", short_help="Extract a part of a capture; mask, rename or remove data.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="Output file.")
@since_option(
    "begin", type=INSTANT, metavar="TIME",
    help="Only records at or after this time.",
)  # fmt: skip
@until_option(
    "end", type=INSTANT, metavar="TIME",
    help="Only records before this time.",
)  # fmt: skip
@click.option("--conversation", "ids", multiple=True, metavar="ID", help="Only these dialogs.")
@click.option(
    "--service",
    "services",
    multiple=True,
    type=SERVICE,
    help="Only dialogs from or to these services.",
)
@click.option("--instance", "instances", multiple=True, help="Only records of these instances.")
@click.option(
    "--percent", metavar="N", type=Finite(0, 100), default=100.0, show_default=True,
    help="Percentage of dialogs to keep; the same seed keeps the same dialogs.",
)  # fmt: skip
@click.option(
    "--seed", default=0, show_default=True, help="Seed that selects the dialogs of --percent."
)
@click.option("--where", metavar="EXPR", help="Only records that match this SQL condition.")
@click.option(
    "--whole", is_flag=True, help="Keep all records of each dialog that has a selected record."
)
@click.option(
    "--rename-service",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="Rename a service in all records.",
)
@click.option("--drop-header", "drops", multiple=True, metavar="NAME", help="Remove these headers.")
@click.option(
    "--allow-header", "allows", multiple=True, metavar="NAME",
    help="Remove all headers except these and Hopline's own.",
)  # fmt: skip
@click.option(
    "--mask", "masks", multiple=True, metavar="[TYPE=]RULE",
    help="Mask values in bodies: $.customer.name, //Customer, ~regular expression.",
)  # fmt: skip
@click.option(
    "--remove-body", "removes", multiple=True, metavar="TYPE",
    help="Remove bodies of a message type; '*' is every type.",
)  # fmt: skip
@click.option("--salvage", is_flag=True, help="Skip damaged blocks, and report how much is lost.")
@format_option()
@click.pass_context
@together(SliceOptions)
def slice_(
    ctx: click.Context,
    path: Path,
    given: SliceOptions,
) -> None:
    """Extract a part of a capture; mask, rename or remove data.

    A masked value keeps its shape: letters become x, digits 0. A body that a rule cannot parse
    is removed. A rule that matched nothing is reported, and the exit code is 1. If bodies or
    names are changed, workers' state records are left out, and error texts are masked. All
    options may be combined; those with ... may be repeated.

    \b
      hopline capture slice friday.avro --percent 5 --output sample.avro
      hopline capture slice friday.avro \\
        --since 2026-01-05T09:00Z --until 2026-01-05T10:00Z --whole \\
        --mask '//hopline/Order=//Customer' --mask '//hopline/Order=~[0-9]{16}' \\
        --allow-header traceparent --output test.avro
    """
    edit = Edit(
        dict(map(_rename, given.renames)),
        frozenset(map(_foreign, given.drops)),
        frozenset(given.allows) if given.allows else None,
        tuple(map(rule_of, given.masks)),
        frozenset(given.removes),
    )
    choice = Choice(
        given.begin,
        given.end,
        frozenset(str(conversation_named(one)) for one in given.ids),
        frozenset(given.services),
        frozenset(name.casefold() for name in given.instances),
        given.percent,
        given.seed,
        given.whole,
    )
    meant = condition_of(given.where)
    reader = CaptureReader(path, salvage=given.salvage)
    topics = Topics(reader.metadata.prefix)
    if given.output.exists() and given.output.resolve() == path.resolve():
        raise UsageError("The output file is the input capture.", "Choose another file.")

    def read() -> Iterator[tuple[Record, Look]]:
        return ((record, look(record, topics)) for record in reader)

    editor = Editor(edit)
    with CaptureWriter(given.output, reader.metadata) as writer:
        for record, seen in choose(read, choice, meant):
            changed = editor.apply(record, seen)
            if changed is not None:
                writer.write(changed)
    lost = reader.lost if reader.losses else 0
    _show(given.output, writer.counts, editor.done, lost, given.format_)
    missed = [rule for rule, found in editor.done.matched.items() if not found]
    for rule in missed:
        click.echo(
            f"The rule {rule} matched nothing: check the rule against the contents of the capture.",
            err=True,
        )
    ctx.exit(NOT_OK if reader.losses or missed else 0)


def _rename(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"'{text}' renames nothing.", "Write --rename-service OLD=NEW.")
    return old, new


def _foreign(name: str) -> str:
    if name.startswith(OURS):
        raise UsageError(
            f"Without the header {name} the record cannot be read.",
            "Only foreign headers can be removed.",
        )
    return name


def _show(output: Path, counts: Counts, done: Done, lost: int | None, format_: str) -> None:
    size = output.stat().st_size
    if format_ == "json":
        result = {"file": str(output), "size": size, "records": counts.records, "lost": lost}
        # asdict() would build each Counter from pairs, and so count the pairs
        click.echo(json.dumps(result | {one.name: getattr(done, one.name) for one in fields(done)}))
        return
    click.echo(f"{output}: {counted(counts.records, 'record')}, {size / 1e6:.1f} MB")
    for line in _done(done):
        click.echo(f"  {line}")
    if lost != 0:
        many = "an unknown number of records" if lost is None else counted(lost, "record")
        click.echo(f"Lost to damage: {many}.", err=True)


def _done(done: Done) -> Iterator[str]:
    counts = (
        (done.renamed, "records with renamed services"),
        (done.masked, "bodies masked"),
        (done.removed, "bodies removed"),
        (done.unreadable, "bodies removed because a rule could not read them"),
    )
    yield from (f"{count:>9,}  {what}" for count, what in counts if count)
    for kinds, what in (
        (done.left_out, "records left out"),
        (done.dropped, "headers left out"),
        (done.kept, "foreign headers kept"),
    ):
        if kinds:
            names = listed((f"{name} {count:,}" for name, count in kinds.most_common()), 8)
            yield f"{kinds.total():>9,}  {what}: {names}"
