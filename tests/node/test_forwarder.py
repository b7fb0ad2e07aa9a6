"""One record, one outcome: what a forwarder decides (reference, section 5)."""

from __future__ import annotations

import tracemalloc
import uuid
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from streams.errors import EventKind, Number
from streams.node import HELD, CatalogView, Copy, Forwarder, Outcome, Place, Record, catalog_of
from streams.node.forwarder.plan_cache import PLAN_BYTES
from streams.protocol import DEFAULT, ERROR, Ack, Flag, Header, Journey, Parties
from streams.routing import Origin, pick_broker
from streams.topology import Topology, Transport
from streams.wire import (
    Envelope,
    MalformedError,
    decode_header,
    decode_journey,
    decode_parties,
)
from streams.wire.records import HOP, MESSAGE, ROUTE, ack_record, header_of, key_of, message_record

from .evidence import shows
from .harness import START, conversation, topology

NETWORK = """
instances:
  Home:
    databases:
      A:
        broker_id: A
        services: [Initiator]
        routes:
          - {name: One, service_name: One, address: 'tcp://Gate:4022'}
          - {name: TwoX, service_name: Two, broker_instance: B, address: 'tcp://X:4022'}
          - {name: TwoY, service_name: Two, broker_instance: B, address: 'tcp://Y:4022'}
          - {name: TwoZ, service_name: Two, broker_instance: B, address: 'tcp://Z:4022'}
          - {name: Gone, service_name: Gone, address: 'tcp://nowhere:4022'}
          - {name: Mine, service_name: Mine, address: 'tcp://localhost:4022'}
          - {name: Short, service_name: Short, address: 'tcp://X:4022', lifetime: 10}
      L:
        broker_id: L
        services: [Local, Mine]
  Gate:
    endpoint: {forwarding: true}
    databases:
      G: {broker_id: G, services: [Here]}
    msdb:
      routes:
        - {name: One, service_name: One, address: 'tcp://X:4022'}
        - {name: Two1, service_name: Two, address: 'tcp://X:4022'}
        - {name: Two2, service_name: Two, address: 'tcp://Y:4022'}
        - {name: Balanced1, service_name: Balanced, broker_instance: B1, address: 'tcp://X:4022'}
        - {name: Balanced2, service_name: Balanced, broker_instance: B2, address: 'tcp://Y:4022'}
  Shut:
    databases:
      S: {broker_id: S, services: [Other]}
    msdb:
      routes:
        - {name: One, service_name: One, address: 'tcp://X:4022'}
  X: {}
  Y: {}
  Z: {}
"""
WORLD = catalog_of(topology(NETWORK), 1)
DIALOG = conversation(1)
COPY = Journey(16, START + 60_000, 0, START)


def forwarder(at: str, *, down: Iterable[str] = (), catalog: CatalogView = WORLD) -> Forwarder:
    """Return an instance's forwarder; ``down`` are the instances that send no heartbeat."""
    silent = set(down)
    return Forwarder(at, catalog, Envelope, lambda instance: instance not in silent)


def frame(
    to: str,
    origin: Origin = Origin.INSIDE,
    *,
    dialog: uuid.UUID = DIALOG,
    broker: str | None = None,
    from_initiator: bool = True,
    is_ack: bool = False,
    flags: Flag = Flag.NONE,
    **journey: int,
) -> Record:
    """Return a frame for a service; what is said of the journey is that copy's."""
    parties = Parties(to, broker, "Initiator", "A", DEFAULT, from_initiator)
    copy = COPY._replace(**journey)
    kind = ERROR if flags & Flag.ERROR else DEFAULT
    header = Header(uuid.UUID(int=5), kind, 0, START, START + 3_600_000, flags)
    if is_ack:
        key, _, headers = ack_record(dialog, parties, Ack(1), copy)
    else:
        key, _, headers = message_record(dialog, parties, header, copy, b"")
    route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
    assert route is not None and hop is not None
    return Record(origin, key, route, hop, 100, is_ack, header_of(headers, MESSAGE))


