"""Dumps of views: the dialogs of an instance at one time, and its waiting messages.

``sys.conversation_endpoints`` maps handles to conversations; messages of ``sys.transmission_queue``
and of queues have only the handle. Missing names are looked up, because services and contracts have
only ids unless their own views are also imported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Any

from streams.capture.foreign.cells import bytes_of, first, flag, guid, instant, text_of, whole
from streams.capture.foreign.findings import Endpoint, Finding, Party, Report, Waiting
from streams.protocol import END_DIALOG, ERROR, Flag
from streams.wire.bounds import LAST_NUMBER


class ViewKind(Enum):
    """The view that was dumped as a table."""

    ENDPOINTS = "sys.conversation_endpoints"
    TRANSMISSION_QUEUE = "sys.transmission_queue"
    QUEUE = "queue"
    SERVICES = "sys.services"
    CONTRACTS = "sys.service_contracts"


_KNOWN_BY: tuple[tuple[ViewKind, frozenset[str]], ...] = (
    (ViewKind.ENDPOINTS, frozenset({"conversation_id", "conversation_handle", "far_service"})),
    (ViewKind.TRANSMISSION_QUEUE, frozenset({"conversation_handle", "to_service_name"})),
    (ViewKind.QUEUE, frozenset({"conversation_handle", "message_sequence_number"})),
    (ViewKind.SERVICES, frozenset({"service_id", "service_queue_id"})),
    (ViewKind.CONTRACTS, frozenset({"service_contract_id", "name"})),
)
COLUMNS = frozenset().union(*(columns for _, columns in _KNOWN_BY)) | {"message_body"}
"""Columns that identify a dump."""


def view_of(columns: Collection[str]) -> ViewKind | None:
    """Return the view that has these columns."""
    return next((view for view, needed in _KNOWN_BY if needed <= set(columns)), None)


Home = tuple[str, str | None]
"""An instance, and one of its databases, if known."""


class Names:
    """Names of the services and contracts of one instance's databases, by id."""

    def __init__(self) -> None:
        self._names: dict[tuple[ViewKind, Home, int], str] = {}

    def learn(self, view: ViewKind, home: Home, cells: Mapping[str, Any]) -> None:
        """Add a row of sys.services or sys.service_contracts."""
        column = "service_id" if view is ViewKind.SERVICES else "service_contract_id"
        number, name = whole(cells.get(column)), text_of(cells.get("name"))
        if number is not None and name is not None:
            self._names[view, home, number] = name

    def service(self, home: Home, cells: Mapping[str, Any]) -> str | None:
        """Return a row's own service."""
        return self._name(ViewKind.SERVICES, home, cells, "service_name", "service_id")

    def contract(self, home: Home, cells: Mapping[str, Any]) -> str | None:
        """Return a row's contract."""
        names = ("service_contract_name", "service_contract_id")
        return self._name(ViewKind.CONTRACTS, home, cells, *names)

    def _name(
        self, view: ViewKind, home: Home, cells: Mapping[str, Any], name: str, id_: str
    ) -> str | None:
        number = whole(cells.get(id_))
        return text_of(cells.get(name)) or (
            None if number is None else self._names.get((view, home, number))
        )


def _number(raw: Any) -> int | None:
    """Return a message number; ``None`` if no dialog can reach this number."""
    number = whole(raw)
    return number if number is not None and 0 <= number <= LAST_NUMBER else None


def read_endpoint(
    cells: Mapping[str, Any], place: Home, names: Names, where: str,
    report: Report,
) -> Iterator[Finding]:  # fmt: skip
    """Yield the facts that a row of sys.conversation_endpoints contains."""
    instance, database = place
    conversation, handle = (
        guid(cells.get("conversation_id")),
        guid(cells.get("conversation_handle")),
    )
    initiator = flag(cells.get("is_initiator"))
    if conversation is None or handle is None or initiator is None:
        report.leave("an endpoint without a conversation id, handle or is_initiator", where)
        return
    if flag(cells.get("is_system")):
        report.skip("system conversations")
        return
    report.rows[ViewKind.ENDPOINTS.value] += 1
    sent, received = _number(cells.get("send_sequence")), _number(cells.get("receive_sequence"))
    yield Endpoint(instance, handle, conversation, initiator, sent, received)
    ends = (names.service(place, cells), text_of(cells.get("far_service")))
    contract = names.contract(place, cells)
    if initiator:
        yield Party(conversation, *ends, contract, instance, database)
    else:
        yield Party(conversation, *ends[::-1], contract)


def read_waiting(
    view: ViewKind, cells: Mapping[str, Any], place: Home, taken_at: int,
    where: str, report: Report,
) -> Iterator[Finding]:  # fmt: skip
    """Yield a waiting message of a queue; ``taken_at`` is the default time."""
    handle, sequence = (
        guid(cells.get("conversation_handle")),
        whole(cells.get("message_sequence_number")),
    )
    if handle is None or sequence is None or sequence < 0:
        report.leave(f"a row of a {view.value} without a handle or sequence number", where)
        return
    at = instant(first(cells, "enqueue_time", "message_enqueue_time"))
    if at is None:
        report.note("a message without a valid time: set to the dump's time", where)
    report.rows[view.value] += 1
    type_ = text_of(cells.get("message_type_name"))
    yield Waiting(
        *place, handle, view is ViewKind.QUEUE, taken_at if at is None else at,
        sequence, type_, bytes_of(cells.get("message_body")), _flags(cells, type_),
    )  # fmt: skip


def _flags(cells: Mapping[str, Any], type_: str | None) -> Flag:
    flags = Flag.NONE
    if flag(cells.get("is_end_of_dialog")) or type_ == END_DIALOG:
        flags |= Flag.END
    if flag(cells.get("is_conversation_error")) or type_ == ERROR:
        flags |= Flag.ERROR
    return flags
