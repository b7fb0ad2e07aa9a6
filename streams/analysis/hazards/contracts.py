"""Contracts on both sides of a flow (TA-31)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streams.analysis.estate import Estate
from streams.analysis.hazards.passage import Passage
from streams.analysis.known import Home
from streams.analysis.objects import finding
from streams.analysis.security.values import in_script
from streams.errors import Number, text_of
from streams.prose import listed
from streams.system_names import POST_QUERY_NOTIFICATION
from streams.topology import (
    SYSTEM_CONTRACTS,
    SYSTEM_MESSAGE_TYPES,
    BeginDialog,
    Contract,
    Database,
    Finding,
    MessageType,
    Procedure,
    Sender,
    Service,
    Severity,
    Source,
    contract_of,
)

_REFUSED = Number.CONTRACT_LACKS_INITIATOR_TYPE


def type_of(database: Database, name: str) -> MessageType | None:
    """Return a message type of the database: its own type, or a type that every database has."""
    return database.message_types.get(name) or SYSTEM_MESSAGE_TYPES.get(name)


def contracts(estate: Estate, passage: Passage) -> tuple[Finding, ...]:
    """Return why a flow has no contract that is valid on both sides; computed once."""
    ends = passage.ends(estate)
    known = estate.once(_by_flow)
    key = (str(passage.flow), *map(str, ends))
    if key not in known:
        stated = contracts_of_dialogs(passage)
        known[key] = tuple(found for end in ends for found in _between(passage, end, stated))
    return known[key]


def _by_flow(_: Estate) -> dict[tuple[str, ...], tuple[Finding, ...]]:
    return {}


def _between(passage: Passage, end: Home, stated: dict[str, Source]) -> Iterator[Finding]:
    service = end.database.services[passage.flow.to]
    for name in dict.fromkeys((*stated, *service.contracts)):
        for at in (passage.begins, end):
            if name in at.database.contracts:
                yield from incomplete_contract(at, at.database.contracts[name])
    yield from incomplete_service(end, service)
    yield from _unusable(passage, end, stated)


# --- In one database -----------------------------------------------------------------------------


def incomplete_contract(at: Home, contract: Contract) -> Iterator[Finding]:
    """Find contracts that the engine would refuse to create (1.1), because types are missing."""
    missing = [name for name in contract.messages if type_of(at.database, name) is None]
    if missing:
        yield _finding(
            at, contract.source,
            f"contract {contract.name} names {listed(missing)}, but the database has no such "
            "message type",
            "Create the message type with the same spelling.",
            _severity(contract.source, at.database.message_types),
            contract=contract.name, types=missing,
        )  # fmt: skip
    if Sender.TARGET in (senders := set(contract.messages.values())) and len(senders) == 1:
        yield _finding(
            at, contract.source,
            f"contract {contract.name} has no message type that the initiator may send",
            f"Add one, SENT BY INITIATOR or ANY; without it, no dialog can begin ({_REFUSED:d}).",
            contract=contract.name, types=list(contract.messages),
        )  # fmt: skip


def incomplete_service(at: Home, service: Service) -> Iterator[Finding]:
    """Find a service that accepts contracts which its database does not have."""
    unknown = [name for name in service.contracts if contract_of(at.database, name) is None]
    if unknown:
        yield _finding(
            at, service.source,
            f"service {service.name} accepts {listed(unknown)}, but the database has no such "
            "contract",
            "Create the contract with the same spelling.",
            _severity(service.source, at.database.contracts),
            service=service.name, contracts=unknown,
        )  # fmt: skip


def unsendable(at: Home, procedure: Procedure) -> Iterator[Finding]:
    """Find message types that code sends in its own dialogs and that SEND refuses (4.10)."""
    for begin in procedure.begins:
        contract = None if begin.contract is None else contract_of(at.database, begin.contract)
        for kind in begin.sends if contract is not None else ():
            sender = None if contract is None else contract.messages.get(kind)
            if sender in _BEGINNER:
                continue
            number = Number.TYPE_NOT_IN_CONTRACT if sender is None else Number.SENT_BY_TARGET_ONLY
            yield _finding(
                at, begin.source,
                f"{procedure.name} sends {kind} in dialogs under {begin.contract}: SEND fails "
                f"({number:d}, {text_of(number)})",
                "Send a message type that the contract allows the initiator to send.",
                contract=begin.contract, types=[kind],
            )  # fmt: skip


def _severity(user: Source, shown: Mapping[str, object]) -> Severity:
    """Return WARNING if a script shows no object of a kind; other scripts may then create them."""
    return Severity.WARNING if in_script(user) and not shown else Severity.ERROR


# --- Between two databases -----------------------------------------------------------------------


def _unusable(passage: Passage, end: Home, stated: dict[str, Source]) -> Iterator[Finding]:
    flow, begins = passage.flow, passage.begins
    service = end.database.services[flow.to]
    accepted = list(service.contracts)
    evidence: dict[str, Any] = {"flow": str(flow), "target": str(end), "accepted": accepted}
    for name, source in stated.items():
        if contract_of(begins.database, name) is None:
            yield _finding(
                begins, source,
                f"{flow.sender.service} begins dialogs with {flow.to} under {name}, but the "
                "database has no such contract",
                "Create the contract and its message types here too, as at the target.",
                contract=name, **evidence,
            )  # fmt: skip
        if name not in accepted:
            yield _finding(
                end, service.source,
                f"{flow.to} does not accept {name}, under which {begins} begins dialogs",
                "Add the contract to the service, or begin the dialogs under one that it accepts.",
                contract=name, **evidence,
            )  # fmt: skip
    if not stated and not any(contract_of(begins.database, name) for name in accepted):
        what = f"accepts no contract, so {begins} cannot begin dialogs with it"
        if accepted:
            what = f"accepts {listed(accepted)}, but {begins} has no such contract"
        yield _finding(
            end, service.source,
            f"{flow.to} {what}",
            "Create the contract and its message types on both sides, and let the service accept "
            "it.",
            **evidence,
        )  # fmt: skip
    yield from _different(passage, end, stated)


def contracts_of_dialogs(passage: Passage) -> dict[str, Source]:
    """Return the contracts under which code begins a flow's dialogs, each with its first place."""
    flow, found = passage.flow, dict[str, Source]()
    for procedure in flow.sender.database.procedures.values():
        for begin in procedure.begins:
            meant = begin.to == flow.to and begin.service in (None, flow.sender.service)
            if meant and begin.contract and not _is_timer(flow.sender.database, begin):
                found.setdefault(begin.contract, begin.source)
    return found