OUTSIDE = Origin.OUTSIDE


def where(outcome: Outcome) -> list[tuple[Place, str]]:
    """Return the places that a record goes to."""
    return [(copy.place, copy.instance) for copy in outcome.copies]


def number(outcome: Outcome) -> int:
    """Return the error number of the outcome's event."""
    assert outcome.event is not None
    return int(outcome.event["error"])


def route(outcome: Outcome) -> str | None:
    """Return the routes that the outcome's event names."""
    assert outcome.event is not None
    named: str | None = outcome.event["route"]
    return named


def only(outcome: Outcome) -> Copy:
    """Return the one copy of an outcome."""
    assert len(outcome.copies) == 1
    return outcome.copies[0]


# --- the source topic is the origin --------------------------------------------------------------


@shows("F2", "R8.4")
def test_out_is_routed_by_the_database_and_txq_by_msdb() -> None:
    """What was begun here follows its database's routes, what came from outside msdb's."""
    assert where(forwarder("Gate").handle(frame("One", OUTSIDE), START)) == [(Place.TXQ, "X")]
    assert where(forwarder("Home").handle(frame("One"), START)) == [(Place.TXQ, "Gate")]
    assert number(forwarder("Home").handle(frame("One", OUTSIDE), START)) == 11210


@shows("F1")
def test_forwarding_is_a_switch() -> None:
    """With forwarding disabled, a copy from outside is dropped (9792); its sender gets no status.

    It is a dropped copy (event 140), not a message that is delayed here (141).
    """
    outcome = forwarder("Shut").handle(frame("One", OUTSIDE), START)
    assert outcome.event is not None
    reported = outcome.event["event"], outcome.event["error"], outcome.event["subclass"]
    assert reported == (EventKind.FORWARDED_MESSAGE_DROPPED, 9792, 0)
    assert outcome.copies == ()
    assert outcome.status is None


FROM_OUTSIDE = """
instances:
  Off: {msdb: {broker: disabled}}
  Empty: {msdb: {auto_created_local: false}}
  Asked:
    databases: {D: {broker_id: D, services: [SQL/ServiceBroker/BrokerConfiguration]}}
    msdb:
      routes: [{name: R, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}]
  Pair:
    endpoint: {forwarding: true}
    msdb:
      routes:
        - {name: R, service_name: S, broker_instance: B, address: 'tcp://P:4022',
           mirror_address: 'tcp://Q:4022'}
"""


@shows("U-43")
@pytest.mark.parametrize(
    ("at", "error"), [("Off", 9789), ("Empty", 9750), ("Asked", 9770), ("Pair", 9794)]
)
def test_a_copy_from_outside_is_dropped_with_the_number_of_a_delay(at: str, error: int) -> None:
    """No transmission queue here has the message, so the event is 140."""
    catalog = catalog_of(topology(FROM_OUTSIDE), 1)
    outcome = forwarder(at, catalog=catalog).handle(frame("S", OUTSIDE, broker="B"), START)
    assert outcome.event is not None
    assert outcome.event["event"] == EventKind.FORWARDED_MESSAGE_DROPPED
    assert outcome.event["error"] == error


OWN_ADDRESS = """
instances:
  I:
    endpoint: {{forwarding: {forwarding}}}
    databases:
      A:
        broker_id: A
        services: [Initiator]
        routes: [{{name: R, service_name: S, broker_instance: B, address: 'tcp://I:4022'}}]
      Other: {{broker_id: Other, services: [{service}]}}
    msdb: {{broker: {broker}, auto_created_local: false, routes: [{route}]}}
  X: {{}}
"""
OWN = {"forwarding": "false", "broker": "enabled", "service": "Any", "route": ""}
FAR = "{name: Far, service_name: S, address: 'tcp://X:4022'}"
NEAR = "{name: Near, service_name: S, address: LOCAL}"
NAMED = "{name: Named, address: TRANSPORT}"


