"""Causes at the target: it does not accept the message, or the acknowledgement does not return."""

from __future__ import annotations

from streams.analysis.diagnose.brokers import SHARED
from streams.analysis.diagnose.case import Case, Target, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.security import insecure
from streams.analysis.diagnose.sender import by_status, status_of
from streams.analysis.explain_text import failure_text
from streams.analysis.known import Home
from streams.analysis.paths.network import Disposition
from streams.analysis.security.values import SecurityError
from streams.topology import Securable, accepts, queue_of

_PARKED = (9617, 11219)
_DENIED = (8494, 11215, 28056)
_CLOSED = (28012, 28014, 28015, 28016, 28018)
_CLASSIFIED = (9750, 9770, 9783, 9785, 9793, 9795, 9796)


def _closed(case: Case) -> Evidence | None:
    for target in case.targets:
        why = case.closed(Home(target.instance, target.database))
        if why is not None and str(target) != case.at:
            return (placed(f"{target} is {why}", target.database.source),)
    return status_of(case, _CLOSED)


def _queue_off(case: Case) -> Evidence | None:
    for target in case.targets:
        queue = queue_of(target.database, case.message.to_service)
        here = target.instance.name == case.instance.name
        if queue is not None and not queue.status and (here or case.old):
            off = placed(f"queue {queue.name} of {target} is disabled", queue.source)
            parked = "the message came from another instance and is parked here"
            return (off, parked) if case.parked else (off,)
    return status_of(case, _PARKED)


def _contract(case: Case) -> Evidence | None:
    contract = case.message.contract
    if contract is None or not case.initiator or case.parked:  # a contract is checked before
        return None
    for target in case.targets:
        if not _seen(case, target, "service_contract_usages"):
            continue
        if not accepts(target.database, case.message.to_service, contract):
            service = target.database.services.get(case.message.to_service)
            source = target.database.source if service is None else service.source
            refused = f"{case.message.to_service} of {target} does not accept '{contract}'"
            return (placed(refused, source),)
    return None


def _seen(case: Case, target: Target, view: str) -> bool:
    live = case.snapshot.live.get(target.instance.name)
    inside = target.database.name in (live.unread if live else {})
    return live is not None and view not in live.missing and not inside


def _denied(case: Case) -> Evidence | None:
    for target in case.targets:
        across = target.instance.name != case.instance.name
        if across and case.initiator and _seen(case, target, "database_permissions"):
            grants = [
                g
                for g in target.database.grants
                if g.securable is Securable.SERVICE and g.name == case.message.to_service
            ]
            if all(g.denied for g in grants):
                service = target.database.services.get(case.message.to_service)
                named = f"{case.message.to_service} of {target}"
                none = f"no principal has the SEND permission on {named}"
                return (placed(none, target.database.source if not service else service.source),)
    return insecure(case, (SecurityError.NOT_PERMITTED,)) or status_of(case, _DENIED)


def _no_return_path(case: Case) -> Evidence | None:
    if case.parked:  # the message was acknowledged when it was stored here
        return None
    for target in case.targets:
        if target.acknowledged or target.back is None:
            continue
        back = target.back
        how = failure_text(back.ending, back.hops[-1][1])
        found = [f"the acknowledgement from {target} does not reach {case.at}: {how}"]
        there = case.far_endpoint(target)
        if there is not None:
            arrived = f"the message has arrived: {target} has the dialog, {there.state.value}"
            found.append(placed(arrived, there.source))
        return tuple(found)
    return None


def _arrived(case: Case) -> Evidence | None:
    sequence = case.message.sequence
    if not case.old or case.parked or not case.status.empty or sequence is None:
        return None
    for target in case.targets:
        there = case.far_endpoint(target)
        if there is not None and sequence < (there.receive_sequence or 0):
            has = f"message {sequence} has arrived: {target} expects {there.receive_sequence}"
            return (placed(has, there.source),)
    return None


def _obstacle_gone(case: Case) -> Evidence | None:
    if case.status.number not in _CLASSIFIED or case.failure is not None:
        return None
    return (case.decided,)


def _beyond(case: Case) -> Evidence | None:
    ending = case.failed_end
    if ending is None or ending.disposition is not Disposition.UNKNOWN:
        return None
    # A young message that has not failed is still in flight.
    return (case.failed_text(),) if case.old or not case.status.empty else None


def _former_primary(case: Case) -> Evidence | None:
    online = any(connection.online for connection in case.live.connections)
    if not (case.old and case.status.empty and case.leaves and online):
        return None
    for target in case.targets:
        mirror = target.database.mirror
        if mirror is None or not _seen(case, target, "conversation_endpoints"):
            continue
        if case.far_endpoint(target) is None:
            now = f"{target} is the principal of {mirror.pair} now, and does not have the dialog"
            return (placed(now, target.database.source), f"{case.at} has an open connection")
    return None


def _in_flight(case: Case) -> Evidence | None:
    if case.old or case.status.unknown or case.status.number not in (None, 9749):
        return None
    return ("the message is recent, and no error is known: the next retry is within a minute",)


