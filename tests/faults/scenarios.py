"""The runs of the fault suite: the faults for each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.brief import LONGEST
from tests.faults.plan import FaultKind, Wanted

FORWARDERS = (
    "forwarder/ServerA",
    "forwarder/GatewayA",
    "forwarder/GatewayB",
    "forwarder/ServerB",
)
ENDPOINTS = ("endpoint/ServerA", "endpoint/ServerB")
WORKERS = (*FORWARDERS, *ENDPOINTS)
APPLICATIONS = ("source", "target")
EVERYBODY = (*WORKERS, *APPLICATIONS)
DRAINING = ("forwarder/ServerA", "forwarder/GatewayA", "forwarder/GatewayB", "endpoint/ServerB")
"""The processes that a message passes after it was accepted, where a backlog drains."""
ABSENCE = (LONGEST + 5, LONGEST + 20)
ONE, THREE = ("1",), ("1", "2", "3")
WHOLE = 1_500.0
"""Seconds of load for which the numbers below are meant."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: its faults, its number of brokers, and its share of the time.

    ``junk``: percentage of meaningless records. ``hostile``: hostile records per hundred messages
    in each kind of topic, or only in ``kinds``, after a while. ``shifted``: processes use clocks
    that the test shifts. ``keep``: seconds for which processed records are kept before topics are
    trimmed. ``brief``: all retention is shorter than a minute (``tests/faults/brief.py``). ``two``:
    two clusters, with only ServerB in the second one. ``standbys``: endpoint workers that have a
    standby, which is named after its worker. ``times``: factor of the message rate of
    other runs, on dialogs of ``length`` messages. ``shortest``: seconds of load that the faults of
    the run need, however short the other runs are.
    """

    name: str
    title: str
    wanted: Sequence[Wanted]
    share: float
    brokers: int = 1
    junk: float = 0.0
    hostile: float = 0.0
    kinds: Sequence[str] = ()
    shifted: bool = False
    keep: float | None = None
    brief: bool = False
    two: bool = False
    standbys: Sequence[str] = ()
    times: float = 1.0
    length: int = 20
    shortest: float = 0.0

    def duration(self, seconds: float) -> float:
        """Return this run's seconds of load, if all runs together would last this long."""
        return max(self.shortest, seconds * self.share)

    def scaled(self, factor: float) -> Scenario:
        """Return the run for another duration, with the same rate of faults, each at least once.

        Faults with kills after them happen at least once to each victim.
        """
        wanted = [
            replace(w, count=max(len(w.victims) if w.then else 1, round(w.count * factor)))
            for w in self.wanted
        ]
        return replace(self, wanted=tuple(wanted))