@shows("R9")
@pytest.mark.parametrize(
    ("given", "error", "kind"),
    [
        ({"route": FAR}, 9792, EventKind.MESSAGE_CLASSIFY),
        ({"route": FAR, "broker": "disabled"}, 9789, EventKind.MESSAGE_CLASSIFY),
        ({"route": NEAR, "service": "S"}, 28017, EventKind.MESSAGE_UNDELIVERABLE),
        ({"route": NEAR}, 11210, EventKind.MESSAGE_UNDELIVERABLE),
        ({"route": NAMED}, 11294, EventKind.FORWARDED_MESSAGE_DROPPED),
    ],
)
def test_the_status_of_a_looped_back_message_is_that_of_a_copy_from_outside(
    given: dict[str, str], error: int, kind: EventKind
) -> None:
    """msdb decides, but the message stays in the transmission queue of its sender here.

    These are the numbers of this row of docs/how_to.md.
    """
    made = topology(OWN_ADDRESS.format(**(OWN | given)))
    outcome = forwarder("I", catalog=catalog_of(made, 1)).handle(frame("S", broker="B"), START)
    assert outcome.event is not None and outcome.status is not None
    assert (outcome.event["event"], outcome.event["error"]) == (kind, error)
    assert (outcome.status.database, outcome.status.number) == ("A", error)


def test_a_reply_to_a_broker_that_is_off_says_why() -> None:
    """It is undeliverable (28016), and the event has the reason: the broker is disabled (28013)."""
    made = topology("instances:\n  I: {databases: {D: {broker_id: D, broker: disabled}}}\n")
    reply = frame("Initiator", OUTSIDE, broker="D", from_initiator=False)
    outcome = forwarder("I", catalog=catalog_of(made, 1)).handle(reply, START)
    assert number(outcome) == 28016
    assert outcome.event is not None and "disabled" in outcome.event["detail"]
    assert "28013" in outcome.event["detail"]


@shows("F2")
def test_local_messages_go_to_in_and_acknowledgements_to_ack() -> None:
    """LOCAL ends here: the endpoint worker takes messages from ``in`` and all else from ``ack``."""
    gate = forwarder("Gate")
    assert where(gate.handle(frame("Here", OUTSIDE), START)) == [(Place.IN, "Gate")]
    assert where(gate.handle(frame("Here", OUTSIDE, is_ack=True), START)) == [(Place.ACK, "Gate")]
    home = forwarder("Home")
    assert where(home.handle(frame("Local"), START)) == [(Place.IN, "Home")]


def test_a_delivery_spends_no_hop() -> None:
    """A copy that arrives has been forwarded by nobody here."""
    copy = only(forwarder("Gate").handle(frame("Here", OUTSIDE, hops_remaining=0), START + 5))
    assert decode_journey(copy.hop) == COPY._replace(hops_remaining=0, path=(("Gate", START + 5),))


@shows("R9")
def test_a_loop_back_is_decided_in_place() -> None:
    """The address is this instance: msdb decides, and the message never leaves."""
    assert where(forwarder("Home").handle(frame("Mine"), START)) == [(Place.IN, "Home")]


@shows("U-46")
def test_an_address_of_msdb_that_is_the_instance_itself_is_a_forward() -> None:
    """It goes to the instance's own ``txq`` and uses a hop each time."""
    made = topology(
        "instances:\n  I:\n    endpoint: {forwarding: true}\n    msdb:\n      routes:\n"
        "        - {name: R, service_name: S, address: 'tcp://I:4022'}\n"
    )
    outcome = forwarder("I", catalog=catalog_of(made, 1)).handle(frame("S", OUTSIDE), START)
    assert where(outcome) == [(Place.TXQ, "I")]
    assert decode_journey(only(outcome).hop).hops_remaining == 15


