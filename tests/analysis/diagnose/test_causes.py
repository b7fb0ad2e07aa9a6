"""Every cause of a stuck message: what has it, and the same without it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from streams.analysis.diagnose import CAUSES, Diagnoses, diagnose, diagnoses_text
from streams.analysis.diagnose.text import LISTED
from streams.system_names import EVENT_NOTIFICATION_SERVICE
from streams.topology.snapshot import load_snapshot
from tests.analysis.diagnose.texts import text
from tests.node.evidence import shows
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

Change = Callable[[dict[str, Document]], object]
TO_A, TO_B = broker_guid("DatabaseA"), broker_guid("DatabaseB")


def a(found: dict[str, Document]) -> Document:
    return part(found["ServerA"], "DatabaseA")


def b(found: dict[str, Document]) -> Document:
    return part(found["ServerB"], "DatabaseB")


def stuck(found: dict[str, Document], **more: object) -> None:
    """Put one message of an old dialog into A's transmission queue."""
    a(found)["transmission_queue"] = [message("d1", "TargetService", **more)]  # type: ignore[arg-type]
    a(found)["conversation_endpoints"] = [endpoint("d1")]


def status(written: str) -> Change:
    return lambda found: a(found)["transmission_queue"][0].update(transmission_status=written)


def side(**more: object) -> Change:
    return lambda found: a(found)["conversation_endpoints"][0].update(more)


def row(**more: object) -> Change:
    return lambda found: a(found)["transmission_queue"][0].update(more)


def route(**more: object) -> Change:
    return lambda found: a(found)["routes"][1].update(more)


def server(name: str, view: str, **more: object) -> Change:
    return lambda found: found[name][view][0].update(more)


def database(name: str, **more: object) -> Change:
    """Change the row of sys.databases of the second database, which is the user's."""
    return lambda found: found[name]["databases"][1].update(more)


def only_local(found: dict[str, Document]) -> None:
    a(found)["routes"] = a(found)["routes"][:1]


def no_route(found: dict[str, Document]) -> None:
    a(found)["routes"] = []


def expired(found: dict[str, Document]) -> None:
    a(found)["routes"] = [{**a(found)["routes"][1], "lifetime": moment(NOW - 60)}]


def local_elsewhere(found: dict[str, Document]) -> None:
    """A LOCAL route, the service is here, and the broker id is not."""
    a(found)["routes"] = [{"name": "R", "route_id": 1, "remote_service_name": "TargetService",
                           "broker_instance": TO_B, "address": "LOCAL"}]  # fmt: skip
    a(found)["services"].append({"name": "TargetService", "service_id": 70000,
                                 "service_queue_id": 1000})  # fmt: skip
    row(to_broker_instance=TO_B)(found)


def configuration(found: dict[str, Document]) -> None:
    service = "SQL/ServiceBroker/BrokerConfiguration"
    a(found)["routes"] = [{"name": "BCN", "remote_service_name": service, "address": "LOCAL"}]


def queue_off(found: dict[str, Document]) -> None:
    b(found)["service_queues"][1]["is_receive_enabled"] = False


def no_back(found: dict[str, Document]) -> None:
    b(found)["routes"] = []


def detour(found: dict[str, Document]) -> None:
    """Lead A's messages over B, which does not host the service any more."""
    b(found)["services"] = b(found)["services"][:1]
    part(found["ServerB"], "msdb")["routes"] = [
        {"name": "On", "route_id": 1, "remote_service_name": "TargetService",
         "address": "tcp://ServerC:4022"}
    ]  # fmt: skip


def circle(found: dict[str, Document]) -> None:
    detour(found)
    server("ServerB", "service_broker_endpoints", is_message_forwarding_enabled=True)(found)
    server("ServerA", "service_broker_endpoints", is_message_forwarding_enabled=True)(found)
    part(found["ServerB"], "msdb")["routes"][0]["address"] = "tcp://ServerA:4022"
    part(found["ServerA"], "msdb")["routes"] = [
        {"name": "Back", "route_id": 1, "remote_service_name": "TargetService",
         "address": "tcp://ServerB:4022"}
    ]  # fmt: skip


