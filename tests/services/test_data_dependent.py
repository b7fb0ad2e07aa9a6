"""Data-dependent routing (reference, section 6): what each message leads to."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.node.endpoint.outgoing import error_body
from streams.protocol import DIALOG_TIMER, END_DIALOG, ERROR
from streams.routing import Database as RoutingDatabase
from streams.routing import (
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
    Verdict,
    network,
    plan,
)
from streams.services import (
    Action,
    Begin,
    End,
    Handle,
    Incoming,
    Redirector,
    Router,
    Send,
    Turn,
    to_service_name,
)
from tests.node.evidence import shows

M1 = b"<message><toServiceName>S4</toServiceName><x>1</x></message>"
D3 = Handle(uuid.UUID(int=3), is_initiator=False)


@dataclass
class Bench:
    """A router whose statements are kept; ``calls`` counts classifications."""

    rows: dict[Handle, Handle] = field(default_factory=dict)
    done: list[Action] = field(default_factory=list)
    calls: list[bytes] = field(default_factory=list)
    ids: int = 0

    def __post_init__(self) -> None:
        self.router = Router("DataDependentRouting", "R", self.classify)

    def classify(self, body: bytes) -> str | None:
        self.calls.append(body)
        return to_service_name(body)

    def receive(self, handle: Handle, type_: str, body: bytes, sequence: int) -> tuple[Action, ...]:
        """Receive one message as the shell does: decide, keep the rows, perform."""
        self.ids += 1
        message = Incoming(handle, uuid.UUID(int=self.ids), sequence, type_, body, "C")
        turn = self.router.route(self.rows, message)
        self.rows.update(turn.stored)
        for gone in turn.deleted:
            del self.rows[gone]
        self.done += turn.actions
        return turn.actions


def begin_dialog(bench: Bench) -> Handle:
    """Return the outbound dialog of a bench that has received m1 on D3."""
    begin, _ = bench.receive(D3, "Order", M1, 0)
    assert isinstance(begin, Begin)
    return begin.handle


# --- the examples --------------------------------------------------------------------------------


@shows("EX-68", "U-41")
def test_ex_68_a_dialog_is_classified_once() -> None:
    """m1 on D3 names S4: D4 is begun, both rows are stored, m1 goes on unchanged; so does m2."""
    bench = Bench()
    begin, send = bench.receive(D3, "Order", M1, 0)
    assert isinstance(begin, Begin) and isinstance(send, Send)
    d4 = begin.handle
    assert (begin.to_service, begin.contract, begin.related) == ("S4", "C", D3)
    assert d4.is_initiator and d4.conversation != D3.conversation
    assert bench.rows == {D3: d4, d4: D3}
    assert (send.handle, send.type, send.body) == (d4, "Order", M1)
    (second,) = bench.receive(D3, "Detail", b"not even XML", 1)
    assert isinstance(second, Send)
    assert (second.handle, second.type, second.body) == (d4, "Detail", b"not even XML")
    assert bench.calls == [M1]


@shows("EX-69")
def test_ex_69_a_reply_is_passed_back_without_classification() -> None:
    """S4 answers on D4: the answer is sent on D3."""
    bench = Bench()
    d4 = begin_dialog(bench)
    (reply,) = bench.receive(d4, "Reply", b"<done/>", 0)
    assert isinstance(reply, Send)
    assert (reply.handle, reply.type, reply.body) == (D3, "Reply", b"<done/>")
    assert bench.calls == [M1]


@shows("EX-70")
@pytest.mark.parametrize("by_target", [True, False])
def test_ex_70_the_end_of_one_is_the_end_of_both(by_target: bool) -> None:
    """S4 ends D4, or S3 ends D3: the router ends both, and keeps no row."""
    bench = Bench()
    d4 = begin_dialog(bench)
    ended, other = (d4, D3) if by_target else (D3, d4)
    actions = bench.receive(ended, END_DIALOG, b"", 1)
    assert [(a.handle, a.code) for a in actions if isinstance(a, End)] == [
        (other, None), (ended, None),
    ]  # fmt: skip
    assert len(actions) == 2 and bench.rows == {}


@shows("EX-70", "U-41")
@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (error_body(17, "sold <out> & gone"), 17, "forwarded: sold <out> & gone"),
        (
            error_body(-8489, "the lifetime has expired"),
            8489,
            "forwarded: the lifetime has expired",
        ),
        (error_body(5, "x" * 5000), 5, "forwarded: " + "x" * 2989),
        (error_body(2**31, "beyond"), 1, "forwarded: beyond"),
        (b"rubbish", 1, "forwarded: "),
    ],
    ids=["plain", "of the broker", "long", "no code", "unreadable"],
)
def test_ex_70_an_error_is_wrapped(body: bytes, code: int, text: str) -> None:
    """Error on D4: D3 ends with that error, a broker's code without its sign; D4 just ends."""
    bench = Bench()
    d4 = begin_dialog(bench)
    there, here = bench.receive(d4, ERROR, body, 0)
    assert isinstance(there, End) and isinstance(here, End)
    assert (there.handle, there.code, there.text) == (D3, code, text)
    assert (here.handle, here.code) == (d4, None)
    assert bench.rows == {}