# --- hops and time -------------------------------------------------------------------------------


@shows("F9", "U-38")
def test_a_forward_counts_a_hop() -> None:
    """The counter goes down by one per forward; the sender's own transmission costs nothing."""
    sent = only(forwarder("Home").handle(frame("One"), START))
    assert decode_journey(sent.hop).hops_remaining == 16
    passed = only(forwarder("Gate").handle(frame("One", OUTSIDE), START + 7))
    assert decode_journey(passed.hop) == COPY._replace(
        hops_remaining=15, path=(("Gate", START + 7),)
    )


@shows("F9", "U-38")
def test_at_zero_the_copy_is_dropped() -> None:
    """Tested, then counted: with n hops remaining a message passes exactly n forwarders (11285)."""
    gate = forwarder("Gate")
    assert where(gate.handle(frame("One", OUTSIDE, hops_remaining=1), START)) == [(Place.TXQ, "X")]
    outcome = gate.handle(frame("One", OUTSIDE, hops_remaining=0), START)
    assert number(outcome) == 11285
    assert outcome.event is not None
    assert outcome.event["event"] == EventKind.FORWARDED_MESSAGE_DROPPED


@shows("F10", "EX-46")
def test_a_copy_that_has_outlived_its_time_is_dropped() -> None:
    """A message that arrives when its time to live is over is dropped at once (11291)."""
    gate = forwarder("Gate")
    end = COPY.expires_at
    assert where(gate.handle(frame("One", OUTSIDE), end - 1)) == [(Place.TXQ, "X")]
    assert number(gate.handle(frame("One", OUTSIDE), end)) == 11291


@shows("F10")
def test_a_copy_that_has_outlived_its_time_is_not_delivered_either() -> None:
    """Who it is for may have forgotten by now that the dialog is over; an acknowledgement may."""
    gate, end = forwarder("Gate"), COPY.expires_at
    assert where(gate.handle(frame("Here", OUTSIDE), end - 1)) == [(Place.IN, "Gate")]
    assert number(gate.handle(frame("Here", OUTSIDE), end)) == 11291


@shows("U-38")
def test_hops_are_asked_before_time() -> None:
    """A message without hops and without time is dropped for its hops."""
    outcome = forwarder("Gate").handle(frame("One", OUTSIDE, hops_remaining=0), COPY.expires_at)
    assert number(outcome) == 11285


# --- unreachable ---------------------------------------------------------------------------------


@shows("F11")
def test_a_forwarder_holds_what_it_cannot_pass_on() -> None:
    """The next hop sends no heartbeat: held, with no event, until it does."""
    assert forwarder("Gate", down=["X"]).handle(frame("One", OUTSIDE), START) is HELD


@shows("F11", "EX-46")
def test_what_is_held_too_long_is_dropped() -> None:
    """Not deliverable within its time to live: 11290, and nothing goes back to the sender."""
    outcome = forwarder("Gate").reject(
        frame("One", OUTSIDE), Number.NOT_DELIVERABLE_IN_TIME, START + 60_000
    )
    assert number(outcome) == 11290
    assert outcome.status is None


def test_what_is_told_of_a_copy_names_the_routes_that_were_chosen_for_it() -> None:
    """Of several equal ones all; where nothing was said the route that every database has."""
    home = forwarder("Home", down=["X", "Y", "Z"])
    assert route(home.handle(frame("Two"), START)) == "TwoX, TwoY, TwoZ"
    assert route(home.handle(frame("Gone"), START)) == "Gone"
    assert route(home.handle(frame("Nobody"), START)) == "AutoCreatedLocal"
    gate = forwarder("Gate")
    assert route(gate.reject(frame("One", OUTSIDE), Number.TRANSPORT_STOPPED, START)) == "One"
    balanced = {
        route(
            gate.handle(frame("Balanced", OUTSIDE, dialog=conversation(i), hops_remaining=0), START)
        )
        for i in range(9)
    }
    assert balanced == {"Balanced1", "Balanced2"}


