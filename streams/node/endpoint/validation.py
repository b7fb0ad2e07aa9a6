"""Decide whether a message's type and body may be delivered to a service (1.1, 4.8, 5.3)."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from streams.cpu_limit import TooExpensiveError, limited
from streams.errors import Number
from streams.node.endpoint.patterns import run_linearly
from streams.protocol import Dialog, Flag, Header, RefusalNumbers
from streams.topology import Validation
from streams.xml_reader import is_checkable, is_well_formed

if TYPE_CHECKING:
    from xmlschema import XMLSchema

    from streams.node.catalog_view import Contract, MessageType
    from streams.node.endpoint.committed import CommittedState

_NOT_A_TYPE_HERE = RefusalNumbers(Number.TYPE_UNKNOWN, Number.TYPE_UNKNOWN_HERE)
_NOT_IN_CONTRACT = RefusalNumbers(Number.TYPE_OUTSIDE_CONTRACT, Number.TYPE_NOT_ACCEPTED)
_BY_INITIATOR = RefusalNumbers(Number.SENT_BY_WRONG_INITIATOR, Number.INITIATOR_SENT_TARGETS_TYPE)
_BY_TARGET = RefusalNumbers(Number.SENT_BY_WRONG_TARGET, Number.TARGET_SENT_INITIATORS_TYPE)
_NOT_EMPTY = RefusalNumbers(Number.BODY_FAILED_VALIDATION, Number.BODY_FAILED_VALIDATION)
_INVALID = RefusalNumbers(
    Number.XML_INVALID, Number.VALIDATION_FAILED, own=Number.VALIDATION_FAILED_HERE
)
TOO_LARGE = RefusalNumbers(Number.MESSAGE_TOO_LARGE, Number.MESSAGE_TOO_LARGE)
"""Rejects a body that is larger than any SEND accepts, because no application could forward it."""
_OWN = int(Flag.END | Flag.ERROR)
_LISTS = re.compile(r"[:<]list\b|NMTOKENS|IDREFS|ENTITIES")
_MOST_VERDICTS = 1_024
_verdicts: dict[tuple[str, bytes], bool] = {}
"""Results by the schema's text and the body's hash; each takes 200 bytes without the text."""
_MOST_TEXT = 2 << 20
"""Maximum number of characters of compiled schemas; each takes up to 70 bytes when compiled."""
_SHOWN = 200
"""Number of characters of a schema in a log line; they usually contain its namespace."""
_schemas: dict[str, _Compiled | None] = {}
_MOST_CPU = 10.0
"""Seconds of CPU time to compile a schema collection, or to validate a body. Other limits of bodies
keep a check below about one second, except with a schema that multiplies its cost."""
_CHECKED_BYTES = 65_536
"""Number of validated bytes after which a transaction leaves buffered bodies to the next one.

