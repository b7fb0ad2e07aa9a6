"""DDL that the engine refuses, and what happens to a database that is restored or set.

A test says with ``shows`` which rule it is evidence of.
"""

from __future__ import annotations

from tests.routing.rulings import DOCUMENTED, ERRORS, NOT_EMULATED, OURS, Ruling

ARGUMENTS = "RESTORE arguments"
IDENTITIES = "Managing Service Broker Identities"
OPTIONS = "ALTER DATABASE SET options"
QUEUE = "CREATE QUEUE"
SERVICE = "CREATE SERVICE"

DDL = (
    Ruling("L1", "CREATE ROUTE and ALTER ROUTE with invalid clauses are refused (8412, 8413, 9609, "
           "9659 to 9662, 9743 to 9747).", DOCUMENTED, f"CREATE ROUTE; ALTER ROUTE; {ERRORS}"),
    Ruling("L2", "DROP of a message type, contract, queue or service that other objects use is "
           "refused (3716).", f"{DOCUMENTED}; the number is our choice",
           "DROP MESSAGE TYPE; DROP CONTRACT; DROP QUEUE; DROP SERVICE"),
    Ruling("L3", "A contract that names a message type twice (8403), and a service that names a "
           "contract twice (8404), are refused.", DOCUMENTED, ERRORS),
    Ruling("L4", "A queue with ACTIVATION and no procedure is refused (9614); MAX_QUEUE_READERS is "
           "0 to 32767.", DOCUMENTED, f"{QUEUE}; {ERRORS}"),
    Ruling("L5", "QUEUE_ACTIVATION notifications and an activated procedure exclude each other "
           "(9718).", DOCUMENTED, ERRORS),
    Ruling("L6", "A second remote service binding for a service is refused (9619).",
           DOCUMENTED, ERRORS),
    Ruling("L7", "A second broker priority with the same criteria is refused (33303).",
           DOCUMENTED, ERRORS),
    Ruling("L8", "A service on a missing queue, and a priority for a missing contract or service, "
           "are refused (15151).", f"{DOCUMENTED}; the number is our choice",
           f"{SERVICE}; CREATE BROKER PRIORITY"),
    Ruling("L9", "The name of a queue must not begin with #; a name has at most 128 characters "
           "(103).", f"{DOCUMENTED}; for # it is our choice", ERRORS),
    Ruling("L10", "A service or contract may be named ANY, but check advises against it.",
           DOCUMENTED, f"{SERVICE}; CREATE CONTRACT"),
    Ruling("L11", "CREATE QUEUE, ALTER QUEUE and DROP QUEUE with three parts concern the named "
           "database.", DOCUMENTED, QUEUE),
    Ruling("L12", "An instance has at most one endpoint FOR SERVICE_BROKER.",
           DOCUMENTED, "CREATE ENDPOINT"),
    Ruling("L13", "An object that no script creates is no error if the scripts show only a part of "
           "its database.", OURS),
    Ruling("L14", "A procedure, function or trigger that is not the first statement of its batch "
           "is refused (111). Reported only in scripts that use GO, and the batch is nevertheless "
           "applied.", f"{DOCUMENTED}; the number is our choice", "Rules for Using Batches"),
    Ruling("L15", "A queue of RECEIVE and an activated procedure that no script creates are "
           "reported if the scripts create other queues, or other procedures that receive.", OURS),
)  # fmt: skip
RESTORE = (
    Ruling("T1", "RESTORE ... WITH ENABLE_BROKER, NEW_BROKER or ERROR_BROKER_CONVERSATIONS acts as "
           "ALTER DATABASE with this option.", DOCUMENTED, ARGUMENTS),
    Ruling("T2", "RESTORE without such an option leaves delivery off in the restored database. "
           "Scripts do not contain the backup, so the statement is listed as skipped.",
           NOT_EMULATED, ARGUMENTS),
    Ruling("T3", "CREATE DATABASE ... FOR ATTACH WITH these options acts likewise.",
           DOCUMENTED, "CREATE DATABASE"),
    Ruling("T4", "NEW_BROKER gives the database another broker id; ENABLE_BROKER, DISABLE_BROKER "
           "and ERROR_BROKER_CONVERSATIONS keep it.", DOCUMENTED, f"{IDENTITIES}; {OPTIONS}"),
    Ruling("T5", "In a read-only or single-user database, the broker does not work although it is "
           "enabled (28014, 28015); NEW_BROKER fails in a read-only database (9775).",
           DOCUMENTED, ERRORS),
    Ruling("T6", "Two active databases of an instance must not have the same broker id (9723, "
           "9772).", DOCUMENTED, f"{IDENTITIES}; {ERRORS}"),
)  # fmt: skip
