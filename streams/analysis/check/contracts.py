"""Contracts on both sides of a flow (TA-31)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.contracts import contracts, incomplete_contract, incomplete_service
from streams.analysis.objects import user_databases
from streams.topology import Finding, Severity


def unusable(estate: Estate) -> Iterator[Finding]:
    """Find flows for which no contract holds on both sides, and contracts that lack something."""
    for at in user_databases(estate):
        for contract in at.database.contracts.values():
            yield from incomplete_contract(at, contract)
        for service in at.database.services.values():
            yield from incomplete_service(at, service)
    for passage in passages(estate):
        yield from contracts(estate, passage)


CHECKS = (
    Check(
        "TA-31",
        "No contract that both sides can use",
        (Severity.ERROR, Severity.WARNING),
        "reference 1.1, 4.10",
        "A dialog begins under a contract that exists in the initiator's database and that the "
        "target's service accepts; each side may send the message types that its contract gives "
        "it. Where one of that is missing, BEGIN DIALOG or SEND fails, or the target answers with "
        "an Error and the dialog is over. A warning: contracts of one name differ, and nothing "
        "tells whether the flow uses this one.",
        "Create message types and contract alike on both sides, and let the service accept it.",
        unusable,
    ),
)
