"""``hopline traffic``: open-loop load."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import click

from streams.analysis import find_sender
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.duration import DURATION
from streams.cli.options.parameters import SENDER, SERVICE, Finite
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.cli.options.together import together
from streams.client import LARGEST_BODY, Client
from streams.errors import UsageError
from streams.kafka import read_catalog
from streams.live.admin.statements import live_topology
from streams.live.traffic import LATE, Load, Tally, drive, quantile
from streams.prose import counted
from streams.topology import home_of

_SIZE = re.compile(r"(\d+)(?:-(\d+))?")


class _Size(click.ParamType):
    """Bytes: ``400``, or ``100-2000`` for uniformly random sizes."""

    name = "bytes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the smallest and the largest size."""
        if isinstance(value, tuple):
            return value
        match = _SIZE.fullmatch(str(value))
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not low <= high <= LARGEST_BODY:
            self.fail(f"{value!r} is not a size up to {LARGEST_BODY} bytes; write 400 or 100-2000.")
        return low, high


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """The options of ``hopline traffic``."""

    sender: str
    to: str
    rate: float
    duration: int
    dialogs: int
    length: int
    think: int
    size: tuple[int, int]
    bodies: Path | None
    leave_open: bool
    contract: str | None
    type_: str | None
    seed: int
    timeout: float
    format_: str
    bootstrap: str
    prefix: str


@click.command()
@click.option(
    "--from",
    "sender",
    required=True,
    type=SENDER,
    help="Initiator service.",
)
@click.option("--to", required=True, type=SERVICE, help="Target service.")
@click.option(
    "--rate", metavar="N", default=100.0, show_default=True, type=Finite(min=0, min_open=True),
    help="Messages per second, over all dialogs.",
)  # fmt: skip
@click.option(
    "--duration", default="10s", show_default=True, type=DURATION, help="Duration of the load."
)
@click.option(
    "--dialogs", metavar="N", default=100, show_default=True, type=click.IntRange(min=1),
    help="Number of dialogs open at a time.",
)  # fmt: skip
@click.option(
    "--length", metavar="N", default=10, show_default=True, type=click.IntRange(min=1),
    help="Messages per dialog; after the last one, another dialog begins.",
)  # fmt: skip
@click.option(
    "--think", default="0s", show_default=True, type=DURATION,
    help="Shortest pause between two messages of a dialog.",
)  # fmt: skip
@click.option(
    "--size", default="400", show_default=True, type=_Size(), help="Body size in bytes: N or N-M."
)
@click.option(
    "--bodies", metavar="FOLDER", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take the bodies from the files of this folder, in turn.",
)  # fmt: skip
@click.option("--leave-open", is_flag=True, help="Leave dialogs open; the other side ends them.")
@click.option("--contract", metavar="NAME", help="Contract of the dialogs.  [default: DEFAULT]")
@click.option("--type", "type_", metavar="NAME", help="Message type.  [default: DEFAULT]")
@click.option(
    "--seed", default=1, show_default=True, help="Random seed; the same seed gives the same sizes."
)
@timeout_option()
@format_option()
@cluster_options
@together(TrafficOptions)
def traffic(
    given: TrafficOptions,
) -> None:
    """Generate open-loop load, and report late sends.

    Each message is due at a fixed time. A message that is sent later (because Kafka did not accept
    it, this process had no CPU, or all dialogs were pausing) counts as late; later messages keep
    their times. If the system is slow, more messages are late, but the requested rate stays the
    same.

    This side ends its dialogs after --length messages; with --leave-open it only stops sending.
    The command does not run the target application. `hopline status` shows the workers' lag, and
    `hopline receive` prints the messages that have arrived.
    """
    cluster = reached(given.bootstrap, given.prefix, given.timeout)
    place = find_sender(live_topology(read_catalog(cluster)), given.sender, given.to)
    load = Load(
        home_of(place.instance.name, place.database),
        place.database.name,
        place.service,
        given.to,
        given.rate,
        given.duration / 1000,
        given.dialogs,
        given.length,
        given.think / 1000,
        given.size,
        given.contract,
        given.type_,
        given.seed,
        () if given.bodies is None else _texts(given.bodies),
        not given.leave_open,
    )
    with Client(cluster, "traffic", timeout=given.timeout) as client:
        tally = drive(load, client)
    if given.format_ == "json":
        click.echo(json.dumps(_json(load, tally)))
        return
    click.echo(
        f"{counted(tally.sent, 'message')} ({counted(tally.bytes, 'byte')}) in "
        f"{counted(tally.begun, 'dialog')}, {tally.ended:,} ended"
    )
    click.echo(f"rate      {_rate(load, tally):,.0f}/s, {given.rate:,.0f}/s requested")
    click.echo(f"late      {tally.late:,} by {LATE * 1000:.0f} ms or more")
    click.echo("lateness  " + ", ".join(f"{k} {v} ms" for k, v in _lateness(tally).items()))


def _texts(folder: Path) -> tuple[bytes, ...]:
    """Return the contents of a folder's files, in order of their names."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    texts = tuple(path.read_bytes() for path in files)
    largest = max(texts, key=len, default=b"")
    if not texts or len(largest) > LARGEST_BODY:
        what = f"one of {len(largest):,} bytes" if texts else "no files"
        raise UsageError(
            f"{folder} has {what}.",
            f"Each file of the folder must be a body of up to {LARGEST_BODY:,} bytes.",
        )
    return texts


def _lateness(tally: Tally) -> dict[str, float]:
    late = tally.lateness
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    found = {name: quantile(late, share) for name, share in shares.items()}
    return {
        name: round(s * 1000, 1) for name, s in {**found, "max": max(late, default=0.0)}.items()
    }


def _json(load: Load, tally: Tally) -> dict[str, object]:
    return {
        "sent": tally.sent,
        "bytes": tally.bytes,
        "begun": tally.begun,
        "ended": tally.ended,
        "seconds": round(tally.seconds, 3),
        "wanted_rate": load.rate,
        "rate": round(_rate(load, tally), 1),
        "late": tally.late,
        "lateness_ms": _lateness(tally),
    }


def _rate(load: Load, tally: Tally) -> float:
    return tally.sent / max(tally.seconds, load.duration)
