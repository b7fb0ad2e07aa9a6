"""The Broker Configuration Notice (reference 2.5): who is asked for a route, and how often."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.chance import Chance
from streams.errors import Number
from streams.node import Forwarder, Outcome, Place, Record, catalog_of
from streams.node.endpoint.route_requests import (
    MISSING_ROUTE,
    BeginNotice,
    Configuration,
    MissingRoute,
    Requests,
    TryAgain,
    missing_route,
    parse_missing_route,
)
from streams.protocol import DEFAULT, Header, Journey, Limits, Parties, request_owner
from streams.routing import Origin
from streams.system_names import NOTICE
from streams.topology import Topology, apply_sql
from streams.wire import Envelope
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of, message_record

from .evidence import shows
from .harness import START, conversation
from .places import ASKING

SECOND = 1000
LONGEST = Limits().retries[-1]
IDS = iter(Chance(1).guid, None)


@dataclass
class Bench:
    """A database whose conversations to ``New`` wait: the product's forwarder, and its requests."""

    topology: Topology = ASKING
    now: int = START
    asked: list[BeginNotice] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.requests = Configuration(IDS)
        catalog = catalog_of(ASKING, 1)
        self.forwarder = Forwarder("Home", catalog, Envelope, lambda _: True)

    def message(self, dialog: int, service: str = "New") -> Outcome:
        """Decide a copy of a dialog; where it waits for a route, ask for one."""
        parties = Parties(service, None, "Initiator", "AW", DEFAULT, True)
        header = Header(uuid.UUID(int=5), DEFAULT, 0, self.now, self.now + 3_600_000)
        journey = Journey(16, self.now + 60_000, 0, self.now)
        key, _, headers = message_record(conversation(dialog), parties, header, journey, b"")
        route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
        assert route is not None and hop is not None
        record = Record(Origin.INSIDE, key, route, hop, 9, False, header_of(headers, MESSAGE))
        outcome = self.forwarder.handle(record, self.now)
        if outcome.status is not None and outcome.status.number == Number.WAITING_FOR_CONFIGURATION:
            begun = self.requests.ask(service, None, self.now)
            self.asked += [begun] if begun is not None else []
        return outcome

    def sql(self, text: str) -> None:
        """The application changes the routes of its database."""
        self.topology = apply_sql(self.topology, "Home", "AW", text, self.now / 1000)
        self.forwarder.switch(catalog_of(self.topology, 2))


def sent_to(outcome: Outcome) -> list[tuple[Place, str]]:
    return [(copy.place, copy.instance) for copy in outcome.copies]


def waits(outcome: Outcome) -> bool:
    """Tell whether the message stays in its transmission queue with status 9770."""
    return outcome.copies == () and outcome.status is not None and outcome.status.number == 9770


# --- the examples --------------------------------------------------------------------------------


@shows("EX-56", "N1", "N2")
def test_ex_56_one_request_and_both_dialogs_go() -> None:
    """D1 and D2 wait for one MissingRoute; the route is made, the request ended, both are sent."""
    bench = Bench()
    assert waits(bench.message(1)) and waits(bench.message(2))
    (begun,) = bench.asked
    assert begun.to_service == "SQL/ServiceBroker/BrokerConfiguration"
    assert (begun.contract, begun.type) == (NOTICE, MISSING_ROUTE)
    assert begun.lifetime == 2_147_483_647
    assert parse_missing_route(begun.body) == MissingRoute("New")
    bench.sql("CREATE ROUTE New WITH SERVICE_NAME = 'New', ADDRESS = 'tcp://N:4022'")
    assert bench.requests.ended(begun.conversation, bench.now) == TryAgain("New")
    assert sent_to(bench.message(1)) == sent_to(bench.message(2)) == [(Place.TXQ, "N")]
    assert len(bench.asked) == 1


@shows("EX-58", "N1")
def test_ex_58_a_request_that_is_never_ended_is_the_last() -> None:
    """No second request ever, however long the conversations wait and however many come."""
    bench = Bench()
    for dialog in range(1, 500):
        bench.now += LONGEST
        assert waits(bench.message(dialog))
    assert len(bench.asked) == 1


# --- one rule each -------------------------------------------------------------------------------


