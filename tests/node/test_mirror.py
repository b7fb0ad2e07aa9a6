"""Mirrored routes (reference 2.4): who gets the messages, and that nobody else ever does."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import EventKind
from streams.node import (
    Forwarder,
    MirroredRoute,
    Outcome,
    Pair,
    Place,
    Principals,
    Record,
    RoleAnswer,
    RouteState,
    Step,
    catalog_of,
    claims_of,
)
from streams.protocol import DEFAULT, Ack, Claim, Header, Journey, Limits, Parties
from streams.routing import Origin, parse_address
from streams.topology import Role, Topology, failover
from streams.topology.yaml_file import read_document
from streams.wire import Envelope, decode_journey
from streams.wire.records import HOP, MESSAGE, ROUTE, ack_record, header_of, message_record

from .evidence import shows
from .harness import START, conversation

NETWORK = """
instances:
  Home:
    databases:
      AW:
        broker_id: AW
        services: [Initiator]
        routes:
          - {name: R, service_name: OrderParts, broker_instance: O,
             address: 'tcp://partner1:4022', mirror_address: 'tcp://partner2:4022'}
          - {name: C06, service_name: NoBroker,
             address: 'tcp://partner1:4022', mirror_address: 'tcp://partner2:4022'}
          - {name: Plain, service_name: Plain, address: 'tcp://partner1:4022'}
  Gate:
    endpoint: {forwarding: true}
    msdb:
      routes:
        - {name: R, service_name: OrderParts, broker_instance: O,
           address: 'tcp://partner1:4022', mirror_address: 'tcp://partner2:4022'}
  partner1:
    databases:
      Orders:
        broker_id: O
        mirror: {pair: Orders, role: principal}
        services: [OrderParts, NoBroker, Plain]
      Alone: {broker_id: X, services: [Alone]}
  partner2:
    databases:
      Orders:
        broker_id: O
        mirror: {pair: Orders, role: mirror}
        services: [OrderParts, NoBroker, Plain]
