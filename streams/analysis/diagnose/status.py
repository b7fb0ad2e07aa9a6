"""Recognize the error of a row's ``transmission_status``, by its text or by a number in it.

The column is text in the server's language. If the snapshot has the server's own templates
(sys.messages), the status is compared with them. Otherwise, this module searches the status for
phrases of the English templates, then for any known number, and then for Windows error numbers,
which the text contains in every language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from streams.topology.snapshot import STATUS_NUMBERS

PHRASES: tuple[tuple[int, str], ...] = (
    (28034, "does not have connect permission"),
    (28027, "there is no compatible"),
    (28035, "certificate used by the peer is invalid"),
    (28036, "certificate used by this endpoint was not found"),
    (28045, "does not match the one in master"),
    (28037, "initializing the private key corresponding to the certificate"),
    (28030, "call to the sql server network interface failed"),
    (28031, "an os call failed"),
    (28028, "connection was closed by peer"),
    (28080, "endpoint is not configured"),
    (28026, "not enough memory available"),
    (28029, "unexpected event ("),
    (28038, "handshake verification failed"),
    (28039, "not of type of the negotiated package"),
    (28059, "received premaster secret"),
    (28070, "sspi message confirm status is unexpected"),
    (28079, "sspi packet is not of the expected direction"),
    (28081, "returned when trying to send a handshake message"),
    (28082, "occurred when trying to marshal a message"),
    (28022, "sql server instance: the certificate is not yet valid"),
    (28023, "sql server instance: the certificate has expired"),
    (28048, "login attempt by user"),
    (28047, "login attempt failed"),
    (9752, "not permitted to log in"),
    (9751, "authentication failed"),
    (9758, "login protocol negotiation"),
    (9757, "network protocol error"),
    (9783, "dns lookup failed"),
    (9785, "invalid address specified"),
    (9754, "connection attempt failed"),
    (9755, "while receiving data"),
    (9759, "while sending data"),
    (9756, "while connecting to an adjacent broker"),
    (9642, "transport connection endpoint"),
    (9666, "transport is disabled or not configured"),
    (9748, "transport is not available"),
    (28017, "dropped because the target service broker is unreachable"),
    (9753, "target service broker is unreachable"),
    (9750, "no route matches"),
    (9796, "matched a local route"),
    (9795, "could not find the target broker in the local"),
    (9793, "target service name could not be found"),
    (9797, "classification has been delayed"),
    (9770, "via the broker configuration service"),
    (9792, "forwarding is disabled"),
    (9791, "disabled in the sender's database"),
    (28075, "sender's database is in single user mode"),
    (9789, "broker is disabled in msdb"),
    (9790, "msdb containing routing information is in single user"),
    (9788, "msdb containing routing information is not available"),
    (9771, "manager is disabled in single-user mode"),
    (9780, "broker manager is initializing"),
    (9781, "broker manager is shutting down"),
    (9794, "mirroring manager has not fully initialized"),
    (9749, "target queue is busy"),
    (9779, "received an end conversation message"),
    (9784, "received an error message on this conversation"),
    (9727, "no remote service binding"),
    (9730, "does not correspond to a server principal"),
    (9728, "cannot find the security certificate"),
    (9731, "no security certificate bound"),
    (9733, "no private key for the security certificate"),
    (9734, "length of the private key"),
    (9735, "length of the public key"),
    (9737, "password protected"),
    (9767, "disabled for use with begin dialog"),
    (9768, "secure conversation was dropped"),
    (28024, "not yet valid"),
    (28011, "has expired or is invalid"),
    (28025, "has expired"),
    (28050, "session keys for this conversation could not be"),
    (28051, "could not save a dialog session key"),
    (28054, "needs to access the master key"),
    (15581, "create a master key in the database or open"),
    (28013, "administratively disabled"),
    (28014, "in read-only mode"),
    (28018, "replica of a mirrored database"),
    (28015, "database is in single-user mode"),
    (28016, "dropped because the service broker in the target database"),
    (28012, "service broker in the target database is unavailable"),
    (916, "is not able to access the database"),
    (15404, "obtain information about windows nt group/user"),
    (15517, "cannot execute as the database principal"),
    (28020, "could not create user token"),
    (33009, "database owner sid recorded in the master database"),
    (8494, "do not have permission to access the service"),
    (11215, "does not have permission to send to the service"),
    (28056, "does not have control permission on the service"),
    (9617, "is currently disabled"),
    (11219, "destination queue has been disabled"),
    (28021, "delivered to the local service targeted by this dialog"),
    (28058, "could not upgrade this conversation"),
    (28069, "unexpected session key"),
    (28005, "while enqueueing a message in the target queue"),
    (28073, "out of memory condition has occurred in the service broker message transmitter"),
    (28072, "error occurred in the service broker message transmitter"),
    (28090, "while deleting sent messages from the transmission queue"),
    (9782, "exception occurred while dispatching a message"),
    (9736, "error occurred in dialog transmission"),
)
"""Error numbers, each with a phrase from its text. The first match counts, so a longer phrase comes
before a phrase that it contains."""

_WINDOWS = {
    11001: 9783, 11002: 9783, 11004: 9783,
    10060: 9754, 10061: 9754, 10064: 9754, 10065: 9754, 10051: 9754, 1225: 9754, 121: 9754,
    10054: 9755, 10053: 9759, 64: 9755,
}  # fmt: skip
"""SQL Server's error for each Windows error number, for texts with no other readable part."""
_WRAPPERS = frozenset({9642, 9736, 9756, 9782, 28005, 28012, 28016, 28047, 28048, 28072, 28090})
"""Errors that contain the actual error: its number (``Error: 8494, State: 1.``) or its text."""
_KNOWN = frozenset(STATUS_NUMBERS)
_NUMBER = re.compile(r"(?<![\w.])\d{4,5}(?![\w.]\d)")
_INNER = re.compile(r"[:：]\s*(\d{1,5})\s*[,，、]")
_QUOTED = re.compile(r"['‘«„\"](\d{2,5})\s*[(（]")
_DIRECTIVE = re.compile(r"%(?:\.\*)?[-+#0-9.*]*(?:I64|l|h)?[a-zA-Z](?:_[A-Z]+)?|%\d+!.*?!")