def misspelt(found: dict[str, Document]) -> None:
    b(found)["services"][1]["name"] = "targetservice"


def dropped(found: dict[str, Document]) -> None:
    detour(found)
    part(found["ServerB"], "msdb")["routes"] = []
    route(broker_instance=None)(found)


def copied(name: str, at: str, **more: object) -> Change:
    """Restore a copy of a database at a server, with the broker id of the original."""

    def change(found: dict[str, Document]) -> None:
        document = next(d for d in found.values() if name in map(str, named(d)))
        row_ = next(r for r in document["databases"] if r["name"] == name)
        copy_ = {**row_, "name": "Copy", "database_id": 7, "is_broker_enabled": True, **more}
        found[at]["databases"].append(copy_)
        empty = {"database_name": "Copy", "transmission_queue": [], "conversation_endpoints": []}
        found[at]["in_database"].append({**copy.deepcopy(part(document, name)), **empty})

    return change


def bound(anonymous: bool = True, **certificate: object) -> Change:
    """Bind the target's service to a user with a certificate, which is valid unless changed."""

    def change(found: dict[str, Document]) -> None:
        a(found).update(
            database_principals=[{"principal_id": 1, "name": "dbo"},
                                 {"principal_id": 5, "name": "TargetUser"}],
            remote_service_bindings=[{"name": "B", "remote_service_name": "TargetService",
                                      "remote_principal_id": 5, "is_anonymous_on": anonymous}],
            certificates=[{"name": "C", "principal_id": 5, "subject": "C",
                           "expiry_date": moment(NOW + 1e6), **certificate}],
        )  # fmt: skip
        for service in a(found)["services"]:
            service["principal_id"] = 1

    return change


def named(document: Document) -> list[str]:
    return [row_["name"] for row_ in document["databases"]]


def off(name: str) -> Change:
    return database(name, is_broker_enabled=False)


def both(*changes: Change) -> Change:
    def change(found: dict[str, Document]) -> None:
        for each in changes:
            each(found)

    return change


def without_services(name: str) -> Change:
    return lambda found: part(found[name], "Copy").update(services=[])


def target_here(found: dict[str, Document]) -> None:
    """Move the target's database to the sender's instance; A's only route is AutoCreatedLocal."""
    only_local(found)
    found["ServerA"]["databases"].append({**found["ServerB"]["databases"][1], "database_id": 6})
    found["ServerA"]["in_database"].append(b(found))
    del found["ServerB"]


def off_here(found: dict[str, Document]) -> None:
    target_here(found)
    found["ServerA"]["databases"][2]["is_broker_enabled"] = False


def denied(found: dict[str, Document]) -> None:
    """A user has GRANT, but public has DENY, which includes the user."""
    granted(found)
    rows = b(found)["database_permissions"]
    rows += [{**one, "grantee_principal_id": 0, "state": "D"} for one in rows]


def granted(found: dict[str, Document]) -> None:
    """Only a user has SEND, not public, as which an anonymous dialog acts."""
    b(found)["database_principals"].append({"principal_id": 6, "name": "Other"})
    for one in b(found)["database_permissions"]:
        one["grantee_principal_id"] = 6


