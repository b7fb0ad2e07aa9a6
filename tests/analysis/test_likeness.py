"""Messages that are routed alike share one decision: the same as each would get alone."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.analysis.paths.likeness import Table
from streams.analysis.paths.network import Common, Network, State
from streams.topology import (
    MSDB,
    Database,
    Endpoint,
    Instance,
    Mirror,
    Role,
    Route,
    Service,
    Topology,
    empty_database,
)
from tests.analysis.test_walk import NOW, topologies

SERVICES = ("S", "I", "Other", "tcp://B:4022/there", "tcp://C:4022/there")
BROKERS = (None, "a", "b", "c", "two", "x", "y")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(topologies(), st.integers(0, 1_000))
def test_every_message_gets_the_same_steps_as_alone(topology: Topology, seed: int) -> None:
    """Any service, broker id and direction, at any table, whoever asked before."""
    questions = list(product(SERVICES, BROKERS, (True, False), _tables(topology)))
    Random(seed).shuffle(questions)
    common, alone = Common.of(topology), Common.of(topology)
    for service, broker, from_initiator, table in questions:
        state = State(*table, broker)
        alone.steps.clear()
        steps = Network(common, service, from_initiator, None, NOW).steps(state)
        assert steps == Network(alone, service, from_initiator, None, NOW).steps(state)


def _tables(topology: Topology) -> list[Table]:
    found: list[Table] = [(name, None) for name in topology.instances]
    for instance in topology.instances.values():
        found += [(instance.name, name) for name in instance.databases]
    return found


def test_messages_that_loop_back_are_distinguished_by_msdb() -> None:
    """The database's route leads to its own instance, whose msdb knows one of two broker ids."""
    home = Database("D", "a", routes=(Route("Out", "S", None, "tcp://A:4022"),))
    msdb = Database(MSDB, "m", routes=(Route("Known", "S", "b", "tcp://B:4022"),))
    here = Instance("A", msdb, {"D": home}, endpoint=Endpoint(forwarding=True))
    network = Network(Common.of(Topology({"A": here})), "S", True, None, NOW)
    (unknown,) = network.steps(State("A", "D", "c"))
    (known,) = network.steps(State("A", "D", "b"))
    assert (unknown.decision.routes, known.decision.routes) == ((), ("Known",))


def test_the_partners_of_a_mirrored_pair_are_asked_for_each_message() -> None:
    """Which of them is the principal of a service, or of a broker id, the sender does not know."""
    routes = tuple(
        Route(f"To {service}", service, None, "tcp://B:4022", "tcp://C:4022")
        for service in (None, "S")
    )
    sender = Database("D", "a", routes=routes)
    topology = Topology({
        "A": Instance("A", empty_database("A", MSDB), {"D": sender}),
        "B": Instance("B", empty_database("B", MSDB), _pair(Role.PRINCIPAL, Role.MIRROR)),
        "C": Instance("C", empty_database("C", MSDB), _pair(Role.MIRROR, Role.PRINCIPAL)),
    })  # fmt: skip
    common = Common.of(topology)

    def led(service: str, broker: str | None) -> list[str]:
        steps = Network(common, service, True, None, NOW).steps(State("A", "D", broker))
        return [step.following.instance for step in steps if step.following is not None]

    assert [led("S", "s"), led("S", "t"), led("T", None), led("R", None)] == [
        ["B"],
        ["C"],
        ["C"],
        ["B"],
    ]


def _pair(first: Role, second: Role) -> dict[str, Database]:
    return {
        "One": _half("One", "s", ("S", "R"), first), "Two": _half("Two", "t", ("S", "T"), second)
    }  # fmt: skip


def _half(name: str, broker: str, services: tuple[str, ...], role: Role) -> Database:
    made = {service: Service(service, "Q", ("DEFAULT",)) for service in services}
    return Database(name, broker, services=made, mirror=Mirror(name, role))
