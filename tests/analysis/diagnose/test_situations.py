"""Situations of users from forum threads, articles and documentation, each with its source.

A row states what the user saw, as changes of a snapshot, and the answer that the source gives: the
cause, and words of its remedy. The inputs contain what the source shows, and no more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.analysis.diagnose import diagnose
from streams.system_names import EVENT_NOTIFICATION_SERVICE
from streams.topology.snapshot import load_snapshot
from tests.analysis.diagnose.test_causes import (
    TO_B,
    TRIGGERS,
    Change,
    a,
    b,
    both,
    bound,
    database,
    misspelt,
    off,
    off_here,
    route,
    row,
    server,
    side,
    status,
    stuck,
    target_here,
)
from tests.analysis.diagnose.test_leaks import far
from tests.analysis.diagnose.test_queues import NO_ACTIVATION, monitor, queue
from tests.analysis.diagnose.texts import text
from tests.snapshots import (
    NOW,
    Document,
    broker_guid,
    documents,
    endpoint,
    guid,
    message,
    moment,
    part,
    write_json,
)
from tests.topology.build import shipped

DAY = 86400.0
TO_A = broker_guid("DatabaseA")
RESET = "10054(An existing connection was forcibly closed by the remote host.)"
REFUSED = "10061(No connection could be made because the target machine actively refused it.)"
SILENT = "10060(A connection attempt failed because the connected party did not respond.)"
DOCS = "https://learn.microsoft.com/sql/database-engine/service-broker/"
ROUTING = DOCS + "troubleshooting-routing-and-message-delivery"
RUSANU = "https://rusanu.com/"
DIALOGS = RUSANU + "2005/12/20/troubleshooting-dialogs/"
MONITORS = RUSANU + "2008/08/03/understanding-queue-monitors/"
RAINS = RUSANU + "2007/11/10/when-it-rains-it-pours/"
WENTZEL = "https://davewentzel.com/content/service-broker-demystified-"
GITHUB = "https://github.com/"
MSSQLTIPS = "https://www.mssqltips.com/sqlservertip/"
KML = "http://kmlstudy.blogspot.com/2007/07/service-broker-between-two-sql-servers.html"
ENDS = "https://learn.microsoft.com/sql/t-sql/statements/end-conversation-transact-sql"


def nothing(found: dict[str, Document]) -> None:
    a(found).update(transmission_queue=[], conversation_endpoints=[])


def arrived(found: dict[str, Document]) -> None:
    b(found)["conversation_endpoints"] = [far("d1", receive_sequence=1, far_broker_instance=TO_A)]


def ends_of_targets(count: int, state: str, **more: Any) -> Change:
    rows = [
        far(f"d{n}", state, age=30 * DAY, far_broker_instance=TO_A, **more) for n in range(count)
    ]
    return both(nothing, lambda found: b(found).update(conversation_endpoints=rows))


def idle(found: dict[str, Document]) -> None:
    ends_of_targets(200, "CO")(found)
    a(found)["conversation_endpoints"] = [
        endpoint(f"d{n}", "CO", 30 * DAY, far_broker_instance=TO_B) for n in range(200)
    ]


def mail(found: dict[str, Document]) -> None:
    """Database Mail: its queue in msdb is off, and messages for it wait."""
    nothing(found)
    msdb = part(found["ServerA"], "msdb")
    for number, name in ((65540, "Internal"), (65541, "External")):
        at = {"service_id": number, "service_queue_id": number}
        msdb["services"].append({"name": f"{name}MailService", **at})
        one = {"name": f"{name}MailQueue", "object_id": number, "schema_id": 1}
        msdb["service_queues"].append({**one, "is_receive_enabled": name == "Internal"})
    off_ = text(9617, "ExternalMailQueue")
    msdb["transmission_queue"] = [
        message("m", "ExternalMailService", off_, from_service_name="InternalMailService")
    ]


def notifications(found: dict[str, Document]) -> None:
    """The database of an event notification's service was dropped long ago."""
    nothing(found)
    gone = {"from_service_name": EVENT_NOTIFICATION_SERVICE, "to_broker_instance": guid("gone")}
    part(found["ServerA"], "msdb")["transmission_queue"] = [
        message(f"e{n}", "BingoService", text(9796) if n % 2 else "", 30 * DAY, **gone)
        for n in range(300)
    ]