def _unexplained(case: Case) -> Evidence | None:
    return (case.decided,)


CAUSES: tuple[Cause[Case], ...] = (
    Cause(
        "target-closed", Stage.ACCEPTANCE, "The target database cannot accept messages",
        _CLOSED, "reference 1.5, 4.6",
        "Enable delivery there (ENABLE_BROKER), and bring the database online, READ_WRITE and "
        "MULTI_USER. A mirror or secondary accepts no messages: route to the principal, or to the "
        "group's listener.",
        _closed,
    ),
    Cause(
        "queue-off", Stage.ACCEPTANCE, "The target's queue is disabled",
        _PARKED, "reference 4.6, 4.11",
        "Find the poison message first: five rollbacks in a row turn a queue off. Then ALTER QUEUE "
        "... WITH STATUS = ON.",
        _queue_off,
    ),
    Cause(
        "contract-refused", Stage.ACCEPTANCE, "The target service does not accept the contract",
        (), "reference 5.3 (8408, TA-31)",
        "ALTER SERVICE ... (ADD CONTRACT ...) at the target; the contract's name must match "
        "exactly.",
        _contract,
    ),
    Cause(
        "send-denied", Stage.ACCEPTANCE, "SEND permission is missing on the target service",
        _DENIED, "reference 4.14 (8494, 11215)",
        "In the target database: GRANT SEND ON SERVICE::... TO public if dialogs are not "
        "encrypted, otherwise TO the user that owns the initiator's certificate in that database.",
        _denied,
    ),
    by_status(
        "enqueue-failed", Stage.ACCEPTANCE, "The message could not be put into the target's queue",
        (28005, 28021), "reference 4.6",
        "28005 names the inner error. For 28021, watch Broker:Message Undeliverable at the "
        "target's instance for a minute: its error is the reason. Check that the owners of both "
        "databases are valid logins, and read the error log.",
    ),
    Cause(
        "no-way-back", Stage.ACKNOWLEDGEMENT, "The message arrives, but acknowledgements do not",
        (), "reference 4.5 (TA-09)",
        "CREATE ROUTE in the target database (not in msdb) to the initiator's service, with the "
        "initiator's broker id and the address of its instance or gateway; or correct the route "
        "that exists with ALTER ROUTE.",
        _no_return_path,
    ),
    # Sources: R. Rusanu, "Troubleshooting dialogs", 3; sqlservercentral.com/?p=11257.
    Cause(
        "acknowledgement-lost", Stage.ACKNOWLEDGEMENT,
        "The message has arrived, but its acknowledgement has not",
        (), "reference 4.5",
        "The target sends acknowledgements on its own connections: check that its instance can "
        "connect to the sender's address and port (Test-NetConnection there; SELECT "
        "GET_TRANSMISSION_STATUS with the target's conversation handle). If this works, and the "
        "sender's database is in an availability group and was restarted, old versions of SQL "
        "Server no longer remove acknowledged messages: take the database out of the group, "
        "DISABLE_BROKER, ENABLE_BROKER, and add it again.",
        _arrived,
    ),
    by_status(
        "target-unreachable", Stage.ACCEPTANCE,
        "The far side does not answer, or rejects the message",
        (9753,), "reference 4.6",
        "The snapshot shows no problem on this side. Take a snapshot of the far instance too, "
        "or watch Broker:Message Undeliverable there.",
    ),
    SHARED,
    Cause(
        "obstacle-gone", Stage.WAITING, "The cause in transmission_status no longer exists",
        (), "reference 4.5",
        "Wait a minute for the next retry.",
        _obstacle_gone, bad=False,
    ),
    Cause(
        "beyond-the-snapshot", Stage.TRANSPORT, "The path leads out of the snapshot",
        (), "reference 2.2 R8",
        "Take a snapshot of the instance at that address too, or describe it in a topology "
        "(--topology).",
        _beyond,
    ),
    # Source: Microsoft, "Making Service Broker application highly available with AlwaysOn".
    Cause(
        "former-primary", Stage.TRANSPORT,
        "A connection may still lead to the former principal of the target",
        (), "reference 2.4",
        "A failover leaves connections to the former principal open. On its instance, run ALTER "
        "ENDPOINT ... STATE = STOPPED, then STATE = STARTED. This closes them; the next connection "
        "goes to the listener or the new principal. If the messages still wait, watch "
        "Broker:Connection and Broker:Message Undeliverable on both sides.",
        _former_primary,
    ),
    Cause(
        "in-flight", Stage.WAITING, "In transit",
        (9749,), "reference 4.5, 4.6",
        "Nothing to do.",
        _in_flight, bad=False,
    ),
    Cause(
        "unexplained", Stage.WAITING, "The snapshot shows no cause",
        (), "reference 4.6",
        "Watch Broker:Message Classify, Broker:Transmission and Broker:Message Undeliverable on "
        "both sides for a minute, and read the error logs.",
        _unexplained,
    ),
)  # fmt: skip