SCENARIOS = (
    Scenario(
        "roles",
        "Every role is killed",
        (
            Wanted(FaultKind.KILL, FORWARDERS, 100),
            Wanted(FaultKind.KILL, ENDPOINTS, 60),
            Wanted(FaultKind.KILL, APPLICATIONS, 40),
            Wanted(FaultKind.PAUSE, EVERYBODY, 40, (1.0, 15.0)),
        ),
        share=0.46,
    ),
    Scenario(
        "kafka",
        "One broker stops and restarts",
        (
            Wanted(FaultKind.BROKER_KILL, ONE, 3, (1.0, 8.0)),
            Wanted(FaultKind.BROKER_RESTART, ONE, 3, (1.0, 8.0)),
            Wanted(FaultKind.DISK_FULL, ONE, 2, (2.0, 8.0)),
        ),
        share=0.1,
    ),
    Scenario(
        "paused",
        "One broker is paused",
        (
            Wanted(FaultKind.BROKER_PAUSE, ONE, 6, (1.0, 20.0)),
            Wanted(FaultKind.BROKER_PAUSE, ONE, 2, (20.0, 60.0)),
        ),
        share=0.16,
    ),
    Scenario(
        "replicas",
        "Three brokers: leaders fail, coordinators move",
        (
            Wanted(FaultKind.BROKER_KILL, THREE, 4, (5.0, 12.0)),
            Wanted(FaultKind.BROKER_RESTART, THREE, 2, (5.0, 12.0)),
        ),
        share=0.1,
        brokers=3,
    ),
    Scenario(
        "groups",
        "Transactions, rebalances and invalid records",
        (
            Wanted(FaultKind.FENCE, ENDPOINTS, 6),
            Wanted(FaultKind.ABANDON, ENDPOINTS, 3),
            Wanted(FaultKind.CROWD, WORKERS, 8),
        ),
        share=0.08,
        junk=1.0,
    ),
    Scenario(
        "clocks",
        "Clocks are wrong",
        (
            Wanted(
                FaultKind.CLOCK, ("ServerA", "GatewayA", "GatewayB", "ServerB"), 4, (10, 20), 600
            ),
            Wanted(FaultKind.AWAY, WORKERS, 2, (8.0, 12.0)),
        ),
        share=0.08,
        shifted=True,
    ),
    Scenario(
        "trimmed",
        "Topics are trimmed immediately",
        (
            Wanted(FaultKind.KILL, WORKERS, 12),
            Wanted(FaultKind.PAUSE, WORKERS, 6, (1.0, 15.0)),
            Wanted(FaultKind.ABANDON, ENDPOINTS, 2),
        ),
        share=0.08,
        keep=0.0,
    ),
    Scenario(
        "backlog",
        "Absences, and their backlog drains",
        (
            Wanted(
                FaultKind.ABSENT,
                ("ServerB", "Gateway", "endpoint/ServerB"),
                3,
                (20.0, 30.0),
                then=DRAINING,
            ),
            Wanted(
                FaultKind.QUEUE_OFF,
                ("ServerB/DatabaseB/TargetQueue",),
                1,
                (20.0, 30.0),
                then=DRAINING,
            ),
            Wanted(FaultKind.KILL, WORKERS, 6),
        ),
        share=0.12,
        times=4.0,
        length=250,
        shortest=160.0,
    ),
    Scenario(
        "absences",
        "Absences longer than every retention",
        (
            Wanted(
                FaultKind.ASLEEP,
                ("forwarder/ServerA", "endpoint/ServerB", *APPLICATIONS),
                4,
                ABSENCE,
            ),
            Wanted(
                FaultKind.GONE,
                ("forwarder/GatewayA", "endpoint/ServerA", *APPLICATIONS),
                4,
                ABSENCE,
            ),
            Wanted(
                FaultKind.REPLACED,
                ("forwarder/ServerB", "endpoint/ServerB", *APPLICATIONS),
                4,
                ABSENCE,
            ),
            Wanted(
                FaultKind.ASLEEP,
                ("endpoint/ServerA/standby",),
                1,
                ABSENCE,
                then=("endpoint/ServerA",),
            ),
        ),
        standbys=("endpoint/ServerA",),
        share=0.28,
        brief=True,
        times=0.2,
    ),
    Scenario(
        "absences-trimmed",
        "Absences while topics are trimmed immediately",
        (
            Wanted(FaultKind.ASLEEP, ("forwarder/ServerA", "endpoint/ServerB"), 2, ABSENCE),
            Wanted(FaultKind.GONE, ("forwarder/GatewayA", "endpoint/ServerA"), 2, ABSENCE),
            Wanted(FaultKind.REPLACED, ("forwarder/ServerB", "endpoint/ServerB"), 2, ABSENCE),
        ),
        share=0.2,
        keep=0.0,
        brief=True,
        times=0.2,
    ),
    Scenario("hostile", "Hostile records in every topic", (), share=0.44, hostile=5.0),
    Scenario(
        "apart",
        "Two clusters are disconnected",
        (Wanted(FaultKind.APART, ("two clusters",), 1, (75.0, 90.0)),),
        share=0.1,
        two=True,
    ),
)

SHORT = Scenario(
    "short",
    "A little of each",
    (
        Wanted(FaultKind.KILL, EVERYBODY, 8),
        Wanted(FaultKind.PAUSE, WORKERS, 2, (1.0, 3.0)),
        Wanted(FaultKind.FENCE, ENDPOINTS, 1),
        Wanted(FaultKind.ABANDON, ENDPOINTS, 1),
        Wanted(FaultKind.CROWD, WORKERS, 1),
        Wanted(FaultKind.BROKER_KILL, ONE, 1, (0.0, 1.0)),
    ),
    share=1.0,
    junk=1.0,
)
