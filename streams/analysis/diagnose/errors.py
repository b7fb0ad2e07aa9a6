"""Explain an error without a snapshot: its number, a transmission_status, or a line of a log.

Dialogs that end with an error tell their reason only in the Error message, or in the error log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from streams.analysis.diagnose.cause import Cause
from streams.analysis.diagnose.meanings import meaning
from streams.analysis.diagnose.status import read_status
from streams.analysis.diagnose.table import CAUSES, QUEUES
from streams.errors import text_of
from streams.prose import wrapped

_NUMBER = re.compile(r"[-\u2212\u2013]?\d+")
_ERROR = re.compile(r"\berr(?:or)?:?\s*(\d{4,5})\b", re.IGNORECASE)
_CODE = re.compile(r"<Code>\s*-(\d+)\s*</Code>|(?<![\w-])-(\d{4,5})(?!\d)", re.IGNORECASE)
_ACTIVATED = re.compile(r"\bactivated proc\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Explained:
    """An error with its cause and remedy; ``number`` is negative for the code of an Error message.

    ``cause`` is the code of a cause of a snapshot, if one has this error.
    """

    number: int
    meaning: str
    title: str
    remedy: str
    rule: str
    cause: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as a dictionary for JSON output."""
        return {
            "number": self.number,
            "meaning": self.meaning,
            "cause": self.cause,
            "title": self.title,
            "remedy": self.remedy,
            "rule": self.rule,
        }


def explain_error(text: str) -> Explained | None:
    """Return the explanation of the error that a text contains, or ``None`` if it is not known."""
    words = text.strip()
    if _ACTIVATED.search(words):
        return _of_procedure(words)
    ended = _CODE.search(words)
    if ended is not None:
        return _of_dialog(int(ended.group(1) or ended.group(2)))
    number = _alone(words) or read_status(words, {}).number or _of_event(words)
    if number is None:
        return None
    code = _SAME_AS.get(number)
    causes: tuple[Cause[Any], ...] = (*CAUSES, *QUEUES)
    for cause in causes:
        if number in cause.numbers or cause.code == code:
            return _of_cause(number, cause)
    return _of_statement(number) or _of_dialog(number)


def explained_text(explained: Explained) -> str:
    """Return an explanation as text."""
    lines = [f"{explained.number}: {explained.meaning}"]
    lines += wrapped(explained.title, "  cause   ", "          ")
    code = "" if explained.cause is None else f"{explained.cause}, "
    lines += wrapped(f"{code}{explained.rule}", "  rule    ", "          ")
    lines += wrapped(explained.remedy, "  remedy  ", "          ")
    return "\n".join(lines) + "\n"


def _alone(words: str) -> int | None:
    return abs(int(words.lstrip("-\u2212\u2013"))) if _NUMBER.fullmatch(words) else None


def _of_event(words: str) -> int | None:
    """Return the number of an error that transmission_status does not contain."""
    named = (int(number) for number in _ERROR.findall(words))
    folded = words.casefold()
    spelt = (number for number, phrase in EVENT_PHRASES if phrase in folded)
    return next((n for n in (*named, *spelt) if n in _SAME_AS or n in STATEMENT_ERRORS), None)


def _of_statement(number: int) -> Explained | None:
    row = STATEMENT_ERRORS.get(number)
    return None if row is None else Explained(number, text_of(number), *row)


def _of_cause(number: int, cause: Cause[Any]) -> Explained:
    return Explained(number, meaning(number), cause.title, cause.remedy, cause.rule, cause.code)


def _of_dialog(number: int) -> Explained | None:
    row = DIALOG_ERRORS.get(number)
    if row is None:
        return None
    return Explained(
        -number, "the code of an Error message that ended a dialog", *row, "reference 4.8"
    )


def _of_procedure(words: str) -> Explained:
    inner = read_status(words, {}).number
    means = "an activated procedure wrote to the error log"
    title, remedy = "The activated procedure fails", _PROCEDURE
    if inner is None:
        title, remedy = "The procedure prints something, or fails", f"{_PRINTED} {_PROCEDURE}"
    elif inner == 9617:
        title, remedy = "The procedure reads a queue that is disabled", _DISABLED
    return Explained(9724, means, title, remedy, "reference 4.13")