@shows("U-16")
def test_the_body_is_the_documented_one() -> None:
    """To the letter; the broker id, where one is asked for, in an element of its own (U-16)."""
    assert missing_route("a&b", None) == (
        b'<MissingRoute xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/'
        b'BrokerConfigurationNotice/MissingRoute">\n'
        b"  <SERVICE_NAME>a&amp;b</SERVICE_NAME>\n"
        b"</MissingRoute>"
    )
    with_broker = missing_route("S", "B")
    assert with_broker is not None and b"  <BROKER_INSTANCE>B</BROKER_INSTANCE>\n" in with_broker


def test_a_committed_request_that_has_ended_since_is_not_open() -> None:
    requests = Configuration(IDS)
    begun = requests.ask("New", None, START)
    assert begun is not None
    later = Configuration(IDS, committed=requests.changed)
    assert later.open(begun.conversation) is not None
    assert later.ended(begun.conversation, START) == TryAgain("New")
    assert later.open(begun.conversation) is None
    assert later.ended(begun.conversation, START) is None
    assert requests.open(begun.conversation) is not None, "what is committed was not changed"


@shows("C-13")
def test_no_route_after_the_end_asks_again_by_the_back_off() -> None:
    """4, 8, 16, 32, 64, 64 s after each end (U-27, C-13), and not a moment earlier."""
    bench = Bench()
    for wait in (4, 8, 16, 32, 64, 64):
        bench.message(1)
        bench.requests.ended(bench.asked[-1].conversation, bench.now)
        before = len(bench.asked)
        bench.now += wait * SECOND - 1
        assert waits(bench.message(1)) and len(bench.asked) == before
        bench.now += 1
        assert waits(bench.message(2)) and len(bench.asked) == before + 1
    ids = {begun.conversation for begun in bench.asked}
    assert len(ids) == len({b.message_id for b in bench.asked}) == len(bench.asked) == 7


def test_a_route_that_expires_is_asked_for_at_once() -> None:
    """Step 4 applies anew: what was found once is not held back by the back-off."""
    bench = Bench()
    bench.message(1)
    bench.sql("CREATE ROUTE New WITH SERVICE_NAME='New', LIFETIME=2, ADDRESS='tcp://N:4022'")
    bench.requests.ended(bench.asked[0].conversation, bench.now)
    assert sent_to(bench.message(1)) == [(Place.TXQ, "N")]
    bench.requests.found("New")
    bench.now += 2 * SECOND
    assert waits(bench.message(1)) and len(bench.asked) == 2
    bench.requests.ended(bench.asked[1].conversation, bench.now)
    bench.now += 4 * SECOND  # and the back-off begins anew
    assert waits(bench.message(1)) and len(bench.asked) == 3


def test_services_are_asked_for_apart() -> None:
    """One outstanding request for each service name, the spelling being the name."""
    bench = Bench()
    for service in ("New", "Other", "new", "New"):
        assert waits(bench.message(1, service))
    assert [parse_missing_route(b.body) for b in bench.asked] == [
        MissingRoute("New"), MissingRoute("Other"), MissingRoute("new"),
    ]  # fmt: skip
    assert bench.requests.ended(bench.asked[1].conversation, START) == TryAgain("Other")


def test_the_end_of_another_conversation_means_nothing() -> None:
    """Nor does the end of a request that has ended already."""
    bench = Bench()
    bench.message(1)
    assert bench.requests.ended(uuid.UUID(int=1), START) is None
    first = bench.asked[0].conversation
    assert bench.requests.ended(first, START) == TryAgain("New")
    assert bench.requests.ended(first, START) is None


def test_ids_do_not_follow_from_what_is_asked() -> None:
    """They are what the source of ids has made: whoever knows the rest cannot compute them."""

    def begun(seed: int) -> uuid.UUID:
        made = Configuration(iter(Chance(seed).guid, None)).ask("New", None, START)
        assert made is not None
        return made.conversation

    assert [begun(1), begun(2)] == [Chance(1).guid(), Chance(2).guid()]


def test_who_owns_a_request_follows_from_broker_id_and_service() -> None:
    owners = {request_owner(*of) for of in (("AW", "New"), ("AX", "New"), ("AW", "new"))}
    assert len(owners) == 3 and request_owner("AW", "New") in owners
    assert request_owner("A", "B") != request_owner("AB", "")


