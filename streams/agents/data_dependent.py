"""The data-dependent routing service on Kafka (reference, section 6): a dialog's first message
selects its service.

:mod:`streams.services` decides; this module keeps the rows and issues the statements.
``resolved_conversations`` is a Faust table. The table is changed after the statements to which it
refers. Otherwise, it could contain a dialog that has not begun, or lose a dialog that has not
ended. Writes to the table are not fenced: a process that was suspended and lost its partition may
store rows of finished dialogs, which are never deleted.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, MutableMapping
from typing import Any

from streams.agents.application import HoplineApp, hopline_app
from streams.agents.dialog import Dialog
from streams.client.receiver import Received
from streams.services import (
    Action,
    Begin,
    Classifier,
    End,
    Handle,
    Incoming,
    Redirector,
    Router,
    Send,
    Turn,
    to_service_name,
)
from streams.topology import DEFAULT_SERVICES, ShippedService
from streams.wire import Topics

log = logging.getLogger("hopline.agents")


def routing_app(
    instance: str,
    database: str,
    service: str,
    *,
    classify: Classifier = to_service_name,
    reply_type: str | None = None,
    prefix: str = "ssb.",
    **options: Any,
) -> HoplineApp:
    """Return the application that routes the dialogs of a service; ``options`` are hopline_app's.

    With ``reply_type``, the application redirects: it answers with a message of this type that
    contains the service's name, and ends the dialog.
    """
    default = DEFAULT_SERVICES[ShippedService.DATA_DEPENDENT_ROUTING]
    place = (instance, database, *(() if service == default else (service,)))
    name, classify = Topics(prefix).name("routing", *place), _telling(classify)
    app = hopline_app(name, instance=instance, database=database, prefix=prefix, **options)
    if reply_type is not None:
        redirector = Redirector(service, database, classify, reply_type)

        @app.service(service)
        async def redirect(dialog: Dialog, message: Received) -> None:
            await _say(dialog, redirector.route(_incoming(message)))

        return app
    router = Router(service, database, classify)
    rows = app.Table("resolved_conversations", default=str)

    @app.service(service)
    async def route(dialog: Dialog, message: Received) -> None:
        received = _incoming(message)
        known = rows.get(_key(received.handle))
        resolved = {received.handle: _handle(known)} if known else {}
        turn = router.route(resolved, received)
        made = await _say(dialog, turn)
        await dialog.commit()
        keep_rows(rows, turn, made)

    return app


def keep_rows(rows: MutableMapping[str, str], turn: Turn, made: Mapping[Handle, Handle]) -> None:
    """Store and delete rows in order; ``made`` contains the dialogs that were begun."""
    for one, other in turn.stored:
        rows[_key(made.get(one, one))] = _key(made.get(other, other))
    for gone in map(_key, turn.deleted):
        # not pop(), whose lookup of a missing key succeeds in a table with a default
        if gone in rows:
            del rows[gone]


def _telling(classify: Classifier) -> Classifier:
    """Return a classifier that logs why it fails; the dialog's error states only that it failed."""

    def logged(body: bytes) -> str | None:
        try:
            return classify(body)
        except Exception:
            log.warning("the classifier failed", exc_info=True)
            raise

    return logged


async def _say(dialog: Dialog, turn: Turn) -> dict[Handle, Handle]:
    """Issue the statements of a message; return the dialogs begun, by their temporary handles."""
    made: dict[Handle, Handle] = {}
    for action in turn.actions:
        if isinstance(action, Begin):
            began = await dialog.begin(action.to_service, contract=action.contract)
            made[action.handle] = Handle(began.id, is_initiator=True)
        else:
            await _act(dialog, made.get(action.handle, action.handle), action)
    return made


async def _act(dialog: Dialog, handle: Handle, action: Action) -> None:
    on = dialog.on(handle.conversation, is_initiator=handle.is_initiator)
    match action:
        case Send():
            await on.send(action.body, type=action.type)
        case End():
            await on.end(error=None if action.code is None else (action.code, action.text))


def _incoming(message: Received) -> Incoming:
    header, parties = message.frame.header, message.frame.parties
    side = message.conversation
    return Incoming(
        Handle(side.id, side.is_initiator),
        header.message_id,
        header.sequence,
        header.type,
        message.body,
        parties.contract,
    )


def _key(handle: Handle) -> str:
    return f"{handle.conversation}/{'initiator' if handle.is_initiator else 'target'}"


def _handle(key: str) -> Handle:
    conversation, _, side = key.partition("/")
    return Handle(uuid.UUID(conversation), side == "initiator")
