"""What statements an endpoint accepts: BEGIN DIALOG and SEND, held against the catalog (4.8)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from streams.errors import Number
from streams.protocol import DEFAULT, Command, Dialog, State

if TYPE_CHECKING:
    from streams.node.endpoint import Endpoint


def begin(endpoint: Endpoint, command: Command, now: int, *, known: bool) -> Dialog | Number:
    """Return a new initiator endpoint (no network activity), or why there is none."""
    database = endpoint.here.databases.get(command.database)
    if database is None or not database.enabled:
        return Number.NO_BROKER_HERE
    if known:  # open or closed: a replayed BEGIN must not open it again
        return Number.CONVERSATION_ID_IN_USE
    service, far = command.from_service or "", command.to_service or ""
    contract = command.contract or DEFAULT
    if endpoint.service(command.database, service) is None:
        return Number.SERVICE_UNKNOWN_HERE
    if not far:
        return Number.SERVICE_NAME_SYNTAX
    if endpoint.contract(command.database, contract) is None:
        return Number.CONTRACT_UNKNOWN_HERE
    longest = endpoint.limits.max_lifetime
    lifetime = longest if command.lifetime is None else command.lifetime
    if not 0 < lifetime <= longest:
        return Number.DIALOG_LIFETIME_RANGE
    return new_endpoint(
        command.conversation,
        command.database,
        database.broker_id,
        is_initiator=True,
        state=State.SO,
        service=service,
        far_service=far,
        far_broker=command.to_broker,
        contract=contract,
        group=command.group,
        now=now,
        expires_at=now + lifetime * 1000,
    )


def check_send(endpoint: Endpoint, command: Command, dialog: Dialog) -> Number | None:
    """Return why a SEND is refused before its state is looked at, or ``None``."""
    if command.body is None:
        return Number.BODY_NULL
    contract = endpoint.contract(dialog.database, dialog.contract)
    message_type = command.type or DEFAULT
    if contract is None or message_type not in contract.types:
        return Number.TYPE_NOT_IN_CONTRACT
    if not contract.allows(message_type, initiator=dialog.is_initiator):
        if dialog.is_initiator:
            return Number.SENT_BY_TARGET_ONLY
        return Number.SENT_BY_INITIATOR_ONLY
    return None


def new_endpoint(
    conversation: uuid.UUID,
    database: str,
    broker_id: str,
    *,
    is_initiator: bool,
    state: State,
    service: str,
    far_service: str,
    far_broker: str | None,
    contract: str,
    group: uuid.UUID | None,
    now: int,
    expires_at: int,
) -> Dialog:
    """Build an endpoint; handle and group follow from the conversation, so nothing is random."""
    side = f"{broker_id}:{'initiator' if is_initiator else 'target'}"
    return Dialog(
        conversation=conversation,
        database=database,
        broker_id=broker_id,
        is_initiator=is_initiator,
        state=state,
        service=service,
        far_service=far_service,
        far_broker=far_broker,
        contract=contract,
        group=group or uuid.uuid5(conversation, f"group:{side}"),
        handle=uuid.uuid5(conversation, f"handle:{side}"),
        created_at=now,
        expires_at=expires_at,
        locked=not is_initiator,
    )