# Sources: R. Rusanu, "Why does feature ... not work under activation?", "Call a procedure in
# another database from an activated procedure", and "When it rains, it pours".
_PROCEDURE = (
    "The procedure runs as the user of the queue's EXECUTE AS, who is trusted only in this "
    "database. No access to a database or a server view (916): sign the procedure with a "
    "certificate whose user or login in the other database has the permission, or ALTER DATABASE "
    "... SET TRUSTWORTHY ON with an owner that is a valid login. Cannot execute as the principal "
    "(15517): create this user or login again, or ALTER QUEUE ... WITH ACTIVATION (EXECUTE AS "
    "...). No stored procedure: create it, or DROP the service and the queue, which SqlDependency "
    "may have left. Then turn activation off and on."
)
_PRINTED = (
    "The log also contains what the procedure prints, which is harmless. Check whether messages "
    "stay in the queue."
)
_DISABLED = (
    "The procedure runs in a loop that does not end after an error: leave the loop in CATCH. Five "
    "rollbacks in a row have turned the queue off: find the message that causes the error, then "
    "ALTER QUEUE ... WITH STATUS = ON."
)
_SAME_AS: dict[int, str] = {
    8429: "peer-ended", 11210: "service-not-there", 11214: "contract-refused",
    11218: "no-way-back", 11224: "target-id-shared", 11285: "loop", 11293: "no-endpoint",
    11294: "address-unusable", 14650: "delivery-off",
}  # fmt: skip
"""Causes of a snapshot whose errors are not in transmission_status, but in events or statements."""
EVENT_PHRASES: tuple[tuple[int, str], ...] = (
    (11218, "could not be delivered because it is a duplicate"),
    (14650, "service broker message delivery is not enabled in this database"),
    (8429, "not in a valid state for send"),
    (8426, "the conversation handle"),
)
"""Errors with a phrase from their texts in sys.messages."""
_LATE = (
    "A forwarder cannot send the message in time",
    "Its next instance is unreachable or slow, or the forwarder is overloaded: check its endpoint "
    "and routes in msdb, and whether MESSAGE_FORWARD_SIZE suffices. The sender retries.",
    "reference 5.3",
)
STATEMENT_ERRORS: dict[int, tuple[str, str, str]] = {
    8426: (
        "The handle is of a dialog that has ended, or of another database",
        "Code that stores a handle must begin a new dialog when its dialog has ended. A trigger of "
        "SqlTableDependency that raises this error is left from an application that ended without "
        "Stop: drop the trigger, and its service, queues and procedure.",
        "reference 4.10",
    ),
    11289: _LATE, 11290: _LATE, 11291: _LATE,
}  # fmt: skip
_NEW = "END CONVERSATION here, and begin a new dialog. Messages that were not answered are lost."
_TYPES = "Compare the definitions of contract and message types in both databases; correct them."
# Source: R. Rusanu, "Resending messages", and the documentation of each number.
DIALOG_ERRORS: dict[int, tuple[str, str]] = {
    8408: (
        "The target service does not accept the contract",
        "ALTER SERVICE ... (ADD CONTRACT ...) at the target, with the exact name.",
    ),
    8425: ("The contract is not in the target database", f"CREATE CONTRACT there. {_TYPES}"),
    8428: ("The message type is not in the target database", f"CREATE it there. {_TYPES}"),
    8430: ("The body of a message does not match its type, which is EMPTY or XML", _TYPES),
    8437: ("The target has sent a message type that only the initiator may send", _TYPES),
    8457: ("The initiator has sent a message type that only the target may send", _TYPES),
    8462: (
        "The other side of the dialog no longer exists",
        f"It was ended WITH CLEANUP, or its database was restored or got a NEW_BROKER. {_NEW}",
    ),
    8469: ("The remote service was altered, and does not accept the contract now", _NEW),
    8470: (
        "The remote service was dropped",
        "An application must not drop its service while dialogs are active. SqlDependency does so "
        "in Stop: call Start once when the application starts, and Stop once when it ends. The "
        "messages in the error log are then harmless.",
    ),
    8487: ("The contract was dropped", f"{_NEW} {_TYPES}"),
    8489: (
        "The dialog's lifetime has expired",
        "END CONVERSATION on both sides; begin dialogs with a longer LIFETIME, or without one.",
    ),
    8490: (
        "The database with the broker id has no such service",
        "Correct the service's name or the broker id in BEGIN DIALOG. SqlQueryNotificationService-"
        "...: the application has ended, and its service was dropped before the notification. The "
        "message is harmless; fewer calls of SqlDependency.Start and Stop avoid it, and KILL QUERY "
        "NOTIFICATION SUBSCRIPTION removes old subscriptions.",
    ),
    8494: (
        "The initiator has no SEND permission on the target service",
        "In the target database: GRANT SEND ON SERVICE::... TO the owner of the initiator's "
        "service (of a notification: the user who subscribed), or TO public if dialogs between "
        "instances are not encrypted.",
    ),
    8495: (
        "Another database has already acknowledged the dialog",
        "Two databases have the service or the broker id. Name the broker id in BEGIN DIALOG, and "
        "ALTER DATABASE ... SET NEW_BROKER in a copy.",
    ),
    8498: ("The other side has sent a message type that the contract does not contain", _TYPES),
    9615: (
        "A message has failed the validation of its type at the receiver",
        "Validation is done when the message is put into the receiver's queue, not by SEND. The "
        "body is not well-formed XML (illegal characters, wrong encoding), or does not match the "
        "schema: SEND a value of type xml, or correct the type's VALIDATION on both sides.",
    ),
    9719: (
        "An administrator has ended all conversations of the database",
        f"ALTER DATABASE ... SET ERROR_BROKER_CONVERSATIONS or NEW_BROKER, or a restore. {_NEW}",
    ),
    28052: (
        "The session key cannot be decrypted after the master key was regenerated with FORCE", _NEW
    ),
}  # fmt: skip
DIALOG_ERRORS[9616] = DIALOG_ERRORS[9615]
DIALOG_ERRORS[9720] = DIALOG_ERRORS[9719]
DIALOG_ERRORS[8468] = DIALOG_ERRORS[8469]
