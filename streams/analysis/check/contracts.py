"""Contracts on both sides of a flow (TA-31)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.contracts import (
    contracts,
    incomplete_contract,
    incomplete_service,
    unsendable,
)
from streams.analysis.objects import user_databases
from streams.topology import Finding, Severity


def unusable(estate: Estate) -> Iterator[Finding]:
    """Find flows without a contract that is valid on both sides, and incomplete contracts."""
    for at in user_databases(estate):
        for contract in at.database.contracts.values():
            yield from incomplete_contract(at, contract)
        for service in at.database.services.values():
            yield from incomplete_service(at, service)
        for procedure in at.database.procedures.values():
            yield from unsendable(at, procedure)
    for passage in passages(estate):
        yield from contracts(estate, passage)


CHECKS = (
    Check(
        "TA-31",
        "No contract that both sides can use",
        (Severity.ERROR, Severity.WARNING),
        "reference 1.1, 4.10",
        "A dialog needs a contract that exists in the initiator's database and that the target's "
        "service accepts. Each side may send only the message types that its contract allows. If "
        "something is missing, BEGIN DIALOG or SEND fails, or the target replies with an Error "
        "that ends the dialog. The finding is a warning if contracts with the same name differ and "
        "the contract of the flow is unknown, or if the scripts of a database show a contract but "
        "no message type, or a service but no contract.",
        "Create the same message types and contract on both sides, and let the service accept the "
        "contract.",
        unusable,
    ),
)