@pytest.mark.parametrize("to", ["One", "Gone"])
@shows("F12")
def test_a_sender_is_told_that_the_next_hop_is_unreachable(to: str) -> None:
    """Begun here: the message stays in its transmission queue with status 9753."""
    outcome = forwarder("Home", down=["Gate"]).handle(frame(to, attempt=3), START)
    assert number(outcome) == 9753
    assert outcome.status is not None
    assert (outcome.status.database, outcome.status.attempt) == ("A", 3)


# --- several addresses ---------------------------------------------------------------------------


@shows("U-19")
def test_failover_takes_the_next_address_by_attempt() -> None:
    """Attempt n begins with the next address; the index that was used is on the copy."""
    home = forwarder("Home")
    for attempt, instance in enumerate("XYZXYZ"):
        for dialog in map(conversation, range(5)):
            copy = only(home.handle(frame("Two", attempt=attempt, dialog=dialog), START))
            assert copy.instance == instance
            assert decode_journey(copy.hop).first_hop == attempt % 3


@shows("U-19")
def test_failover_prefers_the_index_that_came_back() -> None:
    """The last good address first: the one whose index the acknowledgement has echoed."""
    copy = only(forwarder("Home").handle(frame("Two", first_hop=2), START))
    assert copy.instance == "Z"


@shows("U-19")
def test_failover_skips_what_is_unreachable() -> None:
    """An address that sends no heartbeat is passed over, whosever turn it is."""
    home = forwarder("Home", down=["X", "Z"])
    for attempt in range(4):
        assert only(home.handle(frame("Two", attempt=attempt), START)).instance == "Y"
    assert number(forwarder("Home", down="XYZ").handle(frame("Two"), START)) == 9753


@shows("U-19")
def test_a_forwarder_fails_over_too() -> None:
    """A forwarder with two addresses takes the one whose turn the attempt says, or the other."""
    gate = forwarder("Gate")
    for attempt, instance in enumerate("XYXY"):
        copy = only(gate.handle(frame("Two", OUTSIDE, attempt=attempt), START))
        assert copy.instance == instance
    gate = forwarder("Gate", down=["X"])
    assert only(gate.handle(frame("Two", OUTSIDE), START)).instance == "Y"
    assert decode_journey(only(gate.handle(frame("Two", OUTSIDE), START)).hop).first_hop == 0


def transport(policy: Transport) -> CatalogView:
    """Return the same catalog with another transport policy at Home."""
    made = topology(NETWORK)
    home = made.instances["Home"]
    changed = replace(home, endpoint=replace(home.endpoint, transport=policy))
    return catalog_of(Topology({**made.instances, "Home": changed}), 1)


@shows("U-19", "EX-30")
def test_all_sends_to_every_address() -> None:
    """With the policy ALL a copy goes to every address, each with its own index."""
    home = forwarder("Home", catalog=transport(Transport.ALL), down=["Y"])
    outcome = home.handle(frame("Two"), START)
    assert where(outcome) == [(Place.TXQ, name) for name in "XYZ"]
    assert [decode_journey(copy.hop).first_hop for copy in outcome.copies] == [0, 1, 2]


@shows("U-19")
def test_seeded_spreads_dialogs_and_sticks_to_what_worked() -> None:
    """Each dialog begins elsewhere; the index that comes back leads to the same address again."""
    home = forwarder("Home", catalog=transport(Transport.SEEDED))
    seen = set()
    for dialog in map(conversation, range(30)):
        for attempt in range(3):
            copy = only(home.handle(frame("Two", dialog=dialog, attempt=attempt), START))
            echoed = decode_journey(copy.hop).first_hop
            again = only(home.handle(frame("Two", dialog=dialog, first_hop=echoed), START))
            assert again.instance == copy.instance
        seen.add(only(home.handle(frame("Two", dialog=dialog), START)).instance)
    assert seen == set("XYZ")


