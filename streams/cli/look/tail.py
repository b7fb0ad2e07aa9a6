"""``hopline tail``: print decoded records of topics."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

import click

from streams.capture.recording import ONLY_ON_REQUEST
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.text.record_lines import SHORTEST_ID, json_lines, lines, story
from streams.cli.text.sorting import cut_body, sort_records
from streams.errors import UsageError
from streams.kafka import Cluster, Message, find_hung, read_begins
from streams.kafka.follow import Follower, raw_record
from streams.kafka.listing import topic_names
from streams.prose import counted
from streams.wire import Topics
from streams.wire.describe import Description, RawRecord, describe
from streams.wire.place import place_of

_OPEN = 1.0
"""Seconds after which an open transaction is reported; a busy worker's transactions are shorter."""
_LEFT_OUT = ("catalog", *ONLY_ON_REQUEST)
_ORDER = ("cmd", "txq", "ingress", "in", "ack", "event", "queue", "dialog", "result", "out")
"""The order of events within the same millisecond."""
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


@click.command()
@click.argument("topic", required=False)
@click.option(
    "--conversation",
    metavar="ID",
    help=f"Only this dialog, in all topics; the id's first {SHORTEST_ID} characters are enough.",
)
@click.option("--follow", is_flag=True, help="Keep printing new records until interrupted.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Stop after this many records."
)
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(min=0),
    help="Begin with about the last N records of each topic. [default: all]",
)
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def tail(
    ctx: click.Context,
    topic: str | None,
    conversation: str | None,
    follow: bool,
    limit: int | None,
    last: int | None,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Print decoded records in timestamp order.

    TOPIC is a topic's name, with or without the prefix, or a pattern such as 'queue.*'. Without
    TOPIC, all topics of the prefix are read except catalog, presence, metric and reading.
    Uncommitted records are not shown; malformed records are marked. Trimmed records and
    transactions that hide records are reported on stderr.

    \b
    hopline tail 'queue.*' --follow
    hopline tail event --last 20
    hopline tail --conversation 6f1c2a04      all records of one dialog
    """
    asked = _conversation(conversation)
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    chosen = choose(topic_names(cluster, timeout), topic, cluster.topics)
    if last is None:
        _report_trimmed(cluster, chosen)
    _report_open(cluster, chosen)
    whole = format_ == "json"
    show = json_lines if whole else story() if asked else lines()
    printed, make = 0, _maker(cluster.topics, asked, whole=whole)
    follower = Follower(cluster, chosen, make, _place_in_time, last=last)
    with contextlib.closing(_read(follower, sort=asked is not None, follow=follow)) as records:
        for record in records if asked is None else _only_one(records, asked):
            show(record)
            printed += 1
            if printed == limit:
                break
    if asked and not printed:
        topics = counted(len(chosen), "topic")
        click.echo(f"There is no record of conversation {asked} in {topics}.", err=True)
        ctx.exit(NOT_OK)


def _report_trimmed(cluster: Cluster, chosen: Sequence[tuple[str, int]]) -> None:
    begins = read_begins(cluster, [name for name, _ in chosen])
    later = sorted({topic for (topic, _), begin in begins.items() if begin})
    if later:
        several = f" and {len(later) - 1} more" if len(later) > 1 else ""
        text = f"{later[0]}{several}: the first records were trimmed after processing."
        click.echo(text, err=True)


def _report_open(cluster: Cluster, chosen: Sequence[tuple[str, int]]) -> None:
    for each in find_hung(cluster, [name for name, _ in chosen], _OPEN):
        click.echo(
            f"{each.topic}/{each.partition}: a transaction is open at offset {each.offset}; later "
            "records are not shown.",
            err=True,
        )


def choose(
    existing: Mapping[str, int], wanted: str | None, topics: Topics
) -> list[tuple[str, int]]:
    """Return the topics that match a name or pattern, or all, with their partitions.

    Raises UsageError, which suggests similar names, if no topic matches.
    """
    ours = {name: place_of(name, topics) for name in sorted(existing)}
    if wanted is None:
        chosen = [n for n, p in ours.items() if p is not None and p.kind not in _LEFT_OUT]
        if not chosen:
            raise UsageError(
                f"There are no topics with the prefix '{topics.prefix}'.",
                "Run 'hopline apply TOPOLOGY', or give another prefix with --prefix.",
            )
    elif wanted in existing:
        chosen = [wanted]
    else:
        # '*' matches only names with the prefix, not other systems on the same brokers.
        patterns = (wanted, topics.prefix + wanted)
        mine = [name for name in ours if name.startswith(topics.prefix)]
        chosen = [n for n in mine if any(fnmatch.fnmatchcase(n, p) for p in patterns)]
        if not chosen:
            raise _unknown(wanted, [n for n, p in ours.items() if p is not None], topics.prefix)
    return [(name, existing[name]) for name in chosen]


def _unknown(wanted: str, names: Sequence[str], prefix: str) -> UsageError:
    short = [name.removeprefix(prefix) for name in names]
    kinds = sorted({n.partition(".")[0] + (".*" if "." in n else "") for n in short})
    pattern = any(c in wanted for c in "*?[")
    among = kinds if pattern else short
    near = difflib.get_close_matches(wanted.removeprefix(prefix), among, n=3, cutoff=0.5) or kinds
    sentence = f"No topic matches '{wanted}'." if pattern else f"There is no topic '{wanted}'."
    remedy = f"Did you mean {', '.join(near)}?" if near else f"No topic begins with '{prefix}'."
    return UsageError(sentence, remedy)


def _conversation(text: str | None) -> str | None:
    """Return the canonical form of the start of a conversation id."""
    if text is None:
        return None
    digits = "".join(c for c in text.lower() if c not in "-{}")
    if not SHORTEST_ID <= len(digits) <= 32 or set(digits) - set("0123456789abcdef"):
        raise UsageError(
            f"'{text}' is not a conversation id.",
            f"Give 8-4-4-4-12 hexadecimal digits, or the first {SHORTEST_ID} or more of them.",
        )
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(part for part in parts if part)


# --- reading -------------------------------------------------------------------------------------


def _maker(
    topics: Topics, conversation: str | None, *, whole: bool
) -> Callable[[Message], Description | None]:
    """Return a function that describes a record, or omits it if it is about another dialog."""

    def make(message: Message) -> Description | None:
        raw = raw_record(message)
        if conversation is not None and not _mentions(raw, conversation):
            return None
        described = describe(raw, topics)
        if not (described["conversation"] or "").startswith(conversation or ""):
            return None
        return described if whole else cut_body(described)

    return make


def _read(follower: Follower[Description], *, sort: bool, follow: bool) -> Generator[Description]:
    try:
        records = follower.to_end()
        # Two instances may write into one partition of `event` within a millisecond, the later one
        # first. The records of a single dialog are all available and can be sorted.
        yield from sort_records(records, _place_in_time) if sort else records
        if follow:
            yield from follower.onward()
    finally:
        follower.close()


def _mentions(record: RawRecord, conversation: str) -> bool:
    """Return, without decoding, whether a record can be about a conversation."""
    text, raw = conversation.encode(), bytes.fromhex(_even(conversation.replace("-", "")))
    if text in (record.key or b"").lower() or text in (record.value or b"").lower():
        return True
    return any((value or b"").startswith(raw) for _, value in record.headers)


def _even(digits: str) -> str:
    return digits[: len(digits) // 2 * 2]


def _place_in_time(record: Description) -> tuple[int, int, str, int, int]:
    rank = _RANK.get(record["kind"] or "", len(_RANK))
    return (record["at"], rank, record["topic"], record["partition"], record["offset"])


def _only_one(records: Iterator[Description], asked: str) -> Iterator[Description]:
    """Yield the records of one dialog; raise UsageError if a shortened id matches several."""
    first: str | None = None
    for record in records:
        first = first or record["conversation"]
        if record["conversation"] != first:
            raise UsageError(
                f"'{asked}' matches several conversations: {first}, {record['conversation']}.",
                "Give more characters of the id.",
            )
        yield record


__all__ = ["choose", "tail"]
