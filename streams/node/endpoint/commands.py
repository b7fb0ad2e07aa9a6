"""Check BEGIN DIALOG and SEND against the catalog (4.8)."""

from __future__ import annotations

import uuid
from typing import NamedTuple

from streams.errors import Number
from streams.node.endpoint.committed import CommittedState
from streams.node.endpoint.outgoing import error_body
from streams.node.endpoint.overlay import Overlay
from streams.node.endpoint.validation import is_valid
from streams.protocol import (
    BROKER_UNITS,
    DEFAULT,
    LARGEST_CODE,
    NAME_UNITS,
    Command,
    Dialog,
    State,
    units,
)
from streams.system_names import SYSTEM_SERVICES, is_current_database


def begin(tx: Overlay, command: Command, *, known: bool) -> Dialog | Number:
    """Return a new initiator endpoint, or the error; sends nothing."""
    endpoint, now = tx.endpoint, tx.now
    database = endpoint.here.databases.get(command.database)
    if database is None or not database.enabled:
        return Number.NO_BROKER_HERE
    if known:  # open or closed; a repeated BEGIN must not reopen it
        return Number.CONVERSATION_ID_IN_USE
    service, far = command.from_service or "", command.to_service or ""
    contract = command.contract or DEFAULT
    is_system = service in SYSTEM_SERVICES
    if is_system and not tx.notices.is_open(command.database, command.conversation):
        return Number.SERVICE_UNKNOWN_HERE  # no application uses a system service
    if endpoint.service(command.database, service) is None:
        return Number.SERVICE_UNKNOWN_HERE
    if not far:
        return Number.SERVICE_NAME_MISSING
    if units(far) > NAME_UNITS:
        return Number.SERVICE_NAME_SYNTAX
    if units(command.to_broker or "") > BROKER_UNITS:
        return Number.BROKER_INSTANCE_SYNTAX
    group = _group(tx, command, service)
    if isinstance(group, Number):
        return group
    if endpoint.contract(command.database, contract) is None:
        return Number.CONTRACT_UNKNOWN_HERE
    longest = endpoint.limits.max_lifetime
    lifetime = longest if command.lifetime is None else command.lifetime
    if not 0 < lifetime <= longest:
        return Number.DIALOG_LIFETIME_RANGE
    to_broker = command.to_broker
    if is_current_database(to_broker):
        to_broker = database.broker_id
    opening = Opening(
        command.conversation,
        command.database,
        database.broker_id,
        is_initiator=True,
        state=State.SO,
        service=service,
        far_service=far,
        far_broker=to_broker,
        contract=contract,
        group=group,
        expires_at=now + lifetime * 1000,
    )
    return new_endpoint(endpoint, opening, now)


def _group(tx: Overlay, command: Command, service: str) -> uuid.UUID | Number | None:
    """Return the group that a dialog joins: the related dialog's, or else ``group`` or ``None``."""
    group = command.group
    if command.related is not None:
        sides = [tx.machine((command.database, command.related, side)) for side in (True, False)]
        known = [m.dialog for m in sides if m is not None]
        if not known:
            return Number.HANDLE_UNKNOWN
        group = next((d.group for d in known if d.service == service), known[0].group)
    if group is not None and tx.service_of(command.database, group) not in (None, service):
        return Number.GROUP_OF_ANOTHER_SERVICE
    return group


def check_end(tx: Overlay, command: Command) -> Number | None:
    """Return the number with which END CONVERSATION WITH ERROR is refused; ``None`` if valid.

    Codes below 1 are reserved for the broker. An Error is sent as a single frame, and no endpoint
    accepts a larger frame. In XML, one character can take five bytes.
    """
    if command.error_code is None:
        return None
    if command.error_code <= 0:
        return Number.ERROR_CODE_INVALID
    if command.error_code > LARGEST_CODE:
        return Number.ERROR_CODE_NOT_INT
    if command.error_text is None:
        return Number.ERROR_DESCRIPTION_MISSING
    size = len(error_body(command.error_code, command.error_text))
    return Number.MESSAGE_TOO_LARGE if size > tx.endpoint.limits.frame else None


def check_send(tx: Overlay, command: Command, dialog: Dialog) -> Number | None:
    """Return the number with which a SEND is refused, or ``None``, regardless of the state."""
    endpoint, message_type = tx.endpoint, command.type or DEFAULT
    if command.body is None:
        return Number.BODY_NULL
    if len(command.body) > endpoint.limits.body:
        return Number.MESSAGE_TOO_LARGE
    if tx.any_body[dialog.database, dialog.contract, message_type, dialog.is_initiator]:
        return None
    known = endpoint.message_type(dialog.database, message_type)
    if known is None:
        return Number.TYPE_UNKNOWN_HERE
    contract = endpoint.contract(dialog.database, dialog.contract)
    if contract is None or message_type not in contract.types:
        return Number.TYPE_NOT_IN_CONTRACT
    if not contract.allows(message_type, initiator=dialog.is_initiator):
        if dialog.is_initiator:
            return Number.SENT_BY_TARGET_ONLY
        return Number.SENT_BY_INITIATOR_ONLY
    return None if is_valid(known, command.body) else Number.BODY_FAILED_VALIDATION


class Opening(NamedTuple):
    """The initial values of a conversation endpoint; without a ``group``, it gets a new group."""

    conversation: uuid.UUID
    database: str
    broker_id: str
    is_initiator: bool
    state: State
    service: str
    far_service: str
    far_broker: str | None
    contract: str
    expires_at: int
    group: uuid.UUID | None = None


def new_endpoint(endpoint: CommittedState, opening: Opening, now: int) -> Dialog:
    """Create an endpoint; its handle and group are derived from the conversation, not random."""
    conversation, database = opening.conversation, opening.database
    priority = endpoint.catalog.priority(
        endpoint.instance, database, opening.contract, opening.service, opening.far_service
    )
    side = f"{opening.broker_id}:{'initiator' if opening.is_initiator else 'target'}"
    known = opening._asdict()
    known["group"] = opening.group or uuid.uuid5(conversation, f"group:{side}")
    return Dialog(
        **known,
        handle=uuid.uuid5(conversation, f"handle:{side}"),
        created_at=now,
        locked=not opening.is_initiator,
        priority=priority,
        error_epoch=endpoint.error_epoch(database),
    )