REFUSED = "Connection attempt failed with error: '10061(No connection could be made.)'."
TRIGGERS: dict[str, list[Change]] = {
    "sender-id-in-use": [both(off("ServerA"), copied("DatabaseA", "ServerA"))],
    "delivery-off": [database("ServerA", is_broker_enabled=False)],
    "database-closed": [
        database("ServerA", is_read_only=True),
        status("The broker in the sender's database is in single user mode."),
    ],
    "manager-not-ready": [status("The service broker manager is initializing.")],
    "engine-trouble": [status("An error occurred in dialog transmission: Error: 17, State: 1. x")],
    "peer-ended": [
        side(state="DI"),
        status("Service Broker received an END CONVERSATION message on this conversation."),
    ],
    "dialog-in-error": [
        side(state="ER"),
        status("Service Broker received an error message on this conversation."),
    ],
    "lifetime-over": [side(lifetime=moment(NOW - 1))],
    "route-expired": [expired, route(lifetime=moment(NOW - 60))],
    "route-name-differs": [
        route(remote_service_name="targetservice"),
        route(remote_service_name="TargetService "),
        both(no_route, lambda found: a(found)["routes"].append(
            {"name": "R", "remote_service_name": "targetservice", "address": "tcp://ServerB:4022"}
        )),
    ],
    "route-broker-differs": [row(to_broker_instance=guid("old"))],
    "no-route": [no_route],
    "notified-service-gone": [
        both(only_local, row(from_service_name=EVENT_NOTIFICATION_SERVICE)),
        both(only_local, row(from_service_name=EVENT_NOTIFICATION_SERVICE,
                             to_broker_instance=guid("gone"))),
    ],
    "service-not-here": [only_local, both(only_local, row(to_broker_instance=TO_A))],
    "broker-not-here": [local_elsewhere],
    "asked-for-a-route": [configuration],
    "address-unusable": [
        route(address="ServerB"),
        status("DNS lookup failed with error: '11001(No such host is known.)'."),
    ],
    "no-binding": [status("Dialog security ... there is no remote service binding for it.")],
    "certificate": [
        status("The security certificate bound to principal (Id: 5) has expired."),
        bound(expiry_date=moment(NOW - 1)),
        bound(start_date=moment(NOW + 1)),
        bound(principal_id=1),
        bound(is_active_for_begin_dialog=False),
        bound(anonymous=False),  # the service's owner has no certificate
    ],
    "master-key": [
        status("Could not save a dialog session key. A master key is required."),
        status(text(28005, 15581, 7, text(15581))),
        both(bound(), database("ServerA", is_master_key_encrypted_by_server=False)),
        both(bound(), database("ServerB", is_master_key_encrypted_by_server=False)),
    ],
    "database-owner": [
        status(text(28005, 15517, 1, text(15517, "dbo"))),
        status(text(28005, 33009, 2, text(33009, "Shop", "Shop"))),
        status(text(9736, 15404, 19, text(15404, "CORP\\ann", "0x5"))),
        status("Eine Ausnahme ist aufgetreten. Fehler: 15517, Status: 1."),
        status(text(28020)),
    ],
    "database-access": [
        status(text(28005, 916, 3, text(916, "sa", "Shop"))),
        status(text(916, "sa", "Shop")),
    ],
    "no-endpoint": [
        server("ServerA", "service_broker_endpoints", state=1),
        lambda found: found["ServerA"].update(service_broker_endpoints=[]),
    ],
    "wrong-port": [
        route(address="tcp://ServerB:5022"),
        both(route(address="tcp://Elsewhere:1433"), status(text(9755, "10054(x)"))),
    ],
    "next-hop-stopped": [server("ServerB", "service_broker_endpoints", state=2)],
    "connect-denied": [
        status("Connection handshake failed. The login 'D\\a$' does not have CONNECT permission "
               "on the endpoint. State 84.")
    ],
    "encryption-mismatch": [
        server("ServerB", "service_broker_endpoints", encryption_algorithm=0),
        server("ServerB", "service_broker_endpoints", encryption_algorithm=1),
        status("Connection handshake failed. There is no compatible encryption algorithm."),
    ],
    "authentication": [status("Connection handshake failed. An OS call failed: (8009030c) x.")],
    "connect-failed": [status(REFUSED)],
    "connection-lost": [status("An error occurred while receiving data: '10054(x)'.")],
    "target-id-in-use": [
        both(off("ServerB"), copied("DatabaseB", "ServerB"), without_services("ServerB"),
             row(to_broker_instance=TO_B)),
        both(off("ServerB"), copied("DatabaseB", "ServerA"), row(to_broker_instance=TO_B)),
    ],
    "target-broker-off": [
        off("ServerB"),
        both(off("ServerB"), row(to_broker_instance=TO_B)),
        both(off("ServerB"), route(broker_instance=None)),
        both(off("ServerB"), row(to_broker_instance=TO_B),
             lambda found: found["ServerB"]["in_database"].remove(b(found))),
        off_here,
        both(off_here, row(to_broker_instance=TO_B)),
        status(text(28012, text(28013))),
        both(only_local, status(text(28013))),
    ],
    "forwarding-off": [detour],
    "loop": [circle],
    "stale-broker-id": [
        database("ServerB", service_broker_guid=guid("new")),
        status("The message has been dropped because the target service broker is unreachable."),
    ],
    "service-not-there": [
        misspelt,
        both(misspelt, status(text(9753))),
        both(misspelt, row(to_broker_instance=TO_B)),
    ],
    "lost-on-the-way": [dropped],
    "target-closed": [
        database("ServerB", user_access=1),
        status("The Service Broker in the target database is unavailable: 'x'."),
    ],
    "queue-off": [queue_off, status(text(9617)), status(text(11219))],
    "contract-refused": [row(service_contract_name="Other")],
    "send-denied": [
        lambda found: b(found).update(database_permissions=[]),
        status(text(11215)),
        status(text(28056)),
        denied,
        both(bound(), granted),
    ],
    "enqueue-failed": [
        status(text(28005, 1205, 13, "Transaction (Process ID 7) was deadlocked.")),
        status(text(28021)),
    ],
    "no-way-back": [no_back],
    "acknowledgement-lost": [
        lambda found: b(found).update(conversation_endpoints=[
            endpoint("d1", is_initiator=False, receive_sequence=1,
                     conversation_handle=guid("other handle"))
        ])
    ],
    "target-unreachable": [status("The target service broker is unreachable.")],
    "target-id-shared": [
        both(off_here, copied("DatabaseB", "ServerA"),
             status("The target service name matched a LOCAL route, but there is no service")),
        both(off("ServerB"), copied("DatabaseB", "ServerB")),
        copied("DatabaseB", "ServerB", is_broker_enabled=False),
        copied("DatabaseB", "ServerA"),
    ],
    "obstacle-gone": [status("No route matches the destination service name for this.")],
    "beyond-the-snapshot": [route(address="tcp://Elsewhere:4022")],
    "former-primary": [both(
        lambda found: found["ServerA"].update(dm_broker_connections=[{"state": 4}]),
        lambda found: found["ServerB"].update(database_mirroring=[
            {"database_id": 5, "mirroring_guid": guid("pair"), "mirroring_role": 1}
        ]),
    )],
    "in-flight": [row(enqueue_time=moment(NOW - 5))],
    "unexplained": [row(transmission_status=""), status("Something nobody has ever seen")],
}  # fmt: skip