@shows("EX-70")
@pytest.mark.parametrize(("type_", "body"), [(END_DIALOG, b""), (ERROR, error_body(1, "no"))])
def test_ex_70_without_a_row_only_that_dialog_is_ended(type_: str, body: bytes) -> None:
    """An end before any message that could have been classified."""
    bench = Bench()
    (end,) = bench.receive(D3, type_, body, 0)
    assert isinstance(end, End) and (end.handle, end.code) == (D3, None)


@shows("EX-72")
def test_ex_72_a_dialog_keeps_its_router() -> None:
    """1,000 dialogs, 4 routers behind full routes: all used, each dialog by one only, also locked.

    The routers' dialogs to l partitions differ, whichever router begins them.
    """
    routers = [f"R{n}" for n in range(4)]
    routes = RoutingTable(
        Route(r, "Routing", r, network(r), route_id=n) for n, r in enumerate(routers)
    )
    here = RoutingDatabase("A", "A", frozenset({"I"}), routes=routes)
    home = Instance("Home", network("Home"), databases={"A": here})
    inside = Query("Routing", Origin.INSIDE, database="A")
    before = plan(home, inside, 0.0)
    used: Counter[str] = Counter()
    outbound: set[uuid.UUID] = set()
    for n in range(1000):
        dialog = uuid.uuid5(uuid.UUID(int=72), str(n))
        first = before.decision(dialog)
        assert first.verdict is Verdict.SEND and first.broker is not None
        again = plan(home, inside, 1.0).decision(dialog)
        locked = Query("Routing", Origin.INSIDE, broker=first.broker, database="A")
        assert again == first
        assert plan(home, locked, 2.0).decision(dialog).addresses == first.addresses
        used[first.broker] += 1
        router = Router("Routing", first.broker, to_service_name)
        message = Incoming(Handle(dialog, False), uuid.uuid5(dialog, "m"), 0, "T", M1, "C")
        begin = router.route({}, message).actions[0]
        assert isinstance(begin, Begin)
        outbound.add(begin.handle.conversation)
    assert set(used) == set(routers) and min(used.values()) > 200
    assert len(outbound) == 1000


# --- one rule each -------------------------------------------------------------------------------


def raises(_: bytes) -> str:
    raise ZeroDivisionError


CLASSIFIERS: dict[str, Callable[[bytes], str | None]] = {
    "raises": raises,
    "nothing": lambda _: None,
    "empty": lambda _: "",
    "too long": lambda _: "x" * 257,
    "too long in UTF-16": lambda _: "\U0001f600" * 129,
    "half a character": lambda _: "\ud800",
    "no text": lambda _: 5,  # type: ignore[return-value]
    "itself": lambda _: "Routing",
}


