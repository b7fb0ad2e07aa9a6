"""Apply catalog changes to a dialog: NEW_BROKER, DROP SERVICE, DROP CONTRACT and similar (1.5).

NEW_BROKER removes conversations "without producing end dialog messages" (ALTER DATABASE SET
options). DROP CONTRACT, and ALTER SERVICE with DROP CONTRACT, end the conversations that use the
contract, with an Error on both sides (the statements' pages, *Resending messages*).
"""

from __future__ import annotations

from streams.errors import Number
from streams.node.endpoint.committed import CommittedState
from streams.protocol import Machine

_DATABASE_SET = Number.CONVERSATIONS_ENDED_HERE, Number.CONVERSATIONS_ENDED_THERE
_CONTRACT_DROPPED = Number.CONTRACT_DROPPED_HERE, Number.CONTRACT_DROPPED_THERE
_SERVICE_ALTERED = Number.SERVICE_ALTERED_HERE, Number.SERVICE_ALTERED_THERE
"""The numbers of the Errors on this side and on the other side."""


def heed(endpoint: CommittedState, machine: Machine) -> None:
    """End the dialog if a catalog change requires it; a machine does this once."""
    if machine.heeded:
        return
    machine.heeded = True
    dialog = machine.dialog
    epoch = endpoint.error_epoch(dialog.database)
    service = endpoint.service(dialog.database, dialog.service)
    if not endpoint.is_alive(dialog):  # messages with the old broker id are no longer accepted
        machine.ending.terminate(Number.CONVERSATION_DROPPED_HERE)
    elif service is None:
        machine.ending.terminate(Number.SERVICE_DROPPED_HERE, Number.SERVICE_DROPPED_THERE)
    elif dialog.error_epoch < epoch:
        machine.ending.broker_error(*_DATABASE_SET)
    elif not endpoint.keeps_contract(dialog, service):
        dropped = endpoint.contract(dialog.database, dialog.contract) is None
        machine.ending.broker_error(*(_CONTRACT_DROPPED if dropped else _SERVICE_ALTERED))
    dialog.error_epoch = max(dialog.error_epoch, epoch)
