"""The human-readable output of ``hopline verify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from streams.cli.text.refusals import refused_lines
from streams.cli.text.terminal import BAD, GOOD, Words
from streams.cli.text.values import instant
from streams.errors import text_of
from streams.prose import counted
from streams.report import DISCARDED, WAITING, Fate, Fault, Ledger, Missing

if TYPE_CHECKING:
    from streams.live.verify import Verified

_NAME = 24
SHOWN = 20
"""Maximum number of exceptions in the text output; the JSON output lists all that were kept."""
WORDS: Words = {
    rf"(?<=^  )(?:{'|'.join(fault.name.lower() for fault in Fault)})(?= +[0-9a-f]{{8}}-)": BAD,
    rf"(?<=\d )(?:{'|'.join(fault.value for fault in Fault)})(?=$|, \d)": BAD,
    r"(?<=^verdict {17})nothing lost|(?<=^  verdict {21})nothing lost": GOOD,
}
"""The colours of exceptions and of the verdict; the output of `hopline demo` uses them too."""


def verified_text(verified: Verified) -> str:
    """Return the account, its exceptions and its notes, and finally the verdict."""
    account = verified.account
    ledger = account.ledger
    messages, dialogs = counted(ledger.accepted, "message"), counted(account.dialogs, "dialog")
    lines = [
        _row("accepted", f"{messages} in {dialogs}"),
        *(_row("  replayed", f"{n:,} by {job}") for job, n in sorted(account.replayed.items())),
        _row("delivered", f"{ledger.delivered:,} at the locked target"),
        _row("still waiting", _fates(ledger, WAITING)),
        _row("discarded", _fates(ledger, DISCARDED)),
    ]
    if ledger.undecided:
        lines.append(_row("undecided", f"{ledger.undecided:,} may be explained by unread events"))
    gone = ledger.outcomes[Fate.TRIMMED]
    if gone or ledger.unsaid:
        lines.append(_row("before the logs begin", f"{gone:,} sent, {ledger.unsaid:,} delivered"))
    if ledger.at_refused_targets:
        lines.append(
            _row("at refused targets", f"{ledger.at_refused_targets:,}, counted separately")
        )
    removed = [f"{n:,} {cause}" for cause, n in sorted(account.duplicates.items())]
    lines += [
        _row("copies removed", _list(removed)),
        _row("copies dropped", _numbers(account.drops)),
        _row("delayed", _numbers(account.delays)),
        _row("statements refused", _list(refused_lines(account.refusals))),
        _row("dialogs locked", _list(f"{p} {n:,}" for p, n in sorted(ledger.locked.items()))),
    ]
    lines += [f"  {line}" for line in _exceptions(account.exceptions, ledger.faults.total())]
    lines += [f"  {note}" for note in verified.notes]
    return "\n".join([*lines, _row("verdict", ledger.verdict)])


def _exceptions(listed: Sequence[tuple[Fault, Missing]], total: int) -> list[str]:
    lines = [_exception(fault, message) for fault, message in listed[:SHOWN]]
    left = total - len(lines)
    return [*lines, f"... and {left:,} more: --format json"] if left else lines


def _exception(fault: Fault, message: Missing) -> str:
    side = "initiator" if message.from_initiator else "target"
    if fault is Fault.MISCOUNTED:
        what = f"{side} counts {message.sequence} sent, but its commands differ"
    else:
        issued = instant(message.at) if message.at else "?"
        what = f"message {message.sequence} of the {side}, issued {issued}"
    return f"{fault.name.lower():<11}{message.conversation}  {what}, {message.place}"


def _row(name: str, value: str) -> str:
    return f"{name:<{_NAME}}{value}"


def _list(rows: Iterable[str]) -> str:
    return f"\n{'':<{_NAME}}".join(rows) or "0"


def _fates(ledger: Ledger, fates: Iterable[Fate]) -> str:
    return _list(f"{n:,} {fate.value}" for fate in fates if (n := ledger.outcomes[fate]))


def _numbers(counts: Counter[int]) -> str:
    return _list(f"{n:,} x {number}, {text_of(number)}" for number, n in sorted(counts.items()))