# --- the broker id on the wire -------------------------------------------------------------------


@shows("U-07")
def test_the_broker_id_of_the_chosen_route_goes_on_the_wire() -> None:
    """Where the message names no broker id and the route has one, the route's is written."""
    copy = only(forwarder("Home").handle(frame("Two"), START))
    parties = decode_parties(copy.route)
    assert parties.to_broker == "B"
    assert not parties.locked
    copy = only(forwarder("Home").handle(frame("One"), START))
    assert decode_parties(copy.route).to_broker is None


@shows("U-07", "U-18")
def test_a_dialogs_hash_chooses_among_broker_ids() -> None:
    """One plan for all dialogs, and each takes the id that its own hash says."""
    gate = forwarder("Gate")
    for dialog in map(conversation, range(40)):
        copy = only(gate.handle(frame("Balanced", OUTSIDE, dialog=dialog), START))
        at = pick_broker(2, dialog)
        assert copy.instance == "XY"[at]
        assert decode_parties(copy.route).to_broker == ("B1", "B2")[at]


# --- the plan cache ------------------------------------------------------------------------------


@shows("R3.1", "EX-49")
def test_a_plan_is_not_used_after_a_route_has_expired() -> None:
    """Expired routes are ignored, also by a forwarder that has used them a moment ago."""
    home = forwarder("Home")
    assert where(home.handle(frame("Short"), START)) == [(Place.TXQ, "X")]
    assert where(home.handle(frame("Short"), START + 9_999)) == [(Place.TXQ, "X")]
    assert number(home.handle(frame("Short"), START + 10_000)) == 9796


def test_a_plan_is_not_used_before_the_time_when_it_was_made() -> None:
    """A clock that goes back makes a route live again, whoever had seen it expire."""
    home = forwarder("Home")
    assert number(home.handle(frame("Short"), START + 10_000)) == 9796
    assert home.lane(frame("Short"), START + 10_000) is None
    assert home.lane(frame("Short"), START) is not None
    assert where(home.handle(frame("Short"), START)) == [(Place.TXQ, "X")]


def test_a_plan_is_not_used_after_the_catalog_has_changed() -> None:
    """A new catalog version makes every plan anew."""
    home = forwarder("Home")
    assert where(home.handle(frame("One"), START)) == [(Place.TXQ, "Gate")]
    home.switch(catalog_of(topology(NETWORK.replace("tcp://Gate", "tcp://Y")), 2))
    assert where(home.handle(frame("One"), START)) == [(Place.TXQ, "Y")]


def test_the_origin_is_part_of_what_a_plan_is_found_by() -> None:
    """The same bytes from ``out`` and from ``txq`` are two questions."""
    home = forwarder("Home")
    assert where(home.handle(frame("Mine"), START)) == [(Place.IN, "Home")]
    assert where(home.handle(frame("One"), START)) == [(Place.TXQ, "Gate")]
    assert number(home.handle(frame("One", OUTSIDE), START)) == 11210
    assert where(home.handle(frame("One"), START)) == [(Place.TXQ, "Gate")]


