"""SIGKILL of agents at random points: every order is answered, once, in order.

AGENT_MESSAGES is the number of orders (1,000), AGENT_KILLS the number of kills in each half (3);
``AGENT_MESSAGES=20000 AGENT_KILLS=15`` is the long run.
"""

from __future__ import annotations

import os
import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from streams.client import Conversation, Receiver
from streams.kafka import read_all
from tests.agents.rig import ACCEPTED, AT_A, AT_B, CONTRACT, ORDER, ORDERS, WEB, make_anew, shop
from tests.faults.agents import ENDS
from tests.faults.processes import Child
from tests.faults.test_applications import AHEAD, kill_at, what_is_wrong
from tests.running import System, eventually, running
from tests.workers.rig import pause

ASKED = int(os.environ.get("AGENT_MESSAGES", "1000"))
KILLS = int(os.environ.get("AGENT_KILLS", "3"))
DIALOGS, SHORT = 30, 20
"""Every twentieth order has its own dialog, which the agent ends."""
APPLICATIONS = ("one", "two")


class Customer:
    """Sends orders, a few hundred ahead of the answers, and keeps the answers."""

    def __init__(self, system: System, receiver: Receiver) -> None:
        self.system, self._receiver = system, receiver
        self._client = system.client()
        self._long = [self._begin() for _ in range(DIALOGS)]
        self.sent, self.limit = 0, ASKED // 2
        self.got: dict[tuple[str, object], list[int]] = defaultdict(list)
        self.expected: dict[tuple[str, object], list[int]] = defaultdict(list)
        self._ends: Counter[object] = Counter()

    def _begin(self) -> Conversation:
        return self._client.begin(*AT_A, WEB, ORDERS, contract=CONTRACT, wait=False)

    def _send(self) -> None:
        number, ends = self.sent, self.sent % SHORT == 0
        dialog = self._begin() if ends else self._long[number % DIALOGS]
        body = b"%b %d" % (ENDS, number) if ends else b"go %d" % number
        self._client.send(dialog, body, type=ORDER)
        for name in APPLICATIONS[:1] if ends else APPLICATIONS:
            self.expected[name, dialog.id].append(number)
        self.sent += 1

    def answered(self) -> int:
        """Receive answers; return how many orders the slower application has answered."""
        self.system.check()
        for message in self._receiver.receive(0.02):
            if message.type == ACCEPTED:
                name, _, number = message.body.decode().split()
                self.got[name, message.conversation.id].append(int(number))
            else:
                self._ends[message.conversation.id] += 1
        self._receiver.commit()
        done = min(self._done("one"), self._done("two") + (self.sent + SHORT - 1) // SHORT)
        while self.sent < min(self.limit, done + AHEAD):
            self._send()
        return done

    def _done(self, name: str) -> int:
        return sum(len(numbers) for (who, _), numbers in self.got.items() if who == name)

    def finish(self) -> dict[str, list[int]]:
        """Return the faults, after all answers should have arrived."""
        assert self._receiver.receive(2) == ()
        self._client.close()
        assert set(self._ends.values()) == {1} and len(self._ends) == len(range(0, ASKED, SHORT))
        return what_is_wrong(self.got, self.expected)  # type: ignore[arg-type]


def kill_all(customer: Customer, children: list[Child], chance: random.Random) -> None:
    """Kill the agents in turn, at random points of the orders that may be sent now."""
    points = sorted(chance.sample(range(customer.sent + 20, customer.limit - AHEAD), KILLS))
    marks = [(point, children[n % 2]) for n, point in enumerate(points)]
    kill_at(marks, customer.answered, customer.limit, children, 400 + ASKED / 5)


@pytest.mark.long
@pytest.mark.timeout(3600 if ASKED > 1000 else 1500)
def test_agents_that_are_killed_answer_everything_once(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two applications on one queue, with long and short dialogs; halfway its topic is recreated.

    The agents, which are running, detect this and stop; their supervisor restarts them.
    """
    monkeypatch.setenv("HOPLINE_BOOTSTRAP", kafka)
    monkeypatch.setenv("HOPLINE_PREFIX", unique)
    with (
        running(kafka, unique, shop(tmp_path)) as system,
        Receiver(system.cluster, *AT_A, "WebQueue", f"{unique}answers") as receiver,
    ):
        children = [
            Child(
                *(tmp_path / f"{name}.log", "tests.faults.agents", name),
                *("worker", "--loglevel=warn", "--without-web"),
            )
            for name in APPLICATIONS
        ]
        chance = random.Random(20261121)
        customer = Customer(system, receiver)
        try:
            kill_all(customer, children, chance)
            make_anew(system, system.cluster.topics.queue(*AT_B, "OrderQueue"))
            for child in children:
                eventually(lambda c=child: c.code is not None or pause(), "it stops by itself")
                child.start()
            customer.limit = ASKED
            kill_all(customer, children, chance)
        finally:
            for child in children:
                child.stop()
        assert customer.finish() == {"lost": [], "repeated": [], "out of order": []}
        said = [m.headers() for m in read_all(system.cluster, system.cluster.topics.cmd("ServerB"))]
        causes = [dict(headers or ())["sb-cause"] for headers in said]  # type: ignore[arg-type]
    assert len(causes) > len(set(causes)), "no kill came between a statement and its offset"
