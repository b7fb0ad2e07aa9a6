"""Dialogs that cannot be secured (TA-48), and senders without SEND permission (TA-49)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.hazards.security import security
from streams.topology import Finding, Severity


def _of_code(estate: Estate, code: str) -> Iterator[Finding]:
    return (found for found in security(estate, passages(estate)) if found.code == code)


CHECKS = (
    Check(
        "TA-48",
        "A dialog with another database cannot be secured",
        (Severity.ERROR,),
        "reference 4.14, 8.2, errors 9727, 9731, 9733, 9737, 9767, 28050 and 28051",
        "Dialogs are encrypted unless BEGIN DIALOG says ENCRYPTION = OFF. To another instance, an "
        "encrypted dialog needs a remote service binding in the initiator's database, whose user "
        "owns a certificate of the target. Without ANONYMOUS = ON, the owner of the initiator's "
        "service also needs a certificate with a private key that the database master key "
        "protects. If a binding exists, the dialog is encrypted even with ENCRYPTION = OFF. An "
        "encrypted dialog between two databases, even of one instance, needs a master key in both. "
        "Otherwise, SQL Server keeps the messages in the transmission queue. Objects that the "
        "topology does not mention are only missing if their statements would be in one of its "
        "scripts. TA-42 reports certificates that are not valid now.",
        "Create the missing object, or begin the dialogs WITH ENCRYPTION = OFF if no binding "
        "exists, and grant SEND to public at the target.",
        partial(_of_code, code="TA-48"),
    ),
    Check(
        "TA-49",
        "The initiator has no SEND permission on the target's service",
        (Severity.ERROR,),
        "reference 4.14, 8.2, error 11215",
        "A message from another instance needs the SEND permission on the target's service. "
        "Without encryption, or with an anonymous binding, the initiator acts as public; with full "
        "security, as the user that owns its certificate in the target's database. A DENY "
        "overrides every GRANT. Otherwise, the target discards the message and returns Error "
        "-8494. Dialogs inside an instance are not checked, because they use the permissions of "
        "logins.",
        "GRANT SEND ON SERVICE to public or to that user, and REVOKE a DENY.",
        partial(_of_code, code="TA-49"),
    ),
)