"""
ADDRESSES = tuple(
    a for a in map(parse_address, ("tcp://partner1:4022", "tcp://partner2:4022")) if a
)
TOPOLOGY = Topology(read_document(NETWORK, "topology.yaml", START / 1000).instances)
PARTNERS = ("partner1", "partner2")
SECOND = 1000


@dataclass
class Bench:
    """A forwarder with its mirrored routes; partners claim what the truth says, while they are up.

    ``read``: what the forwarder has read of their claims; :meth:`beat` reads what they claim now.
    """

    at: str = "Home"
    down: set[str] = field(default_factory=set)
    now: int = START
    read: dict[str, tuple[Claim, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.truth = TOPOLOGY
        self.catalog = catalog_of(TOPOLOGY, 1)
        self.states: list[RouteState] = []
        self.principals = Principals(self.at, self, lambda at: self.forwarder.instance_at(at))
        self.forwarder = Forwarder(self.at, self.catalog, Envelope, self.reachable, self.principals)

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        return self.read.get(instance)

    def reachable(self, instance: str) -> bool:
        return instance not in self.down

    def send(
        self,
        service: str = "OrderParts",
        *,
        attempt: int = 0,
        dialog: int = 1,
        is_ack: bool = False,
        broker: str | None = None,
    ) -> Outcome:
        """Decide one copy by what was read so far."""
        origin = Origin.INSIDE if self.at == "Home" else Origin.OUTSIDE
        record = frame(service, origin, conversation(dialog), self.now, attempt, is_ack, broker)
        return self.forwarder.handle(record, self.now)

    def beat(self) -> None:
        """Read the catalog, and a heartbeat of each partner that is up."""
        catalog = self.catalog = catalog_of(self.truth, 2)
        self.read |= {name: claims_of(catalog, name) for name in PARTNERS if name not in self.down}
        told = self.principals.look(self.now)
        self.states += [RouteState(event["subclass"]) for event in told]

    def passes(self, seconds: float) -> None:
        """Let time pass, second by second."""
        for _ in range(int(seconds)):
            self.now += SECOND
            self.beat()


def frame(
    service: str,
    origin: Origin,
    dialog: uuid.UUID,
    now: int,
    attempt: int,
    is_ack: bool,
    broker: str | None,
) -> Record:
    parties = Parties(service, broker, "Initiator", "AW", DEFAULT, True)
    copy = Journey(16, now + 60_000, attempt, now)
    header = Header(uuid.UUID(int=5), DEFAULT, 0, now, now + 3_600_000)
    made = ack_record(dialog, parties, Ack(1), copy) if is_ack else None
    key, _, headers = made or message_record(dialog, parties, header, copy, b"")
    route, hop = header_of(headers, ROUTE), header_of(headers, HOP)
    assert route is not None and hop is not None
    return Record(origin, key, route, hop, 100, is_ack, header_of(headers, MESSAGE))


def to(outcome: Outcome) -> str | None:
    """Return the instance that a copy goes to; nobody and 9794 belong together."""
    if not outcome.copies:
        assert outcome.event is not None and outcome.event["error"] == 9794
        return None
    (copy,) = outcome.copies
    assert copy.place is Place.TXQ
    return copy.instance


# --- the examples --------------------------------------------------------------------------------


@shows("P1", "P6")
@pytest.mark.parametrize("service", ["OrderParts", "NoBroker"])
def test_ex_07_only_the_partner_that_claims_gets_the_message(service: str) -> None:
    """First use: nothing is sent before one claims (9794), then all goes there."""
    bench = Bench()
    assert to(bench.send(service)) is None
    bench.beat()
    assert [to(bench.send(service, dialog=n)) for n in range(20)] == ["partner1"] * 20
    assert bench.states == [RouteState.OPERATIONAL]


def test_a_claim_that_was_read_before_the_first_message_counts_at_once() -> None:
    bench = Bench()
    bench.beat()
    assert to(bench.send()) == "partner1"


@shows("EX-08", "P2", "P6")
def test_ex_08_the_principal_is_gone_and_the_partner_claims() -> None:
    """Traffic goes to the partner as soon as it says that it is the principal."""
    bench = Bench()
    bench.beat()
    assert to(bench.send()) == "partner1"
    bench.beat()
    bench.down.add("partner1")
    bench.truth = failover(bench.truth, "Orders", "partner2")
    assert to(bench.send()) is None  # what partner2 has claimed so far is that it is the mirror
    bench.passes(10)
    assert to(bench.send()) == "partner2"
    assert bench.states == [
        RouteState.OPERATIONAL,
        RouteState.NOT_OPERATIONAL,
        RouteState.PRINCIPAL_ONLY,
    ]
    bench.down.clear()
    bench.passes(64)
    assert bench.states[-1] is RouteState.OPERATIONAL
    assert to(bench.send()) == "partner2"


@shows("EX-09", "P3", "U-15")
def test_ex_09_the_partner_does_not_claim() -> None:
    """Nothing goes to either until the principal is back and says that it still is."""
    bench = Bench()
    bench.beat()
    assert to(bench.send()) == "partner1"
    bench.beat()
    bench.down.add("partner1")
    assert to(bench.send()) is None
    for second in range(1, 63):
        bench.passes(1)
        assert to(bench.send(attempt=1)) is None, second
    bench.down.clear()
    bench.passes(64)
    assert to(bench.send()) == "partner1"
    assert bench.states == [
        RouteState.OPERATIONAL, RouteState.NOT_OPERATIONAL, RouteState.OPERATIONAL,
    ]  # fmt: skip


@shows("EX-10", "P2", "P5")
def test_ex_10_the_principal_says_that_it_no_longer_is() -> None:
    """It is reachable; with its next heartbeat, and that of its successor, traffic moves."""
    bench = Bench()
    bench.beat()
    bench.send()
    bench.truth = failover(bench.truth, "Orders", "partner2")
    assert to(bench.send()) == "partner1", "nobody has said anything else"
    bench.passes(1)
    assert to(bench.send(dialog=2)) == "partner2"


@pytest.mark.parametrize("epoch", [1, 4 * 10**18])
def test_a_forged_claim_moves_nothing_and_is_forgotten(epoch: int) -> None:
    """One heartbeat in a partner's name, by whoever may write any: the next real one counts."""
    bench = Bench()
    bench.passes(1)
    assert to(bench.send()) == "partner1"
    for forger, principal in (("partner2", True), ("partner1", False)):
        bench.read[forger] = (Claim("O", principal, epoch),)
        bench.principals.look(bench.now)
        assert to(bench.send(dialog=2)) == "partner1"
    bench.truth = failover(bench.truth, "Orders", "partner2")
    bench.passes(1)
    assert to(bench.send(dialog=3)) == "partner2"