Validating these bytes takes up to about one second, or four seconds with a complex schema.
"""
_PROLOG = re.compile(r"<\?xml[^<>]*\?>")  # [^>] is quadratic in repeated "<?xml"


class _Compiled(NamedTuple):
    """A schema collection. ``lists``: it has list types; ``steps``: steps per character.

    ``most``: larger bodies are not validated, because one of twice this size took too long.
    """

    validator: XMLSchema
    lists: bool
    steps: float
    most: int = sys.maxsize


def judge(
    dialog: Dialog,
    contract: Contract | None,
    message_type: MessageType | None,
    header: Header,
    body: bytes,
) -> RefusalNumbers | None:
    """Return why the receiver rejects a complete message, or ``None``.

    System messages (EndDialog, Error) are accepted under every contract.
    """
    if header.is_a(_OWN):
        return None
    if message_type is None:
        return _NOT_A_TYPE_HERE
    if contract is None or header.type not in contract.types:
        return _NOT_IN_CONTRACT
    by_initiator = not dialog.is_initiator
    if not contract.allows(header.type, initiator=by_initiator):
        return _BY_INITIATOR if by_initiator else _BY_TARGET
    if is_valid(message_type, body):
        return None
    return _NOT_EMPTY if message_type.validation is Validation.EMPTY else _INVALID


class AnyBody(dict[tuple[str, str, str, bool], bool]):
    """Cache whether a (database, contract, type, sent by the initiator) accepts any body.

    Bodies of nearly all types are accepted without validation. Each transaction has its own cache,
    because the entries depend on the version of the catalog. ``checked`` is the number of bytes
    validated so far.
    """

    def __init__(self, endpoint: CommittedState) -> None:
        super().__init__()
        self._endpoint = endpoint
        self.checked = 0

    def rests(self) -> bool:
        """Return whether the transaction leaves other buffered bodies to the next transaction."""
        return self.checked >= _CHECKED_BYTES

    def __missing__(self, key: tuple[str, str, str, bool]) -> bool:
        database, named, kind, by_initiator = key
        contract = self._endpoint.contract(database, named)
        message_type = self._endpoint.message_type(database, kind)
        known = self[key] = (
            contract is not None
            and contract.allows(kind, initiator=by_initiator)
            and message_type is not None
            and message_type.validation is Validation.NONE
        )
        return known


def is_valid(message_type: MessageType, body: bytes) -> bool:
    """Return whether a body passes the validation of its type."""
    match message_type.validation:
        case Validation.NONE:
            return True
        case Validation.EMPTY:
            return not body
        case Validation.WELL_FORMED_XML:
            return is_well_formed(body)
        case Validation.VALID_XML:
            return message_type.schema is not None and _verdict(message_type.schema, body)


def _verdict(schema: str, body: bytes) -> bool:
    """Return the result of :func:`_fits`, cached because a SEND on many dialogs repeats it."""
    key = schema, blake2b(body, digest_size=16).digest()
    known = _verdicts.get(key)
    if known is None:
        known = _fits(schema, body)
        if len(_verdicts) >= _MOST_VERDICTS:
            _verdicts.clear()
        _verdicts[key] = known
    return known


def _fits(schema: str, body: bytes) -> bool:
    """Return whether a body is valid for a schema collection and cheap enough to validate."""
    compiled = _compiled(schema)
    if compiled is None or len(body) > compiled.most:
        return False
    if not is_checkable(body, lists=compiled.lists, steps=compiled.steps):
        return False
    check, most = partial(compiled.validator.is_valid, BytesIO(body)), len(body) // 2
    try:
        return limited(_MOST_CPU, check, partial(_unchecked, schema, len(body), most))
    except TooExpensiveError:
        _schemas[schema] = compiled._replace(most=most)
        return False
    except Exception:  # the validator itself may fail, with OverflowError for the year 10**30
        return False


def _unchecked(schema: str, size: int, most: int) -> str:
    return (
        f"Checking a body of {size} bytes takes more than {_MOST_CPU:g} s of CPU time. Until this "
        f"process restarts, bodies of more than {most} bytes are refused. {_remedy(schema)}"
    )


def _uncompiled(schema: str) -> str:
    return (
        f"Compiling a schema collection takes more than {_MOST_CPU:g} s of CPU time. Until this "
        f"process restarts, all bodies of its message types are refused. {_remedy(schema)}"
    )


def _remedy(schema: str) -> str:
    return f"Simplify the types of the schema collection that begins with {schema[:_SHOWN]!r}."


def _compiled(schema: str) -> _Compiled | None:
    """Return the result of :func:`_compile`, from the cache if possible."""
    with suppress(KeyError):  # other threads may clear the cache
        return _schemas[schema]
    try:
        compiled = limited(_MOST_CPU, partial(_compile, schema), partial(_uncompiled, schema))
    except TooExpensiveError:
        compiled = None
    if sum(map(len, _schemas)) + len(schema) > _MOST_TEXT:
        _schemas.clear()
        _verdicts.clear()  # the keys of the results contain the schemas
    _schemas[schema] = compiled
    return compiled


def _compile(text: str) -> _Compiled | None:
    """Compile a schema collection: one or more schema documents in one text."""
    import xmlschema  # the import takes a quarter of a second, and most workers do not need it

    documents = [
        d for d in re.split(r"(?=<(?:\w+:)?schema[\s>])", _PROLOG.sub("", text)) if d.strip()
    ]
    try:
        # The library's cache would keep the names of all elements of bodies.
        first = xmlschema.XMLSchema(documents[0], allow="none", defuse="always", use_cache=False)
        for document in documents[1:]:
            first.add_schema(document, build=True)
        return _Compiled(first, bool(_LISTS.search(text)), run_linearly(first))
    except Exception:  # the library itself may fail, with RecursionError for deeply nested types
        return None
