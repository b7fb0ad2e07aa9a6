"""Causes in the security of dialogs and databases, by the status or by the snapshot itself."""

from __future__ import annotations

from collections.abc import Collection

from streams.analysis.diagnose.case import Case, Target, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.sender import by_status, status_of
from streams.analysis.known import Home
from streams.analysis.security.decide import decide_security
from streams.analysis.security.values import Dialog
from streams.topology import NOWHERE

_CERTIFICATE = (9728, 9730, 9731, 9733, 9734, 9735, 9737, 9767, 9768, 28011, 28024, 28025)
_MASTER_KEY = (15581, 28050, 28051, 28054, 28058)


def insecure(case: Case, errors: Collection[int]) -> Evidence | None:
    """Return an obstacle with one of these errors, if no status explains an old message.

    A target that has the dialog has accepted its security.
    """
    service = case.message.from_service
    if not case.initiator or not case.old or case.status.number is not None or service is None:
        return None
    for target in case.targets:
        live = case.snapshot.live.get(target.instance.name)
        if live is None or "conversation_endpoints" in live.missing or case.far_endpoint(target):
            continue
        for obstacle in decide_security(_dialog(case, service, target), case.estate.now).obstacles:
            if obstacle.error in errors:
                return (placed(obstacle.why, obstacle.source),)
    return None


def _dialog(case: Case, service: str, target: Target) -> Dialog:
    """Return the message's dialog; with a binding, it is encrypted, and otherwise unknown."""
    to = case.message.to_service
    bound = any(binding.service == to for binding in case.database.bindings)
    begins, end = Home(case.instance, case.database), Home(target.instance, target.database)
    return Dialog(begins, service, to, end, bound or None, NOWHERE)


CAUSES: tuple[Cause[Case], ...] = (
    by_status(
        "no-binding", Stage.SECURITY, "Encryption is on, and no remote service binding exists",
        (9727,), "reference 4.14, 8.2",
        "CREATE REMOTE SERVICE BINDING for the target service, or BEGIN DIALOG ... WITH ENCRYPTION "
        "= OFF; the default is ON. Existing dialogs keep their setting.",
    ),
    Cause(
        "certificate", Stage.SECURITY, "A certificate of the dialog is missing or not valid",
        _CERTIFICATE, "reference 4.14",
        "Expired (28025): CREATE CERTIFICATE for the same user with a later EXPIRY_DATE, and give "
        "its public key to the other side; the valid certificate that expires last is used. Not "
        "yet valid (28024): wait, or create it with an earlier START_DATE; dates are in UTC. None "
        "(9731; sys.database_principals has the user's name): the user of the remote service "
        "binding needs the target's public key, and the owner of the initiator's service a "
        "certificate with a private key, whose public key the target has. Also check ACTIVE FOR "
        "BEGIN_DIALOG, the serial numbers on both sides, and that the master key encrypts the "
        "owner's private key.",
        lambda case: insecure(case, _CERTIFICATE) or status_of(case, _CERTIFICATE),
    ),
    Cause(
        "master-key", Stage.SECURITY, "The database master key is missing or cannot be opened",
        _MASTER_KEY, "reference 4.14",
        "CREATE MASTER KEY in the database; after a restore on another server: OPEN MASTER KEY and "
        "ALTER MASTER KEY ADD ENCRYPTION BY SERVICE MASTER KEY. BEGIN DIALOG ... WITH ENCRYPTION "
        "= OFF needs no key, unless the service has a remote service binding.",
        lambda case: insecure(case, _MASTER_KEY) or status_of(case, _MASTER_KEY),
    ),
    # Sources: the documentation of 15404 and 15517, the text of 33009, and for TRUSTWORTHY the
    # documentation's tutorial "Completing a conversation between databases".
    by_status(
        "database-owner", Stage.SECURITY, "The owner of a database is not a valid login",
        (15404, 15517, 28020, 33009), "reference 4.6",
        "ALTER AUTHORIZATION ON DATABASE::... TO [sa], or to another login of SQL Server, for the "
        "database that the message names; if it names none, for the target's and the sender's. "
        "The owner is often unknown after a restore on another server. 15404: SQL Server's service "
        "account cannot look up the owner's Windows account.",
    ),
    by_status(
        "database-access", Stage.SECURITY,
        "A database of the same instance does not trust the sender's database",
        (916,), "reference 4.6",
        "Between databases of one instance: ALTER DATABASE ... SET TRUSTWORTHY ON in the sender's "
        "database, and ALTER AUTHORIZATION ON DATABASE::... to an owner that is a login with "
        "access to the target database. Without TRUSTWORTHY, use certificates and a remote service "
        "binding, as between instances.",
    ),
)  # fmt: skip