def _is_timer(database: Database, begin: BeginDialog) -> bool:
    """Return whether this is the dialog that SqlDependency begins only for its timer.

    It is with its own service, which accepts only query notifications, and nothing is sent in it.
    """
    service = database.services.get(begin.to or "")
    accepted = None if service is None else tuple(service.contracts)
    return accepted == (POST_QUERY_NOTIFICATION,) and begin.service == begin.to and not begin.sends


def _different(passage: Passage, end: Home, stated: dict[str, Source]) -> Iterator[Finding]:
    """Find message types that one side may send but the other side's contract does not allow."""
    for name, here, there in shared_contracts(passage, end, stated):
        differences = []
        for word, sender in here.messages.items():
            if sender is not Sender.TARGET and there.messages.get(word) not in _BEGINNER:
                differences.append(f"{word} from the initiator")
        for word, sender in there.messages.items():
            if sender is not Sender.INITIATOR and here.messages.get(word) not in _TARGET:
                differences.append(f"{word} from the target")
        if differences:
            yield _finding(
                end, there.source,
                f"contract {name} differs in {passage.begins}: the other side does not allow "
                f"{listed(differences)}",
                "Make both contracts the same. A contract cannot be altered, so create a new one.",
                severity=Severity.ERROR if name in stated else Severity.WARNING,
                contract=name, flow=str(passage.flow), types=differences,
            )  # fmt: skip


_BEGINNER = (Sender.INITIATOR, Sender.ANY)
_TARGET = (Sender.TARGET, Sender.ANY)


def shared_contracts(
    passage: Passage, end: Home, stated: Iterable[str]
) -> Iterator[tuple[str, Contract, Contract]]:
    """Yield (name, initiator's version, target's version) of the contracts that a flow can use."""
    for name in stated or end.database.services[passage.flow.to].contracts:
        here, there = contract_of(passage.begins.database, name), contract_of(end.database, name)
        if name not in SYSTEM_CONTRACTS and here is not None and there is not None:
            yield name, here, there


def _finding(
    at: Home, source: Source, message: str, remedy: str,
    severity: Severity = Severity.ERROR, **evidence: object,
) -> Finding:  # fmt: skip
    return finding("TA-31", severity, at, source, message, remedy, **evidence)