def diagnosed(folder: Path, *changes: Change) -> Diagnoses:
    found = documents(shipped("two_brokers"))
    stuck(found)
    for change in changes:
        change(found)
    return diagnose(load_snapshot(write_json(folder, found)), NOW)


def codes(diagnoses: Diagnoses) -> set[str]:
    messages = [d for d in diagnoses.found if not d.leak]
    return {d.cause.code for d in messages} | {c.code for d in messages for c in d.also}


def first(diagnoses: Diagnoses) -> str:
    [one] = [d for d in diagnoses.found if not d.leak]
    return one.cause.code


def test_every_cause_has_a_trigger_and_every_trigger_a_cause() -> None:
    assert list(TRIGGERS) == [cause.code for cause in CAUSES]


EACH = [(code, n) for code, changes in TRIGGERS.items() for n in range(len(changes))]


@pytest.mark.parametrize(("code", "number"), EACH)
def test_a_cause_is_found_first(tmp_path: Path, code: str, number: int) -> None:
    found = diagnosed(tmp_path, TRIGGERS[code][number])
    assert first(found) == code
    [one] = [d for d in found.found if not d.leak]
    assert one.evidence and one.count == 1 and one.cause.remedy and one.cause.rule
    assert found.good is not any(d.cause.bad for d in found.found)


@pytest.mark.parametrize("code", [c for c in TRIGGERS if c != "unexplained"])
def test_without_it_a_cause_is_not_found(tmp_path: Path, code: str) -> None:
    assert code not in codes(diagnosed(tmp_path))