def test_a_claim_that_came_before_its_catalog_counts_when_that_is_read() -> None:
    bench = Bench()
    bench.passes(1)
    bench.send()
    bench.truth = failover(bench.truth, "Orders", "partner2")
    known = bench.catalog
    bench.beat()
    bench.catalog, newer = known, bench.catalog
    bench.principals = Principals(bench.at, bench, lambda at: bench.forwarder.instance_at(at))
    bench.forwarder = Forwarder(bench.at, known, Envelope, bench.reachable, bench.principals)
    assert to(bench.send(dialog=2)) is None
    bench.catalog = newer
    bench.principals.look(bench.now)
    assert to(bench.send(dialog=3)) == "partner2"


# --- one rule each -------------------------------------------------------------------------------


def test_a_forwarder_keeps_the_rules_too() -> None:
    """From outside the same holds, and the copy to the principal uses a hop."""
    bench = Bench("Gate")
    assert to(bench.send(broker="O")) is None
    bench.beat()
    (copy,) = bench.send(broker="O").copies
    assert (copy.instance, decode_journey(copy.hop).hops_remaining) == ("partner1", 15)


def test_without_roles_nothing_is_known() -> None:
    """A forwarder that has nobody to ask delays, and tells the sender's endpoint so."""
    bare = Forwarder("Home", catalog_of(TOPOLOGY, 1), Envelope, lambda _: True)
    made = frame("OrderParts", Origin.INSIDE, conversation(1), START, 0, False, None)
    outcome = bare.handle(made, START)
    assert to(outcome) is None and outcome.status is not None and outcome.status.number == 9794


@shows("P7")
def test_a_plain_route_to_a_mirrored_database_does_not_fail_over() -> None:
    """Rule 9: without MIRROR_ADDRESS the one address is used, whoever is the principal."""
    bench = Bench()
    bench.truth = failover(bench.truth, "Orders", "partner2")
    bench.forwarder.switch(catalog_of(bench.truth, 2))
    assert to(bench.send("Plain")) == "partner1"
    assert not bench.principals.are_asked_for


@shows("P5")
def test_a_doubted_principal_keeps_the_role_until_it_fails_to_answer() -> None:
    """An acknowledgement that is late is no failure; silence when asked is one."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 1)
    route.answer(RoleAnswer(1, Role.MIRROR, 3, 0), 1)
    step = route.failed(0, 10 * SECOND, 20 * SECOND)
    assert (step.ask, route.principal) == ((0, 1), 0)
    assert route.failed(0, 10 * SECOND, 21 * SECOND).ask == (), "it is asked already"
    assert route.tick(23 * SECOND).ask == () and route.principal == 0
    assert route.wanted(24 * SECOND, lambda _: True).ask == (0, 1) and route.principal is None


@shows("P4")
def test_a_deposed_principal_is_not_believed() -> None:
    """A claim under an epoch that is over counts for nothing, in whatever order answers come."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.answer(RoleAnswer(1, Role.PRINCIPAL, 7, 0), 1)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 6, 0), 2)
    assert route.principal == 1
    other = MirroredRoute()
    other.wanted(0, lambda _: True)
    other.answer(RoleAnswer(0, Role.PRINCIPAL, 6, 0), 1)
    assert other.principal == 0
    other.answer(RoleAnswer(1, Role.PRINCIPAL, 7, 0), 2)
    assert other.principal == 1


def test_what_the_mirror_knows_of_a_newer_epoch_ends_an_older_claim() -> None:
    """The holder of the newest epoch is somebody who has not answered: nobody is sent to."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 6, 0), 1)
    route.answer(RoleAnswer(1, Role.MIRROR, 7, 0), 2)
    assert route.principal is None
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 6, 0), 3)
    assert route.principal is None


def test_an_older_answer_of_the_same_partner_is_void() -> None:
    """A claim that was overtaken by its own withdrawal changes nothing."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.tick(4 * SECOND)
    route.answer(RoleAnswer(0, Role.MIRROR, 3, 4 * SECOND), 4 * SECOND)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 4 * SECOND)
    assert route.principal is None


@shows("P4")
def test_an_epoch_has_one_holder() -> None:
    """A second claim of the same epoch counts for nothing: never both, and no change of mind."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 1)
    route.answer(RoleAnswer(1, Role.PRINCIPAL, 3, 0), 2)
    assert route.principal == 0
    route.wanted(3, lambda partner: partner == 1)
    route.answer(RoleAnswer(1, Role.PRINCIPAL, 3, 3), 4)
    assert route.principal is None


def test_a_principal_may_step_down_without_a_successor() -> None:
    """It says mirror under its own epoch: nobody is sent to."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 1)
    route.answer(RoleAnswer(0, Role.MIRROR, 3, 0), 2)
    assert route.principal is None and route.state is RouteState.NOT_OPERATIONAL
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 3)  # of one question that arrived twice
    assert route.principal is None
    step = route.tick(4 * SECOND)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, step.as_of), 4 * SECOND)
    assert route.principal == 0


