"""Draw a random scenario for a topology: dialogs, changes and faults.

All faults are over when the quiet tail of the run begins. The tail is as long as the time within
which every dialog must finish by invariant 5.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from streams.protocol import DEFAULT, Limits
from streams.simulator.clock import MILLISECOND, SECOND, Chance
from streams.simulator.explore.faults import draw_faults, draw_network
from streams.simulator.explore.topologies import ORDERS, DrawnEstate, Flow
from streams.simulator.finish import tail
from streams.simulator.scenario import (
    Action,
    Application,
    Begin,
    Does,
    End,
    Move,
    Scenario,
    Send,
    Side,
    Step,
    Timer,
)

_RETRIES = ((4_000, 8_000, 16_000, 32_000, 64_000), (1_000, 2_000, 4_000, 8_000), (500, 1_000))


def draw_scenario(estate: DrawnEstate, chance: Chance) -> Scenario:
    """Draw the dialogs, changes and faults of one run."""
    busy = (10 + chance.below(50)) * SECOND
    limits = Limits(
        window=chance.pick((1, 2, 3, 4, 8, 64)),
        hops=chance.pick((16, 16, 3)),
        time_to_live=chance.pick((60_000, 60_000, 20_000, 8_000)),
        retries=chance.pick(_RETRIES),
        fragment=chance.pick((8, 16, 24, 32, 65_536)),
    )
    steps = _dialogs(estate, chance, busy)
    faults, skew = draw_faults(estate, chance, busy, limits)
    steps = sorted([*steps, *faults], key=lambda step: step.at)
    calm = max(busy, *(step.at for step in steps))
    drawn = Scenario(
        tuple(steps),
        network=draw_network(estate.topology, chance, calm),
        applications=_applications(estate, chance),
        aborts=chance.below(15) / 100 if chance.happens(0.4) else 0.0,
        skew=skew,
        memory={name: 20 + chance.below(400) for name in estate.gateways if chance.happens(0.2)},
        limits=limits,
        batch=chance.pick((100, 100, 3, 1)),
        stalls=chance.below(20) / 100 if chance.happens(0.3) else 0.0,
    )
    names = {home.service for home in estate.homes}
    until = calm + tail(estate.topology, drawn, names)
    return replace(drawn, until=until, limits=replace(limits, run=chance.pick((32, 32, 2, 1))))


def _dialogs(estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    count = chance.pick((4, 5, 5, 5, 6, 6, 7, 9))
    steps: list[Step] = []
    for number, at in enumerate(sorted(_moment(chance, busy // 2) for _ in range(count))):
        steps += _dialog(number, at, estate, chance, busy)
    return steps


def _dialog(number: int, at: int, estate: DrawnEstate, chance: Chance, busy: int) -> list[Step]:
    name, flow = f"d{number + 1}", chance.pick(estate.flows)
    contract = estate.contract
    if chance.happens(0.03):
        contract = ORDERS if contract == DEFAULT else DEFAULT
    steps = [Step(at, _begin(name, number, flow, contract, chance))]
    for _ in range(chance.pick((1, 2, 2, 3))):
        steps.append(Step(_later(chance, at, busy), _send(name, contract, chance)))
    if chance.happens(0.25):
        reply = _send(name, contract, chance, Side.TARGET)
        steps.append(Step(_later(chance, at + SECOND, busy), reply))
    for action in _rarely(name, chance):
        steps.append(Step(_later(chance, at, busy), action))
    if chance.happens(0.7):
        steps.append(Step(_later(chance, at + busy // 4, busy), _end(name, chance)))
    return steps


def _begin(name: str, number: int, flow: Flow, contract: str, chance: Chance) -> Begin:
    source = flow.source
    return Begin(
        name,
        source.instance,
        source.database,
        source.service,
        flow.to,
        chance.pick(flow.targets).broker if chance.happens(0.15) else None,
        contract,
        lifetime=5 + chance.below(120) if chance.happens(0.15) else None,
        group=uuid.UUID(int=1 + chance.below(2)) if chance.happens(0.1) else None,
        # If that dialog belongs to another database, BEGIN is rejected, which is also worth
        # testing.
        related=f"d{chance.below(number) + 1}" if number and chance.happens(0.1) else None,
    )


def _send(name: str, contract: str, chance: Chance, side: Side = Side.INITIATOR) -> Send:
    count = chance.pick((1, 1, 2, 3, 4, 5)) if not chance.happens(0.01) else 70
    size = chance.pick((0, 1, 6, 12, 20, 40, 90)) if count < 70 else 4
    kind = DEFAULT
    if contract == ORDERS:
        kind = "Order" if side is Side.INITIATOR else "Reply"
        if chance.happens(0.1):
            return Send(name, side, "Note", "")
    text = "".join(chr(97 + (at + size) % 26) for at in range(size))
    return Send(name, side, kind, f"<o>{text}</o>" if kind == "Order" else text, count)


def _end(name: str, chance: Chance) -> End:
    side = Side.TARGET if chance.happens(0.2) else Side.INITIATOR
    if chance.happens(0.15):
        return End(name, side, (1 + chance.below(9), "enough"))
    return End(name, side, cleanup=chance.happens(0.1))


def _rarely(name: str, chance: Chance) -> list[Action]:
    found: list[Action] = []
    side = Side.TARGET if chance.happens(0.5) else Side.INITIATOR
    if chance.happens(0.12):
        found.append(Timer(name, 1 + chance.below(20), side))
    if chance.happens(0.08):
        found.append(Move(name, uuid.UUID(int=1 + chance.below(2)), side))
    return found


def _applications(estate: DrawnEstate, chance: Chance) -> tuple[Application, ...]:
    found: list[Application] = []
    kind = DEFAULT if estate.contract == DEFAULT else "Reply"
    does: tuple[Does, ...]
    sources = {flow.source for flow in estate.flows}
    for home in estate.homes:
        does, limit = (Does.REPLY, Does.END), None
        if home in sources:
            does, limit = (Does.END,), None
            if estate.contract == DEFAULT and chance.happens(0.15):
                does, limit = (Does.REPLY, Does.END), 5
        elif chance.happens(0.1):
            does = (Does.REPLY,)
        body = "r" * chance.pick((1, 5, 5, 40))
        found.append(
            Application(home.instance, home.database, home.service, does, kind, body, limit)
        )
    return tuple(found)


def _moment(chance: Chance, below: int) -> int:
    return chance.below(max(below // MILLISECOND, 1)) * MILLISECOND


def _later(chance: Chance, at: int, busy: int) -> int:
    """Return a later time, often only slightly later."""
    if chance.happens(0.5):
        return at + _moment(chance, SECOND)
    return at + _moment(chance, max(busy - at, SECOND))