def no_msdb_route(found: dict[str, Document]) -> None:
    part(found["ServerB"], "msdb")["routes"] = []
    b(found).update(services=[], service_queues=[])
    server("ServerB", "service_broker_endpoints", is_message_forwarding_enabled=True)(found)
    route(broker_instance=None)(found)


def not_forwarding(found: dict[str, Document]) -> None:
    no_msdb_route(found)
    server("ServerB", "service_broker_endpoints", is_message_forwarding_enabled=False)(found)
    part(found["ServerB"], "msdb")["routes"] = [
        {"name": "On", "remote_service_name": "TargetService", "address": "tcp://ServerC:4022"}
    ]


def failed_over(found: dict[str, Document]) -> None:
    group = [{"database_id": 5, "mirroring_guid": guid("g"), "mirroring_role": 1}]
    found["ServerB"]["database_mirroring"] = group
    found["ServerA"]["dm_broker_connections"] = [{"state": 4, "login_state": 12}]


def disconnected(found: dict[str, Document]) -> None:
    nothing(found)
    a(found)["conversation_endpoints"] = [endpoint("d", "DO", 3 * DAY, far_broker_instance=TO_B)]
    del found["ServerB"]


def parked(found: dict[str, Document]) -> None:
    """A reply waits in the database of the initiator, whose queue is off."""
    row(to_service_name="InitiatorService", from_service_name="TargetService",
        conversation_handle=guid("another"))(found)  # fmt: skip
    a(found)["service_queues"][1].update(is_receive_enabled=False, is_enqueue_enabled=False)
    status(text(9617, "InitiatorQueue"))(found)


def renewed(found: dict[str, Document]) -> None:
    """The initiator's database has a new id, and a reply names the old one."""
    nothing(found)
    database("ServerA", service_broker_guid=guid("new"))(found)
    b(found)["routes"][1]["broker_instance"] = guid("new")
    reply = {"from_service_name": "TargetService", "to_broker_instance": TO_A}
    b(found)["transmission_queue"] = [message("r", "InitiatorService", **reply)]


def own_certificate(found: dict[str, Document]) -> None:
    bound(False)(found)
    a(found)["certificates"].append(
        {"name": "Own", "principal_id": 1, "subject": "Own", "expiry_date": moment(NOW - 3600)}
    )