@shows("U-41")
@pytest.mark.parametrize("classify", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_what_cannot_be_classified_ends_with_error_1(
    classify: Callable[[bytes], str | None],
) -> None:
    """U-41: END WITH ERROR, code 1; no dialog is begun and no row stored. Redirecting likewise."""
    message = Incoming(D3, uuid.UUID(int=1), 0, "T", M1, "C")
    turn = Router("Routing", "R", classify).route({}, message)
    (end,) = turn.actions
    assert isinstance(end, End) and (end.handle, end.code) == (D3, 1) and end.text
    assert (turn.stored, turn.deleted) == ((), ())
    assert Redirector("Routing", "R", classify, "Redirect").route(message).actions == (end,)


def test_the_longest_name_is_256_units() -> None:
    """The limit of a remote service's name is the limit of what may be named."""
    for name in ("x" * 256, "\U0001f600" * 128):
        router = Router("Routing", "R", lambda _, name=name: name)  # type: ignore[misc]
        begin, _ = router.route({}, Incoming(D3, uuid.UUID(int=1), 0, "T", b"", "C")).actions
        assert isinstance(begin, Begin) and begin.to_service == name


SAMPLES = [
    (M1, "S4"),
    ("<?xml version='1.0' encoding='utf-16'?>\n<message><toServiceName>Größe</toServiceName>"
     "</message>".encode("utf-16"), "Größe"),
    (b"<message><a/><toServiceName>//a&amp;b</toServiceName></message>", "//a&b"),
    (b"<message><toServiceName/></message>", None),
    (b"<message/>", None),
    (b"<other><toServiceName>S4</toServiceName></other>", None),
    (b"<message><deeper><toServiceName>S4</toServiceName></deeper></message>", None),
    (b"<message><toServiceName>S4</toServiceName>", None),
    (b"", None),
    (b'<!DOCTYPE m [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
     b"<message><toServiceName>&e;</toServiceName></message>", None),
    (b'<!DOCTYPE m SYSTEM "http://localhost/x.dtd"><message><toServiceName>S4</toServiceName>'
     b"</message>", None),
    (b"<message><toServiceName>&e;</toServiceName></message>", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "name"), SAMPLES)
def test_the_sample_classifier(body: bytes, name: str | None) -> None:
    """It reads the text at /message/toServiceName, and no document type."""
    assert to_service_name(body) == name


@given(
    st.binary(max_size=60) | st.text("<>&;/!-[]mesagtoServicNm ='\"", max_size=60).map(str.encode)
)
def test_the_sample_classifier_never_raises(body: bytes) -> None:
    """Any bytes are classified or not."""
    to_service_name(body)


@shows("S1")
def test_what_is_received_after_the_end_is_left_alone() -> None:
    """It was in the queue when the dialogs ended: neither a new dialog nor an error comes of it."""
    bench = Bench()
    d4 = begin_dialog(bench)
    bench.receive(d4, END_DIALOG, b"", 0)
    assert bench.receive(D3, "Order", M1, 1) == bench.receive(d4, "Reply", M1, 0) == ()
    assert bench.calls == [M1] and bench.rows == {}


def test_a_timer_is_not_passed_on() -> None:
    """It is the router's own, and no message of the other side."""
    bench = Bench()
    d4 = begin_dialog(bench)
    for handle in (D3, d4, Handle(uuid.UUID(int=99), False)):
        assert bench.receive(handle, DIALOG_TIMER, b"", 0) == ()


def test_another_router_takes_other_ids() -> None:
    """Two copies of the routing service that get the same message begin two dialogs.

    One that gets it again, after a crash, repeats the same statements.
    """
    message = Incoming(D3, uuid.UUID(int=1), 0, "T", M1, "C")
    first, again = (Router("Routing", "R1", to_service_name).route({}, message) for _ in range(2))
    assert first == again
    ids = set()
    for broker in ("R1", "R2"):
        turn = Router("Routing", broker, to_service_name).route({}, message)
        ids |= {action.command_id for action in turn.actions} | {turn.stored[1][1].conversation}
    assert len(ids) == 6


@pytest.mark.parametrize("durable", range(3))
@pytest.mark.parametrize("by_target", [True, False])
def test_who_dies_between_two_rows_has_both_after_the_message_comes_again(
    durable: int, by_target: bool
) -> None:
    """A table's rows are written one after the other, behind the statements and before the offset.

    Answers find their return path, and in the end no row is left.
    """
    first = Incoming(D3, uuid.UUID(int=1), 0, "Order", M1, "C")
    router = Router("Routing", "R", to_service_name)
    both = dict(router.route({}, first).stored)
    d4 = both[D3]
    rows = dict(router.route({}, first).stored[:durable])
    rows.update(router.route(rows, first).stored)
    assert rows == both == {D3: d4, d4: D3}

    last = Incoming(d4 if by_target else D3, uuid.UUID(int=2), 1, END_DIALOG, b"", "C")
    for gone in router.route(rows, last).deleted[:durable]:
        del rows[gone]
    for gone in router.route(rows, last).deleted:
        rows.pop(gone, None)
    assert rows == {}


# --- redirection ---------------------------------------------------------------------------------


@shows("S2")
def test_redirection_answers_with_the_name_and_ends() -> None:
    """One reply, one end; the initiator begins a dialog of its own with that service."""
    redirector = Redirector("Routing", "R", to_service_name, "Redirect")

    def turn(type_: str, body: bytes, sequence: int) -> Turn:
        return redirector.route(Incoming(D3, uuid.UUID(int=7), sequence, type_, body, "C"))

    reply, end = turn("Order", M1, 0).actions
    assert isinstance(reply, Send) and isinstance(end, End)
    assert (reply.handle, reply.type, reply.body) == (D3, "Redirect", b"S4")
    assert (end.handle, end.code) == (D3, None)
    assert turn("Order", M1, 1).actions == ()  # sent before the answer was there
    (closed,) = turn(END_DIALOG, b"", 2).actions
    assert isinstance(closed, End) and closed.code is None
    assert turn(DIALOG_TIMER, b"", 0) == Turn()


# --- properties ----------------------------------------------------------------------------------

KINDS = st.sampled_from(["m", "m", "m", "m", "end", "err"])
STEPS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), KINDS), max_size=60)