@shows("P6")
def test_a_partner_that_never_answers() -> None:
    """Subclass 2: the principal is there, the other partner has let a whole round pass."""
    route = MirroredRoute()
    route.wanted(0, lambda _: True)
    assert route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 0), 1).changed is RouteState.OPERATIONAL
    step = route.tick(4 * SECOND)
    assert (step.ask, step.changed) == ((1,), RouteState.PRINCIPAL_ONLY)
    assert route.next_due == 12 * SECOND
    assert (
        route.answer(RoleAnswer(1, Role.MIRROR, 3, 0), 5 * SECOND).changed is RouteState.OPERATIONAL
    )
    assert route.next_due is None


def test_what_was_answered_to_a_former_process_is_void() -> None:
    """Answers that stood in the topic before the first question are not believed."""
    route = MirroredRoute()
    route.wanted(50, lambda _: True)
    route.answer(RoleAnswer(0, Role.PRINCIPAL, 3, 49), 51)
    assert route.principal is None


def test_the_events_name_the_route() -> None:
    """Event 144 says which service and which addresses."""
    bench = Bench()
    bench.send()
    bench.now += 1
    catalog = catalog_of(TOPOLOGY, 1)
    bench.read = {name: claims_of(catalog, name) for name in PARTNERS}
    (told,) = bench.principals.look(bench.now)
    assert told["event"] == EventKind.MIRRORED_ROUTE_STATE_CHANGED and told["at"] == bench.now
    assert told["detail"] == "tcp://partner1:4022 | tcp://partner2:4022"


def test_so_many_routes_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages from outside may name any broker id; one that is forgotten is asked for anew."""
    monkeypatch.setattr("streams.node.mirroring.principals.MOST_PAIRS", 3)
    bench = Bench("Gate")
    bench.beat()
    pairs = [Pair("OrderParts", f"O{n}", ADDRESSES) for n in range(10)]
    for pair in pairs:
        bench.principals.principal(pair, lambda _: True, 0, START)
    assert bench.principals.known(pairs[0]) is None
    assert len(bench.principals.look(START)) <= 20
    real = Pair("OrderParts", "O", ADDRESSES)
    assert bench.principals.principal(real, lambda _: True, 0, START) == 0
    for pair in pairs:
        bench.principals.principal(pair, lambda _: True, 0, START)
    assert bench.principals.known(real) is None
    assert bench.principals.principal(real, lambda _: True, 0, START) == 0


def test_however_a_broker_id_is_spelled_it_is_one_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender spells it: each spelling as a route of its own would be asked for ever."""
    guid = "aabbccdd-1122-3344-5566-778899aabbcc"
    spelled = [guid, guid.upper(), guid.replace("aa", "Aa"), guid.replace("bb", "bB")]
    text = NETWORK.replace("broker_instance: O,", f"broker_instance: '{guid}',")
    text = text.replace("broker_id: O\n", f"broker_id: '{guid}'\n")
    mirrored = Topology(read_document(text, "topology.yaml", START / 1000).instances)
    monkeypatch.setattr(f"{__name__}.TOPOLOGY", mirrored)
    bench = Bench("Gate", down={"partner2"})
    for number, broker in enumerate(spelled):
        bench.send(broker=broker, dialog=number)
    assert len(bench.principals._routes) == 1
    assert len(bench.principals._owed) <= 2


