"""The message types and contracts that every database has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from streams.system_names import (
    DEFAULT,
    DIALOG_TIMER,
    END_DIALOG,
    ERROR,
    EVENT_NOTIFICATION,
    NOTICE,
    POST_EVENT_NOTIFICATION,
    POST_QUERY_NOTIFICATION,
    PREFIX,
    QUERY_NOTIFICATION,
)
from streams.topology.objects import Contract, MessageType, Sender, Validation

_DIAGNOSTIC = PREFIX + "ServiceDiagnostic"
_NOTICES = tuple(
    f"{NOTICE}/{word}"
    for word in (
        "MissingRoute", "FailedRoute", "MissingRemoteServiceBinding", "FailedRemoteServiceBinding"
    )
)  # fmt: skip
_XML, _NONE, _EMPTY = Validation.WELL_FORMED_XML, Validation.NONE, Validation.EMPTY


def _types(*rows: tuple[str, Validation]) -> Mapping[str, MessageType]:
    return MappingProxyType({name: MessageType(name, validation) for name, validation in rows})


def _contracts(*rows: tuple[str, Mapping[str, Sender]]) -> Mapping[str, Contract]:
    return MappingProxyType({name: Contract(name, messages) for name, messages in rows})


SYSTEM_MESSAGE_TYPES = _types(
    (DEFAULT, _NONE),
    (ERROR, _XML),
    (END_DIALOG, _EMPTY),
    (DIALOG_TIMER, _EMPTY),
    *((name, _XML) for name in _NOTICES),
    (PREFIX + "ServiceEcho/Echo", _NONE),
    (_DIAGNOSTIC + "/Query", _XML),
    (_DIAGNOSTIC + "/Status", _XML),
    (_DIAGNOSTIC + "/Description", _NONE),
    (EVENT_NOTIFICATION, _XML),
    (QUERY_NOTIFICATION, _XML),
)
"""Message types by name; Error, EndDialog and DialogTimer are valid in every contract (1.1)."""

SYSTEM_CONTRACTS = _contracts(
    (DEFAULT, {DEFAULT: Sender.ANY}),
    (NOTICE, dict.fromkeys(_NOTICES, Sender.INITIATOR)),
    (PREFIX + "ServiceEcho", {PREFIX + "ServiceEcho/Echo": Sender.ANY}),
    (
        _DIAGNOSTIC,
        {
            _DIAGNOSTIC + "/Query": Sender.INITIATOR,
            _DIAGNOSTIC + "/Status": Sender.TARGET,
            _DIAGNOSTIC + "/Description": Sender.TARGET,
        },
    ),
    (POST_EVENT_NOTIFICATION, {EVENT_NOTIFICATION: Sender.INITIATOR}),
    (POST_QUERY_NOTIFICATION, {QUERY_NOTIFICATION: Sender.INITIATOR}),
)
"""Contracts by name."""
