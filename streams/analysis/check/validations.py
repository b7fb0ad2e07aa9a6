"""Message types that the two sides of a flow validate differently (TA-32)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.contracts import contracts_of_dialogs, shared_contracts, type_of
from streams.analysis.hazards.passage import Passage
from streams.analysis.known import Home
from streams.analysis.objects import finding
from streams.topology import Finding, MessageType, Sender, Severity, Validation, schema_of

_STRICTER = {Validation.NONE: 0, Validation.WELL_FORMED_XML: 1, Validation.VALID_XML: 2}


@dataclass(frozen=True, slots=True)
class _Side:
    at: Home
    type: MessageType


def validations(estate: Estate) -> Iterator[Finding]:
    """Find message types that the receiver and the sender validate differently (CM)."""
    seen: set[tuple[str, str, str]] = set()
    for passage in passages(estate):
        contracts = contracts_of_dialogs(passage)
        for end in passage.ends(estate):
            for name, here, there in shared_contracts(passage, end, contracts):
                words = {**here.messages, **there.messages}
                for word, sender in words.items():
                    key = (str(passage.begins), str(end), word)
                    if key not in seen:
                        seen.add(key)
                        yield from _validation(passage, end, word, sender, name)


def _validation(
    passage: Passage, end: Home, word: str, sender: Sender, contract: str
) -> Iterator[Finding]:
    first, second = type_of(passage.begins.database, word), type_of(end.database, word)
    if first is None or second is None or not _differ(passage.begins, first, end, second):
        return
    ours, theirs = _Side(passage.begins, first), _Side(end, second)
    pairs = [(ours, theirs)] * (sender is not Sender.TARGET)
    pairs += [(theirs, ours)] * (sender is not Sender.INITIATOR)
    refused = next((pair for pair in pairs if _refuses(pair[1].type, pair[0].type)), None)
    one, other = refused or (ours, theirs)
    more = "the receiver is less strict"
    if refused:
        more = f"{other.at} may reject messages from {one.at}"
    yield finding(
        "TA-32", Severity.WARNING if refused else Severity.INFO, other.at, other.type.source,
        f"message type {word} is {_text(one)} in {one.at} and {_text(other)} in {other.at}: {more}",
        "Use the same validation on both sides, so that SEND rejects an invalid body at the "
        "sender.",
        type=word, contract=contract, flow=str(passage.flow),
        validation={str(side.at): side.type.validation.value for side in (ours, theirs)},
    )  # fmt: skip


def _text(side: _Side) -> str:
    schema = f" ({side.type.schema})" if side.type.schema else ""
    return side.type.validation.value.upper() + schema


def _differ(here: Home, one: MessageType, there: Home, other: MessageType) -> bool:
    if one.validation is not other.validation:
        return True
    return one.validation is Validation.VALID_XML and (
        schema_of(here.database, one) != schema_of(there.database, other)
    )


def _refuses(receiver: MessageType, sender: MessageType) -> bool:
    """Return whether a receiver can reject a body that the sender's own type accepts."""
    asked, given = _STRICTER.get(receiver.validation), _STRICTER.get(sender.validation)
    if asked is None or given is None:  # only one side has EMPTY
        return asked != 0
    return asked > given or asked == given == 2


CHECKS = (
    Check(
        "TA-32",
        "Message validation differs between the sides",
        (Severity.WARNING, Severity.INFO),
        "reference 1.1 (message type)",
        "Both sides need a message type of the same name, but can validate it differently. The "
        "receiver's validation decides. If it is stricter than the sender's, a message that was "
        "sent without error can end the dialog with an Error; the finding is then a warning. If it "
        "is less strict, the sender's validation is stricter than needed, and the finding has "
        "severity info.",
        "Use the same validation on both sides.",
        validations,
    ),
)