def test_the_cache_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pairs of services talk, and whatever they are called, it does not grow."""
    monkeypatch.setattr("streams.node.forwarder.plan_cache.CACHE_BYTES", 4 * PLAN_BYTES)
    home = forwarder("Home")
    for n in range(10):
        home.handle(frame(f"S{n}"), START)
    assert len(home._plans) == 3
    home.handle(frame("S" * 4 * PLAN_BYTES), START)
    assert not home._plans
    assert where(home.handle(frame("One"), START)) == [(Place.TXQ, "Gate")]


def test_what_a_plan_takes_is_counted_in_full() -> None:
    """The bound would be none if a plan took more than is counted."""
    home, count = forwarder("Home"), 2_000
    home.handle(frame("One"), START)
    frames = [frame(f"S{n}{'x' * 250}") for n in range(count)]
    tracemalloc.start()
    try:
        for each in frames:
            home.handle(each, START)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(home._plans) > count
    assert taken / count < PLAN_BYTES + 2 * len(frames[0].route)


@pytest.mark.parametrize("to", ["One", "Nobody"])
def test_of_a_large_key_nothing_is_remembered(to: str) -> None:
    """Copies that all go one way pass with any key; an event about a drop names the dialog."""
    home, sent = forwarder("Home"), frame(to)
    home.handle(sent, START)

    def handle(n: int) -> None:
        large = replace(sent, key=key_of(conversation(n)) + b"-" * 900_000)
        with nullcontext() if to == "One" else pytest.raises(MalformedError, match="11271"):
            home.handle(large, START)

    tracemalloc.start()
    try:
        for n in range(600):
            handle(n)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 1_000_000


# --- what is told --------------------------------------------------------------------------------


@shows("F12")
def test_a_delay_is_told_to_the_endpoint_and_to_the_monitor() -> None:
    """Begun here and no route: a Status with the number, and event 141, Delayed."""
    outcome = forwarder("Home").handle(frame("Nobody", attempt=2, flags=Flag.NONE), START)
    assert outcome.status is not None
    assert (outcome.status.number, outcome.status.attempt, outcome.status.at) == (9796, 2, START)
    assert (outcome.status.conversation, outcome.status.from_initiator) == (DIALOG, True)
    assert outcome.event is not None
    assert (outcome.event["event"], outcome.event["subclass"]) == (EventKind.MESSAGE_CLASSIFY, 3)


@shows("F13")
def test_nobody_is_told_what_happens_to_a_copy_from_outside() -> None:
    """The sender is not told about drops: it retries."""
    outcome = forwarder("Gate").handle(frame("Nobody", OUTSIDE), START)
    assert number(outcome) == 11210
    assert outcome.status is None


@shows("F12")
@pytest.mark.parametrize("to", ["Nobody", "Gone"])
def test_acknowledgements_and_broker_errors_get_no_status(to: str) -> None:
    """They are regenerated, not retried: no message of the dialog waits for them."""
    home = forwarder("Home")
    assert home.handle(frame(to, is_ack=True), START).status is None
    unsequenced = frame(to, flags=Flag.ERROR | Flag.UNSEQUENCED)
    assert home.handle(unsequenced, START).status is None
    assert home.handle(frame(to), START).status is not None


def test_the_event_says_what_the_envelope_says() -> None:
    """Whoever reads the event needs no record beside it."""
    record = frame("One", OUTSIDE, hops_remaining=0, attempt=1)
    event = forwarder("Gate").handle(record, START).event
    assert event is not None
    header = decode_header(frame("One").message)
    assert event["conversation"] == str(DIALOG)
    assert (event["from_service"], event["to_service"]) == ("Initiator", "One")
    assert (event["message_id"], event["sequence"]) == (str(header.message_id), 0)
    assert (event["hops_remaining"], event["attempt"]) == (0, 1)


# --- rubbish -------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["key", "route", "hop", "message"])
@pytest.mark.parametrize("rubbish", [b"", b"\xff\xfe", b"x" * 36])
@pytest.mark.parametrize("to", ["Balanced", "Nobody"])
def test_a_malformed_envelope(field: str, rubbish: bytes, to: str) -> None:
    """Anything inbound is untrusted: MalformedError (event 161), never another exception."""
    gate = forwarder("Gate")
    if field == "message" and to == "Balanced":
        assert gate.handle(replace(frame(to, OUTSIDE), message=rubbish), START).copies
        return  # a forwarder need not read it
    with pytest.raises(MalformedError):
        gate.handle(replace(frame(to, OUTSIDE), **{field: rubbish}), START)