def test_a_copy_answers_no_question_but_its_own_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of others, and each would be looked at for every copy."""
    bench = Bench("Gate")
    pairs = [Pair("OrderParts", f"O{n}", ADDRESSES) for n in range(10)]
    for pair in pairs:
        bench.principals.principal(pair, lambda _: True, 0, START)
    asked: list[Pair] = []

    def noted(_: Principals, pair: Pair, *rest: int) -> bool:
        asked.append(pair)
        return False

    monkeypatch.setattr(Principals, "_answer", noted)
    bench.principals.principal(pairs[3], lambda _: True, 0, START)
    assert set(asked) <= {pairs[3]}


# --- the split that must not happen --------------------------------------------------------------


@dataclass
class Model:
    """Two partners, each with what it believes; questions and answers that may come late or never.

    A failover gives one partner a new epoch at once; the other learns of it only by ``learn``.
    """

    route: MirroredRoute = field(default_factory=MirroredRoute)
    now: int = 0
    epochs: list[int] = field(default_factory=lambda: [0, 0])
    holders: list[int] = field(default_factory=lambda: [0])
    up: list[bool] = field(default_factory=lambda: [True, True])
    questions: list[tuple[int, int]] = field(default_factory=list)
    answers: list[RoleAnswer] = field(default_factory=list)
    heard: list[RoleAnswer] = field(default_factory=list)

    def answer(self, partner: int, as_of: int) -> RoleAnswer:
        known = self.epochs[partner]
        role = Role.PRINCIPAL if self.holders[known] == partner else Role.MIRROR
        return RoleAnswer(partner, role, known, as_of)

    def ask(self, step: Step) -> None:
        self.questions += [(partner, step.as_of) for partner in step.ask]

    def message(self) -> int | None:
        self.ask(self.route.wanted(self.now, lambda n: self.up[n]))
        return self.route.principal

    def take(self, said: RoleAnswer) -> None:
        self.heard.append(said)
        self.ask(self.route.answer(said, self.now))


def fail_over(model: Model, n: int) -> None:
    model.holders.append(n % 2)
    model.epochs[n % 2] = len(model.holders) - 1


def learn(model: Model, n: int) -> None:
    model.epochs[n % 2] = len(model.holders) - 1


def switch(model: Model, n: int) -> None:
    model.up[n % 2] = not model.up[n % 2]


def take_question(model: Model, n: int) -> None:
    if model.questions:
        partner, as_of = model.questions[n % len(model.questions)]  # it may come again
        if model.up[partner]:
            model.answers.append(model.answer(partner, as_of))


def take_answer(model: Model, n: int) -> None:
    if model.answers:
        model.take(model.answers[n % len(model.answers)])


def lose_question(model: Model, n: int) -> None:
    if model.questions:
        model.questions.pop(n % len(model.questions))


def doubt(model: Model, n: int) -> None:
    model.ask(model.route.failed(n % 2, model.now - n, model.now))


def wait(model: Model, n: int) -> None:
    model.now += 1 + 500 * n
    model.ask(model.route.tick(model.now))


def message(model: Model, n: int) -> None:
    """A message wants an address: only the claimed holder of the newest epoch heard of gets it."""
    chosen = model.message()
    if chosen is None:
        return
    assert model.up[chosen], "sent to who is unreachable"
    newest = max(a.epoch for a in model.heard)
    claims = [(a.partner, a.role, a.epoch) for a in model.heard]
    assert (chosen, Role.PRINCIPAL, newest) in claims, "sent to who did not claim"
    assert model.holders[newest] == chosen, "sent to who does not hold the newest epoch"
    last = max((a for a in model.heard if a.partner == chosen), key=lambda a: (a.epoch, a.as_of))
    assert last.role is Role.PRINCIPAL, "sent to who has said since that it is the mirror"


INPUTS = [
    fail_over, learn, switch, take_question, take_question, take_answer, take_answer, take_answer,
    lose_question, doubt, wait, message, message, message,
]  # fmt: skip
inputs = st.lists(st.tuples(st.sampled_from(INPUTS), st.integers(0, 40)), max_size=80)


@shows("P2", "P3", "P4")
@settings(max_examples=500)
@given(inputs)
def test_the_split_that_must_not_happen(
    steps: list[tuple[Callable[[Model, int], None], int]],
) -> None:
    """Whatever is lost, late, repeated or out of order: rules 5 and 6 hold for every message."""
    model = Model()
    for step, n in steps:
        step(model, n)
        message(model, 0)


@settings(max_examples=300)
@given(inputs)
def test_when_faults_stop_the_holder_is_found(
    steps: list[tuple[Callable[[Model, int], None], int]],
) -> None:
    """Two rounds of the longest back-off after the last fault the principal gets the messages."""
    model = Model()
    for step, n in steps:
        step(model, n)
    newest = len(model.holders) - 1
    model.epochs, model.up = [newest, newest], [True, True]
    model.questions.clear()
    longest = Limits().retries[-1]
    for _ in range(0, 2 * longest + SECOND, SECOND):
        model.now += SECOND
        model.message()
        model.ask(model.route.failed(0, model.now - 1, model.now))
        model.ask(model.route.failed(1, model.now - 1, model.now))
        model.ask(model.route.tick(model.now))
        asked, model.questions = model.questions, []
        for partner, as_of in asked:
            model.take(model.answer(partner, as_of))
    assert model.message() == model.holders[newest]
    assert model.route.state is RouteState.OPERATIONAL