@shows("U-41", "S1")
@settings(max_examples=300)
@given(STEPS)
def test_any_interleaving_passes_all_on_in_order_and_leaves_no_row(
    steps: list[tuple[int, bool, str]],
) -> None:
    """Three dialogs, both directions, ends and errors, also after the end: the queue is in order.

    Each message before the first end of its pair is passed on once, in order, and none after it;
    nothing is sent on what was ended; rows are those of the pairs that live.
    """
    bench = Bench()
    inbound = [Handle(uuid.UUID(int=100 + n), False) for n in range(3)]
    outbound: dict[Handle, Handle] = {}
    sequence: Counter[Handle] = Counter()
    expected: dict[Handle, list[bytes]] = {}
    over: set[Handle] = set()
    for n, backwards, what in steps:
        h = inbound[n]
        if backwards and h not in outbound:
            continue  # nobody has an outbound dialog to answer on
        handle = outbound[h] if backwards else h
        number = sequence[handle]
        sequence[handle] += 1
        body = M1.replace(b"<x>1", f"<x>{n} {backwards} {number}".encode())
        kind = {"m": "T", "end": END_DIALOG, "err": ERROR}[what]
        actions = bench.receive(handle, kind, error_body(3, "e") if what == "err" else body, number)
        if h in over:
            assert all(isinstance(action, End) for action in actions)
            assert what != "m" or not actions
        elif what != "m":
            over.add(h)
        else:
            if h not in outbound:
                assert isinstance(actions[0], Begin) and actions[0].related == h
                outbound[h] = actions[0].handle
            expected.setdefault(h if backwards else outbound[h], []).append(body)
    sent: dict[Handle, list[bytes]] = {}
    ended: set[Handle] = set()
    for action in bench.done:
        if isinstance(action, Send):
            assert action.handle not in ended
            sent.setdefault(action.handle, []).append(action.body)
        elif isinstance(action, End):
            ended.add(action.handle)
    assert sent == expected
    assert len({action.command_id for action in bench.done}) == len(bench.done)
    living = {h: o for h, o in outbound.items() if h not in over}
    assert bench.rows == {**living, **{o: h for h, o in living.items()}}
    assert ended >= {o for h, o in outbound.items() if h in over} | over