SITUATIONS: dict[str, tuple[str, Change, str, str]] = {
    "delivery is off, and the status is empty": (
        ROUTING, off("ServerA"), "delivery-off", "SET ENABLE_BROKER"),
    "ENABLE_BROKER never ends": (
        RUSANU + "2006/01/30/how-long-should-i-expect-alter-databse-set-enable_broker-to-run/",
        off("ServerA"), "delivery-off", "WITH ROLLBACK IMMEDIATE"),
    "the route's name differs in case": (
        ROUTING, both(route(remote_service_name="targetservice"), status(text(9796))),
        "route-name-differs", "SERVICE_NAME"),
    "the route names another broker id": (
        ROUTING, both(row(to_broker_instance=guid("old")), status(text(9795))),
        "route-broker-differs", "BROKER_INSTANCE"),
    "the route has expired": (
        ROUTING, both(route(lifetime=moment(NOW - 60)), status(text(9796))),
        "route-expired", "new LIFETIME"),
    "no endpoint": (
        ROUTING, both(lambda found: found["ServerA"].update(service_broker_endpoints=[]),
                      status(text(9666, "Service Broker"))),
        "no-endpoint", "CREATE ENDPOINT"),
    "the route leads to port 1433": (
        ROUTING, both(route(address="tcp://Other:1433"), status(text(9755, RESET))),
        "wrong-port", "LISTENER_PORT"),
    "one endpoint requires encryption": (
        ROUTING, both(server("ServerB", "service_broker_endpoints", encryption_algorithm=0),
                      status(text(9755, RESET))),
        "encryption-mismatch", "ENCRYPTION = REQUIRED"),
    "a typing error in the service's name": (
        ROUTING, both(misspelt, status(text(9753))), "service-not-there", "Correct the name"),
    "Database Mail, its queue is off": (
        "https://blogs.msdn.microsoft.com/sqlserverfaq/2010/03/18/database-mail-failing-with-the-"
        "service-queue-externalmailqueue-is-currently-disabled-message/", mail, "queue-off",
        "WITH STATUS = ON"),
    "a poison message": (
        MSSQLTIPS + "2309/sql-server-service-broker-poison-message-handling/",
        both(nothing, queue(9, is_receive_enabled=False)), "queue-disabled", "leave its loop"),
    "no route back": (
        DIALOGS, both(lambda found: b(found)["routes"].pop(), arrived), "no-way-back",
        "CREATE ROUTE in the target"),
    "a typing error in the route back": (
        DIALOGS, both(lambda found: b(found)["routes"][1].update(address="tcp://ServerA:4023"),
                      arrived),
        "no-way-back", "ALTER ROUTE"),
    "a forwarder without a route in msdb": (
        DIALOGS, no_msdb_route, "lost-on-the-way", "in msdb of that instance"),
    "the owner is unknown after a move": (
        "http://www.btburnett.com/2008/05/sql-server-2005-service-broker-error-15517.html",
        both(target_here, status(text(28005, 15517, 1, text(15517, "dbo")))),
        "database-owner", "ALTER AUTHORIZATION"),
    "the owner differs from that in master": (
        "public scripts for the databases custodian and WideWorldImporters",
        both(target_here, status(text(28005, 33009, 2, text(33009, "Shop", "Shop")))),
        "database-owner", "TO [sa]"),
    "no open master key while enqueueing": (
        "a public script that enables the broker of the database Notifications",
        both(target_here, status(text(28005, 15581, 7, text(15581)))),
        "master-key", "ADD ENCRYPTION BY SERVICE MASTER KEY"),
    "the master key of a database": (
        RAINS, status(text(28054, "tempdb", 25)), "master-key", "CREATE MASTER KEY"),
    "session keys between databases": (
        WENTZEL + "encryption-weirdness/", both(target_here, status(text(28050))),
        "master-key", "ENCRYPTION = OFF"),
    "a user without a certificate": (
        "https://stackoverflow.com/questions/2599839", status(text(9731, 5)), "certificate",
        "needs the target's public key"),
    "no remote service binding": (
        KML, status(text(9727)), "no-binding", "CREATE REMOTE SERVICE BINDING"),
    "no CONNECT permission": (
        KML, status(text(28034, "VIP\\SQLagent", 84)), "connect-denied", "GRANT CONNECT"),
    "the endpoint's certificate has expired": (
        "http://www.andrewing.co.uk/sql-server-service-broker-sssb/",
        status(text(28047, "Service Broker", text(28036, "Certificate expired", 85))),
        "authentication", "AUTHENTICATION = CERTIFICATE"),
    "acknowledged rows stay after a restart": (
        "https://www.sqlservercentral.com/?p=11257", arrived, "acknowledgement-lost",
        "DISABLE_BROKER"),
    "a copy on the same instance": (
        WENTZEL + "set-enable_broker-vs-new_broker/", TRIGGERS["sender-id-in-use"][0],
        "sender-id-in-use", "NEW_BROKER"),
    "closed endpoints for months": (
        RUSANU + "2014/03/31/how-to-prevent-conversation-endpoint-leaks/",
        ends_of_targets(500, "CD", security_timestamp="1900-01-01T00:00:00"),
        "closed-not-purged", "target end the dialog first"),
    "48 million disconnected endpoints": (
        "https://blogs.msdn.microsoft.com/sqlsakthi/2011/04/04/"
        "service-broker-fire-and-forget-scenario-and-memory-allocation-failure/",
        ends_of_targets(1000, "DI"),
        "not-ended-here", "END CONVERSATION"),
    "conversations fill tempdb": (
        "https://cegal.com/en/tech-blog/when-service-broker-fills-your-tempdb", idle,
        "never-ended", "should END CONVERSATION"),
    "event notifications fill msdb": (
        GITHUB + "epam/Indigo/issues/352", notifications, "notified-service-gone",
        "WITH CLEANUP"),
    "an activated procedure without RECEIVE": (
        "https://www.sqlpassion.at/archive/2012/07/03/service-broker-adventures-stucked-queue-"
        "monitors/", both(nothing, queue(50), monitor("NOTIFIED")),
        "reader-does-not-receive", "(STATUS = OFF), and again (STATUS = ON)"),
    "activation is off": (
        MONITORS, both(nothing, queue(50, is_activation_enabled=False)), "not-activated",
        "STATUS = ON"),
    "no queue readers": (
        MONITORS, both(nothing, queue(50, max_readers=0)), "not-activated", "MAX_QUEUE_READERS"),
    "CLEANUP has ended the event notifications": (
        "https://blog.maskalik.com/sql-server-service-broker/troubleshooting-external-activation/",
        both(nothing, queue(500, **NO_ACTIVATION)), "no-reader", "event notification"),
    "the queue of an application that is gone": (
        GITHUB + "IsNemoEqualTrue/monitor-table-change-with-sqltabledependency/issues/161",
        both(nothing, queue(1_250_000, **NO_ACTIVATION)), "no-reader", "DROP its services"),
    "retained messages": (
        DOCS + "message-retention",
        both(nothing, queue(500, is_retention_enabled=True), monitor("INACTIVE")),
        "retained", "RETENTION = OFF"),
    "the target has a new broker id": (
        "https://nakulvachhrajani.com/2013/09/16/"
        "0295-sql-server-database-restore-manually-enabling-service-broker-msg-9772/",
        both(database("ServerB", service_broker_guid=guid("new")), row(to_broker_instance=TO_B),
             side(far_broker_instance=TO_B)),
        "stale-broker-id", "begin a new one"),
    "the initiator has a new broker id": (
        DOCS + "managing-service-broker-identities", renewed, "route-broker-differs",
        "WITH CLEANUP"),
    "a failover of the target's group": (
        "https://learn.microsoft.com/archive/blogs/alwaysonpro/"
        "making-service-broker-application-highly-available-with-alwayson",
        failed_over, "former-primary", "STATE = STOPPED"),
    "the far side is gone for good": (ENDS, disconnected, "end-not-acknowledged", "WITH CLEANUP"),
    "a certificate is not valid yet": (
        RUSANU + "2008/08/25/certificate-not-yet-valid/", status(text(28024, 1)), "certificate",
        "START_DATE"),
    "the service's certificate has expired": (
        RUSANU + "2008/11/26/replacing-service-certificates-that-are-near-expiration/",
        own_certificate, "certificate", "later EXPIRY_DATE"),
    "the owner of the service has no certificate": (
        DOCS + "determining-the-dialog-security-type", bound(False), "certificate",
        "certificate with a private key"),
    "the private key has a password": (
        DOCS + "certificates-for-dialog-security", status(text(9737, 1)), "certificate",
        "master key encrypts the owner's private key"),
    "forwarding is off": (
        DOCS + "how-to-activate-service-broker-message-forwarding-transact-sql", not_forwarding,
        "forwarding-off", "MESSAGE_FORWARDING = ENABLED"),
    "replies for a disabled queue": (
        DOCS + "starting-and-stopping-the-queue", parked, "queue-off", "WITH STATUS = ON"),
    "no SEND permission": (
        DIALOGS, lambda found: b(found).update(database_permissions=[]), "send-denied",
        "GRANT SEND"),
    "the target's broker is off": (
        "Microsoft, KB 2298248", off_here, "target-broker-off", "SET ENABLE_BROKER"),
    "a firewall": (
        "the documentation of Configuration Manager, SQL Server configuration",
        status(text(9754, SILENT)), "connect-failed", "firewall"),
    "networking is paused": (
        DOCS + "how-to-pause-service-broker-networking-transact-sql",
        both(server("ServerB", "service_broker_endpoints", state=1), status(text(9754, REFUSED))),
        "next-hop-stopped", "STATE = STARTED"),
    "the database was left in single-user mode": (
        "the documentation of 28075",
        both(database("ServerA", user_access=1), status(text(28075))), "database-closed",
        "MULTI_USER"),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_answer_of_the_source_is_given(tmp_path: Path, name: str) -> None:
    """The first answer that is a problem, or else the first one."""
    _, change, code, remedy = SITUATIONS[name]
    found = documents(shipped("two_brokers"))
    stuck(found)
    change(found)
    first = diagnose(load_snapshot(write_json(tmp_path, found)), NOW).found[0]
    assert first.cause.code == code
    assert remedy in first.cause.remedy


def test_each_situation_has_a_source() -> None:
    assert len(SITUATIONS) >= 40
    assert all(source for source, *_ in SITUATIONS.values())
