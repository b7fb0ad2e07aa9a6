"""Derive alarms: the problem, its severity and place, and the remedy.

The input consists of values; :mod:`streams.store.situation` reads them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeVar

from streams.errors import Number, text_of
from streams.prose import counted, listed
from streams.store import message_alarms, monitor_alarms
from streams.store.alarm import Alarm, AlarmKind, Facts, Severity
from streams.store.dialogs import Which
from streams.store.state_rows import Trouble

Row = TypeVar("Row")
Key = TypeVar("Key")

LAG_LEAST = 100
"""A lag of up to this many records is ignored."""
LAG_LOOKS = 60_000
"""Milliseconds without a decrease after which a lag raises an alarm."""

REMEDIES: Mapping[int, str] = {
    Number.NO_ROUTE: "Create a route to the service; 'hopline explain' shows which routes match.",
    Number.TARGET_UNREACHABLE: "Start the worker of the next hop, or change the route.",
    Number.QUEUE_DISABLED: "Fix the receiving application, then enable the queue (hopline queue).",
    Number.WAITING_FOR_CONFIGURATION: "Start the broker configuration service, or create the "
    "route.",
    Number.SENDER_BROKER_OFF: "ALTER DATABASE ... SET ENABLE_BROKER in the sender's database.",
    Number.FORWARDING_DISABLED: "Enable forwarding at the gateway's endpoint: MESSAGE_FORWARDING "
    "= ENABLED.",
    Number.SERVICE_NOT_HERE: "Create the service there, or route to an instance that has it.",
    Number.BROKER_NOT_HERE: "ALTER ROUTE with the current broker id of the target's database.",
}
"""The remedy for each transmission status."""
_LOOK = (
    "Run 'hopline trace' to see how far a probe gets, and 'hopline query sys.transmission_queue'."
)


def decide(facts: Facts) -> tuple[Alarm, ...]:
    """Return all alarms, most severe first."""
    found = [alarm for rule in _RULES for alarm in rule(facts)]
    return tuple(sorted(found, key=lambda a: (-a.severity, -a.count, a.kind.value, a.where)))


def _repeats(facts: Facts) -> Iterator[Alarm]:
    for topic, rows in _by(facts.repeats, lambda r: r.topic):
        yield Alarm(
            Severity.ERROR,
            AlarmKind.REPEAT,
            f"{counted(len(rows), 'message')} arrived in this queue more than once.",
            topic,
            "Exactly-once is broken. Keep the topics and the output of 'hopline tail' for the "
            "dialog, and look for a producer that writes directly to the queue.",
            len(rows),
            min(r.first_at for r in rows),
            _some(r.conversation for r in rows),
        )


def _several_targets(facts: Facts) -> Iterator[Alarm]:
    for (where, whom), rows in _by(facts.refused, lambda trouble: _towards(trouble, facts)):
        dialogs = dict.fromkeys(row.conversation for row in rows)
        yield Alarm(
            Severity.ERROR,
            AlarmKind.SEVERAL_TARGETS,
            f"Copies{whom} reach several targets: a second target answered "
            f"{counted(len(dialogs), 'dialog')}.",
            where,
            "Route to one target only: 'hopline check' finds routes that send to several (TA-12).",
            len(dialogs),
            min(row.first_at for row in rows),
            _some(dialogs),
        )


def _towards(trouble: Trouble, facts: Facts) -> tuple[str, str]:
    """Return the place of a dialog's initiator, and the dialog's far service, if known."""
    side = facts.refusing.get(trouble.conversation)
    if side is None:
        return trouble.instance, ""
    return f"{side.instance}/{side.database}", f" for {side.far_service}"


def _links(facts: Facts) -> Iterator[Alarm]:
    down = [link for link in facts.links if link.up is False]
    for instance, links in _by(down, lambda link: link.other):
        held = sum(link.held_copies for link in links)
        waits = f" {counted(held, 'copy is', 'copies are')} buffered for instances that are down."
        yield Alarm(
            Severity.ERROR,
            AlarmKind.LINK_DOWN,
            f"{instance} sends no heartbeat; {listed([link.instance for link in links])} "
            f"send{'s' if len(links) == 1 else ''} to it.{waits if held else ''}",
            instance,
            "Check that its worker is running and can reach Kafka (hopline status); until then, "
            "route messages around this instance.",
            len(links),
            links[0].seen_at,
        )


def _stuck(facts: Facts) -> Iterator[Alarm]:
    for group in facts.dialogs.get(Which.STUCK, ()):
        number = group.status
        if number == Number.QUEUE_DISABLED or not group.messages:
            continue  # parked messages have their own alarm
        why = f"{number}: {text_of(number)}" if number else "no acknowledgement has arrived"
        yield Alarm(
            Severity.ERROR,
            AlarmKind.STUCK,
            f"{counted(group.messages, 'message')} of {counted(group.sides, 'dialog')} are "
            f"stuck: {why}.",
            group.instance,
            REMEDIES.get(number, _LOOK),
            group.messages,
            group.since,
            _examples(facts, Which.STUCK, group.instance, number),
        )


def _parked(facts: Facts) -> Iterator[Alarm]:
    for one in facts.parked:
        yield Alarm(
            Severity.WARNING,
            AlarmKind.PARKED,
            f"{counted(one.messages, 'message')} arrived and wait for the queue of "
            f"{one.service}, which is off.",
            f"{one.instance}/{one.database}",
            REMEDIES[Number.QUEUE_DISABLED],
            one.messages,
            one.since,
        )


def _dialogs(facts: Facts) -> Iterator[Alarm]:
    for which, kind, severity, what, remedy in _DIALOGS:
        for instance, groups in _by(facts.dialogs.get(which, ()), lambda group: group.instance):
            sides = sum(group.sides for group in groups)
            yield Alarm(
                severity,
                kind,
                f"{counted(sides, 'dialog side')}: {what}",
                instance,
                remedy,
                sides,
                min(group.since for group in groups),
                _examples(facts, which, instance),
            )


_DIALOGS = (
    (
        Which.UNLOCKED,
        AlarmKind.UNLOCKED,
        Severity.WARNING,
        "the initiator has sent messages, but no target has answered.",
        _LOOK,
    ),
    (
        Which.FAILED,
        AlarmKind.FAILED,
        Severity.WARNING,
        "they failed recently and are in the state ERROR.",
        "'hopline tail' shows why (event 124); their applications find an Error in their queues.",
    ),
    (
        Which.LEAKED,
        AlarmKind.LEAKED,
        Severity.WARNING,
        "the other side has ended, or they failed, but their application does not end them.",
        "Make the receiving application answer EndDialog and Error with END CONVERSATION.",
    ),
    (
        Which.IDLE,
        AlarmKind.IDLE,
        Severity.INFO,
        "no message for an hour, but not ended.",
        "Find the application that does not call END CONVERSATION; set a dialog lifetime.",
    ),
)


ALARMING = (Which.STUCK, *(row[0] for row in _DIALOGS))
"""The kinds of dialogs that raise an alarm."""


def _lags(facts: Facts) -> Iterator[Alarm]:
    for (instance, role, topic), rows in _by(facts.lags, lambda s: (s.instance, s.role, s.topic)):
        counts = [row.records for row in rows]
        watched = rows[-1].until - max(rows[0].at, facts.fresh.now - LAG_LOOKS) >= LAG_LOOKS // 2
        shrank = any(after < before for before, after in pairwise(counts))
        if counts[0] >= LAG_LEAST and watched and not shrank:
            yield Alarm(
                Severity.WARNING,
                AlarmKind.LAG,
                f"The {role} is {counted(counts[-1], 'record')} behind in {topic}, and the lag "
                "does not decrease.",
                instance,
                "Check that the worker is running (hopline status); add a worker in another slot, "
                "or move the worker to its own machine.",
                counts[-1],
                rows[0].at,
            )


def _malformed(facts: Facts) -> Iterator[Alarm]:
    for topic, rows in _by(facts.malformed, lambda row: row.topic):
        reasons: Counter[str] = Counter()
        for row in rows:
            reasons[row.reason] += row.count
        total = sum(reasons.values())
        yield Alarm(
            Severity.WARNING,
            AlarmKind.MALFORMED,
            f"{counted(total, 'record')} cannot be read: {listed(sorted(reasons))}.",
            topic,
            "'hopline tail' shows them; find the foreign producer that writes to this topic.",
            total,
            min(row.window_start for row in rows),
        )


_RULES = (
    _repeats, message_alarms.gaps, message_alarms.missing, _several_targets, _links, _stuck,
    _parked, _dialogs, _lags, _malformed, monitor_alarms.late, monitor_alarms.reading,
)  # fmt: skip


def _by(rows: Iterable[Row], key: Callable[[Row], Key]) -> list[tuple[Key, list[Row]]]:
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _examples(
    facts: Facts, which: Which, instance: str, status: int | None = None
) -> tuple[str, ...]:
    return _some(
        side.conversation
        for side in facts.some.get(which, ())
        if side.instance == instance and status in (None, side.status)
    )


def _some(conversations: Iterable[str | None], most: int = 5) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c for c in conversations if c))[:most]