def test_every_request_of_a_service_has_one_owner() -> None:
    """On Kafka the conversation is in the partition that keeps the request."""
    requests = Configuration(IDS, fits=lambda made: made.int % 8 == 3)
    for n in range(20):
        begun = requests.ask("New", None, START + n * LONGEST)
        assert begun is not None and begun.conversation.int % 8 == 3
        requests.ended(begun.conversation, START + n * LONGEST)


@pytest.mark.parametrize("service", ["a\x00", "\x1b", "\ud800", "\uffff"])
def test_a_name_that_no_xml_can_carry_is_not_asked_for(service: str) -> None:
    """The conversation stays delayed; nobody sends what the application could not read."""
    requests = Configuration(IDS)
    assert requests.ask(service, None, START) is None and len(requests.changed) == 0


HOSTILE = [
    b"",
    b"<MissingRoute/>",
    b"<MissingRoute><SERVICE_NAME>S</SERVICE_NAME></MissingRoute>",
    f'<Missing xmlns="{MISSING_ROUTE}"><SERVICE_NAME>S</SERVICE_NAME></Missing>'.encode(),
    f'<MissingRoute xmlns="{MISSING_ROUTE}"><SERVICE_NAME/></MissingRoute>'.encode(),
    f'<!DOCTYPE x [<!ENTITY e "S">]><MissingRoute xmlns="{MISSING_ROUTE}">'
    "<SERVICE_NAME>&e;</SERVICE_NAME></MissingRoute>".encode(),
    f'<!DOCTYPE x SYSTEM "file:///etc/passwd"><MissingRoute xmlns="{MISSING_ROUTE}">'
    "<SERVICE_NAME>S</SERVICE_NAME></MissingRoute>".encode(),
    b'<?xml version="1.0" encoding="no-such"?><a/>',
    b'<?xml version="1.0" encoding="utf-16"?><a/>',
    b"\xff\xfe\x00",
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE)
def test_the_application_is_not_led_astray(body: bytes) -> None:
    """What is no MissingRoute, or has a document type, is none; nothing is raised."""
    assert parse_missing_route(body) is None


@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """Reading never raises."""
    parse_missing_route(body)


def no_xml(char: str) -> bool:
    """Tell whether XML 1.0 has no way to write a character."""
    return (
        (ord(char) < 32 and char not in "\t\n\r")
        or char in "\ufffe\uffff"
        or (0xD800 <= ord(char) <= 0xDFFF)
    )


@example("a\r\n\tb", None)
@given(st.text(min_size=1, max_size=30), st.none() | st.text(max_size=10))
def test_what_is_asked_is_what_is_read(service: str, broker: str | None) -> None:
    """Any name that XML can carry arrives as it was, line ends and markup included."""
    body = missing_route(service, broker)
    if body is not None:
        assert parse_missing_route(body) == MissingRoute(service, broker)
    else:
        assert any(no_xml(c) for c in service + (broker or ""))


# --- properties ----------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "end", "found", "wait", "restart"]),
              st.integers(0, 2), st.integers(0, 70)),
    max_size=60,
)  # fmt: skip


@shows("N1", "N2")
@settings(max_examples=300)
@given(STEPS)
def test_one_request_is_open_and_none_is_forgotten(steps: list[tuple[str, int, int]]) -> None:
    """At most one open request for each service; every end wakes; ids are never used again.

    A restart from the records (one for each service) changes nothing.
    """
    requests, now = Configuration(IDS), START
    open_by: dict[str, uuid.UUID] = {}
    used: set[uuid.UUID] = set()
    for what, n, seconds in steps:
        service = f"S{n}"
        if what == "ask":
            begun = requests.ask(service, None, now)
            if begun is not None:
                assert service not in open_by and begun.conversation not in used
                open_by[service] = begun.conversation
                used.add(begun.conversation)
        elif what == "end" and service in open_by:
            assert requests.ended(open_by.pop(service), now) == TryAgain(service)
        elif what == "found":
            requests.found(service)
        elif what == "wait":
            now += seconds * SECOND
        else:
            kept = [replace(one) for one in (*requests.committed, *requests.changed)]
            requests = Configuration(IDS, committed=Requests(kept))
    now += LONGEST
    for service in ("S0", "S1", "S2"):
        assert (requests.ask(service, None, now) is None) is (service in open_by)