@dataclass(frozen=True, slots=True)
class Status:
    """A transmission status; ``number`` is SQL Server's error, or ``None`` if empty or unknown."""

    text: str
    number: int | None

    @property
    def empty(self) -> bool:
        """Return whether no attempt has failed so far, or none was made yet."""
        return not self.text

    @property
    def unknown(self) -> bool:
        """Return whether the text does not match any known message."""
        return bool(self.text) and self.number is None


def read_status(text: str | None, texts: Mapping[int, tuple[str, ...]]) -> Status:
    """Return the error that a status reports; ``texts``: the server's own templates by number."""
    status = (text or "").strip()
    if not status:
        return Status("", None)
    found = [*_by_template(status, texts), *_by_phrase(status)]
    named = _INNER.findall(status) or _NUMBER.findall(status)
    numbers = [int(n) for n in named if int(n) in _KNOWN]
    if found and found[0] not in _WRAPPERS:
        return Status(status, found[0])
    windows = [_WINDOWS[int(n)] for n in _QUOTED.findall(status) if int(n) in _WINDOWS]
    inner = [n for n in (*found, *numbers, *windows) if n not in _WRAPPERS]
    return Status(status, next(iter([*inner, *found, *numbers]), None))


def _by_phrase(status: str) -> Iterator[int]:
    folded = status.casefold()
    return (number for number, phrase in PHRASES if phrase in folded)


def _by_template(status: str, texts: Mapping[int, tuple[str, ...]]) -> list[int]:
    """Return the errors whose template matches the status, longest template first.

    Some errors contain the text of another error at their end, so templates also match within the
    status.
    """
    folded = status.casefold()
    hits = [
        (len(template), number)
        for number, templates in texts.items()
        if number in _KNOWN
        for template in templates
        if _has_in_order(folded, _parts(template))
    ]
    return [number for _, number in sorted(hits, reverse=True)]


@lru_cache(maxsize=1024)
def _parts(template: str) -> tuple[str, ...]:
    """Return the text between a template's directives, in comparable form."""
    return tuple(part.casefold() for part in _DIRECTIVE.split(template.strip()))


def _has_in_order(text: str, parts: Iterable[str]) -> bool:
    """Return whether a string contains all parts, one after the other.

    This takes linear time; a regular expression with ``.*?`` between the parts would backtrack.
    """
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