def test_a_healthy_snapshot_has_nothing_to_say(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert (diagnoses.found, diagnoses.good) == ((), True)


# --- Security without a status -------------------------------------------------------------------


def arrived(found: dict[str, Document]) -> None:
    b(found)["conversation_endpoints"] = [
        endpoint("d1", is_initiator=False, conversation_handle=guid("other handle"))
    ]


@pytest.mark.parametrize(
    "change",
    [
        bound(),
        both(bound(expiry_date=moment(NOW - 1)), arrived),
        both(bound(expiry_date=moment(NOW - 1)), status(REFUSED)),
        both(bound(expiry_date=moment(NOW - 1)), row(enqueue_time=moment(NOW - 5))),
        both(bound(expiry_date=moment(NOW - 1)), lambda found: found.pop("ServerB")),
        database("ServerA", is_master_key_encrypted_by_server=False),
        granted,
    ],
)
def test_security_is_no_cause(tmp_path: Path, change: Change) -> None:
    """It is valid, or the target has accepted it, or a status, or nothing at all, tells otherwise.

    Without a binding, the snapshot does not show whether the dialog is encrypted.
    """
    assert codes(diagnosed(tmp_path, change)).isdisjoint(
        {"certificate", "master-key", "send-denied"}
    )


# --- Their order ---------------------------------------------------------------------------------


def test_the_first_obstacle_wins_and_later_ones_are_reported(tmp_path: Path) -> None:
    """Delivery is off, and behind that the port is wrong."""
    changes = (database("ServerA", is_broker_enabled=False), side(state="ER"))
    [one] = [d for d in diagnosed(tmp_path, *changes).found if not d.leak]
    assert one.cause.code == "delivery-off"
    assert "dialog-in-error" in [cause.code for cause in one.also]


def test_a_status_that_the_routes_contradict_is_reported_with_both(tmp_path: Path) -> None:
    [one] = diagnosed(tmp_path, status("No route matches the destination"), only_local).found
    assert one.cause.code == "service-not-here"
    assert any("delay the message with 9796" in sentence for sentence in one.evidence)
    assert any("reports 9750" in sentence for sentence in one.evidence)


def test_a_route_name_that_differs_in_case_is_evidence(tmp_path: Path) -> None:
    changes = (no_route, lambda found: a(found)["routes"].append(
        {"name": "R", "route_id": 1, "remote_service_name": "targetservice", "address": "LOCAL"}
    ))  # fmt: skip
    [one] = diagnosed(tmp_path, *changes).found
    assert any("names must match exactly" in sentence for sentence in one.evidence)


def test_one_address_of_two_is_no_obstacle(tmp_path: Path) -> None:
    """The transport falls back on the other one with the next retry."""
    found = documents(shipped("high_availability"))
    stuck(found)
    gateway = sorted(set(found) - {"ServerA", "ServerB"})[0]
    found[gateway]["service_broker_endpoints"][0]["state"] = 1
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert first(diagnoses) == "unexplained"


def test_without_the_routes_the_status_is_believed(tmp_path: Path) -> None:
    changes = (status("No route matches"), lambda found: a(found).pop("routes"),
               lambda found: part(found["ServerA"], "msdb").pop("routes"))  # fmt: skip
    assert first(diagnosed(tmp_path, *changes)) == "no-route"


def test_a_young_message_that_leaves_the_snapshot_is_in_flight(tmp_path: Path) -> None:
    changes = (route(address="tcp://Elsewhere:4022"), row(enqueue_time=moment(NOW - 5)))
    assert first(diagnosed(tmp_path / "1", *changes)) == "in-flight"
    assert first(diagnosed(tmp_path / "2", *changes, status("new words"))) == "beyond-the-snapshot"


def test_a_reply_is_judged_by_the_targets_routes(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    reply = message("r1", "InitiatorService", from_service_name="TargetService",
                    to_broker_instance=broker_guid("DatabaseA"))  # fmt: skip
    b(found)["transmission_queue"] = [reply]
    b(found)["conversation_endpoints"] = [
        endpoint("r1", is_initiator=False, far_broker_instance=broker_guid("DatabaseA"))
    ]
    b(found)["routes"] = []
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert first(diagnoses) == "no-route"


def test_a_reply_needs_no_route_of_the_initiators_msdb(tmp_path: Path) -> None:
    """What a target sends is delivered by broker id before any route is asked (reference 2.2)."""
    found = documents(shipped("two_brokers"))
    own = broker_guid("DatabaseA")
    reply = message("r1", "InitiatorService", from_service_name="TargetService",
                    to_broker_instance=own)  # fmt: skip
    b(found)["transmission_queue"] = [reply]
    b(found)["conversation_endpoints"] = [
        endpoint("r1", is_initiator=False, far_broker_instance=own)
    ]
    part(found["ServerA"], "msdb")["routes"][0]["address"] = "tcp://Elsewhere:4022"
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert first(diagnoses) == "unexplained"


def test_a_dialog_goes_where_it_was_acknowledged(tmp_path: Path) -> None:
    """ServerB is down, and the dialog is ServerC's, as its endpoint knows."""
    found = documents(shipped("load_balanced"))
    stuck(found)
    found["ServerB"]["service_broker_endpoints"][0]["state"] = 1
    side(far_broker_instance=broker_guid("DatabaseC"))(found)
    diagnoses = diagnose(load_snapshot(write_json(tmp_path / "1", found)), NOW)
    assert first(diagnoses) == "unexplained"
    side(far_broker_instance=broker_guid("DatabaseB"))(found)
    diagnoses = diagnose(load_snapshot(write_json(tmp_path / "2", found)), NOW)
    assert first(diagnoses) == "next-hop-stopped"


def test_a_topology_states_the_address_of_a_server(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    stuck(found)
    route(address="tcp://gate:4022")(found)
    snapshot = load_snapshot(write_json(tmp_path, found))
    assert first(diagnose(snapshot, NOW)) == "beyond-the-snapshot"
    around = shipped("two_brokers")
    gate = replace(around.instances["ServerB"], stated_address="tcp://gate:4022")
    known = replace(around, instances={"ServerB": gate})
    assert first(diagnose(snapshot, NOW, known)) == "unexplained"


def test_the_far_side_is_evidence(tmp_path: Path) -> None:
    """It has arrived: the target has the dialog, and no route back."""

    def arrived(found: dict[str, Document]) -> None:
        b(found)["conversation_endpoints"] = [
            endpoint("d1", is_initiator=False, receive_sequence=1,
                     conversation_handle=guid("other handle"))
        ]  # fmt: skip

    [one] = [d for d in diagnosed(tmp_path, no_back, arrived).found if not d.leak]
    assert any("the message has arrived" in sentence for sentence in one.evidence)


def test_a_reply_that_is_parked_here_has_no_problem_with_its_contract(tmp_path: Path) -> None:
    def parked(found: dict[str, Document]) -> None:
        row(
            to_service_name="InitiatorService",
            from_service_name="TargetService",
            conversation_handle=guid("another"),
            service_contract_name="Other",
        )(found)
        a(found)["service_queues"][1]["is_receive_enabled"] = False

    assert codes(diagnosed(tmp_path, parked)) == {"queue-off"}


def test_in_flight_copies_are_evidence(tmp_path: Path) -> None:
    def copy(found: dict[str, Document]) -> None:
        found["ServerB"]["dm_broker_forwarded_messages"] = [
            {"conversation_id": guid("another"), "is_initiator": True},
            {"conversation_id": guid("d1"), "is_initiator": True, "hops_remaining": 3,
             "adjacent_broker_address": "tcp://x:1", "time_to_live": 60, "time_consumed": 59}
        ]  # fmt: skip

    [one] = diagnosed(tmp_path, copy).found
    [evidence] = [sentence for sentence in one.evidence if "a copy waits" in sentence]
    assert "at ServerB for tcp://x:1: 59 of 60 s" in evidence


# --- Groups --------------------------------------------------------------------------------------


def test_rows_with_one_cause_are_one_line_the_heaviest_first(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    a(found)["transmission_queue"] = [
        *(message(f"d{n}", "TargetService", REFUSED, age=n) for n in range(1000, 1250)),
        *(message(f"e{n}", "Nowhere", age=400) for n in range(3)),
        message("f", "TargetService", age=2),
    ]
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    causes = [(d.cause.code, d.count, d.oldest) for d in diagnoses.found]
    assert causes == [
        ("connect-failed", 250, 1249.0), ("service-not-here", 3, 400.0), ("in-flight", 1, 2.0)
    ]  # fmt: skip
    summary = diagnoses.to_json()["summary"]
    assert summary == {"messages": 254, "stuck": 253, "endpoints": 0, "leaked": 0,
                       "unread": 0}  # fmt: skip


GROUPS: dict[str, tuple[Change, list[str], list[tuple[str, int]]]] = {
    "a fact": (queue_off, ["", text(9617), text(9753), ""], [("queue-off", 4)]),
    "only statuses": (
        both(), [text(28034, "A"), text(9752, "B"), text(28034, "C"), text(9751, "x")],
        [("connect-denied", 3), ("authentication", 1)],
    ),
    "the cause is gone": (both(), [text(9750), text(9796)], [("obstacle-gone", 2)]),
    "unknown texts": (both(), ["new", "newer", ""], [("unexplained", 1)] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_one_cause_is_one_group_whatever_the_statuses_report(tmp_path: Path, name: str) -> None:
    change, statuses, expected = GROUPS[name]
    found = documents(shipped("two_brokers"))
    change(found)
    a(found)["transmission_queue"] = [
        message(f"d{n}", "TargetService", each) for n, each in enumerate(statuses)
    ]
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert [(d.cause.code, d.count) for d in diagnoses.found] == expected
    first_ = diagnoses.found[0].evidence
    if name == "a fact":
        assert first_[0].startswith("queue TargetQueue of ServerB/DatabaseB is disabled")
    if name == "only statuses":
        assert len([sentence for sentence in first_ if "reports" in sentence]) == 2
        assert {f'"{each}"' for each in statuses[:3]} <= set(first_)  # the logins to be granted


def test_a_young_row_joins_the_fact_that_explains_the_old_ones(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    queue_off(found)
    a(found)["transmission_queue"] = [
        message("young", "TargetService", text(9617), age=5),
        message("old", "TargetService"),
    ]
    [one] = diagnose(load_snapshot(write_json(tmp_path, found)), NOW).found
    assert (one.cause.code, one.count) == ("queue-off", 2)


def test_facts_that_differ_are_groups_of_their_own(tmp_path: Path) -> None:
    """Two dialogs name two broker ids that no database has."""
    found = documents(shipped("two_brokers"))
    a(found)["transmission_queue"] = [
        message(name, "TargetService", to_broker_instance=guid(name)) for name in ("old", "older")
    ]
    route(broker_instance=None)(found)
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert [(d.cause.code, d.count) for d in diagnoses.found] == [("stale-broker-id", 1)] * 2


def test_a_long_answer_is_cut_with_a_note(tmp_path: Path) -> None:
    found = documents(shipped("two_brokers"))
    a(found)["transmission_queue"] = [message(f"d{n}", f"Service{n}") for n in range(30)]
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert len(diagnoses.found) == 30
    answer = diagnoses_text(diagnoses)
    assert answer.count("service-not-here,") == LISTED
    assert "\n5 more, of 5 rows: see --format json.\n" in answer


def test_a_topology_describes_what_no_snapshot_was_taken_of(tmp_path: Path) -> None:
    topology = shipped("combined")
    found = {"ServerA": documents(topology)["ServerA"]}
    stuck(found)
    snapshot = load_snapshot(write_json(tmp_path, found))
    assert first(diagnose(snapshot, NOW)) == "beyond-the-snapshot"
    seen = load_snapshot(write_json(tmp_path / "all", documents(topology))).topology
    assert first(diagnose(snapshot, NOW, seen)) == "unexplained"


# --- Brokers that are off, and copies ------------------------------------------------------------


def test_a_broker_that_is_off_explains_why_nothing_is_found(tmp_path: Path) -> None:
    """Neither "no service here" nor "the path drops it" is another problem."""
    for number, change in enumerate(TRIGGERS["target-broker-off"] + TRIGGERS["target-id-in-use"]):
        [one] = [d for d in diagnosed(tmp_path / str(number), change).found if not d.leak]
        assert one.also == ()


def test_an_error_on_the_way_comes_before_a_broker_that_is_off(tmp_path: Path) -> None:
    [one] = [d for d in diagnosed(tmp_path, off("ServerB"), status(REFUSED)).found if not d.leak]
    assert one.cause.code == "connect-failed"
    assert [cause.code for cause in one.also] == ["target-broker-off"]


@pytest.mark.parametrize(
    ("name", "at"),
    [("combined", "ServerC"), ("high_availability", "ServerB"), ("load_balanced", "ServerB"),
     ("local", "ServerA"), ("hub", "ServerC")],
)  # fmt: skip
def test_a_broker_is_off_behind_any_path(tmp_path: Path, name: str, at: str) -> None:
    found = documents(shipped(name))
    stuck(found)
    found[at]["databases"][-1]["is_broker_enabled"] = False
    diagnoses = diagnose(load_snapshot(write_json(tmp_path, found)), NOW)
    assert first(diagnoses) == "target-broker-off"


@shows("T6")
def test_enable_broker_is_no_remedy_while_the_id_is_in_use(tmp_path: Path) -> None:
    """9772: an active database of the same instance has the id; one elsewhere prevents nothing."""
    [one] = diagnosed(tmp_path / "1", TRIGGERS["sender-id-in-use"][0]).found
    assert "NEW_BROKER" in one.cause.remedy and one.also == ()
    assert "ServerA/DatabaseA (off) and ServerA/Copy (on) have the broker id" in one.evidence[1]
    copies = (off("ServerB"), copied("DatabaseB", "ServerB", is_broker_enabled=False))
    [one] = diagnosed(tmp_path / "0", *copies).found
    assert one.cause.code == "target-broker-off"
    assert any("ServerB/Copy (off) have the broker id" in sentence for sentence in one.evidence)
    elsewhere = (off("ServerA"), copied("DatabaseA", "ServerB"))
    [one] = diagnosed(tmp_path / "2", *elsewhere).found
    assert one.cause.code == "delivery-off"


NO_COPIES: dict[str, tuple[str, list[Change]]] = {
    "a mirrored pair": ("unexplained", [copied("DatabaseB", "ServerA"), lambda found: [
        found[name].update(database_mirroring=[
            {"database_id": n, "mirroring_guid": guid("pair"), "mirroring_role": role}
        ]) for name, n, role in (("ServerB", 5, 1), ("ServerA", 7, 2))
    ]]),
    "a database snapshot": ("unexplained", [
        copied("DatabaseB", "ServerB", is_broker_enabled=False, is_read_only=True)
    ]),
    "a restored backup": ("unexplained", [
        copied("DatabaseB", "ServerA", is_broker_enabled=False)
    ]),
    "another obstacle": ("queue-off", [
        queue_off, copied("DatabaseB", "ServerB", is_broker_enabled=False)
    ]),
    "a young message": ("in-flight", [
        copied("DatabaseB", "ServerA"), row(enqueue_time=moment(NOW - 5))
    ]),
    "the dialog is there": ("unexplained", [
        copied("DatabaseB", "ServerB", is_broker_enabled=False),
        lambda found: b(found).update(conversation_endpoints=[
            endpoint("d1", is_initiator=False, conversation_handle=guid("other"))
        ]),
    ]),
    "an old database with the same service": ("service-not-here", [
        only_local,
        copied("DatabaseB", "ServerA", is_broker_enabled=False, service_broker_guid=guid("old")),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_COPIES)
def test_a_database_that_is_off_or_a_copy_is_not_always_the_cause(
    tmp_path: Path, name: str
) -> None:
    code, changes = NO_COPIES[name]
    diagnoses = diagnosed(tmp_path, *changes)
    assert first(diagnoses) == code
    assert not codes(diagnoses) & {"target-id-shared", "target-id-in-use", "target-broker-off"}
