"""Alarms about single messages: lost messages, and sequence numbers missing in queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from streams.prose import counted
from streams.store.alarm import Alarm, AlarmKind, Facts, Severity
from streams.store.message_rows import Gap
from streams.store.missing import Missing, Whereabouts

SEVERITIES = {Whereabouts.LOST: Severity.ERROR, Whereabouts.UNKNOWN: Severity.WARNING}
"""The severity of the alarm about a missing message.

Waiting messages are left out because their dialog has an alarm, discards have a known reason,
and what the monitor has not read yet is no verdict.
"""


def missing(facts: Facts) -> Iterator[Alarm]:
    """Return one alarm per service and reason for messages that do not arrive."""
    groups: defaultdict[tuple[Whereabouts, str, str, str], list[Missing]] = defaultdict(list)
    for one in facts.missing:
        if one.whereabouts in SEVERITIES:
            groups[one.whereabouts, one.message.to_service, one.why, one.remedy].append(one)
    for (where, service, why, remedy), rows in groups.items():
        yield Alarm(
            SEVERITIES[where],
            AlarmKind.MISSING,
            f"{counted(len(rows), 'message')} did not arrive. {why}",
            service,
            remedy,
            len(rows),
            min(row.message.seen_at for row in rows),
            tuple(dict.fromkeys(row.message.conversation for row in rows))[:5],
        )


def gaps(facts: Facts) -> Iterator[Alarm]:
    """Return an alarm for each queue in which messages of dialogs are missing."""
    groups: defaultdict[str, dict[tuple[str, bool], Gap]] = defaultdict(dict)
    for gap in facts.gaps:
        known = groups[gap.topic].setdefault((gap.conversation, gap.from_initiator), gap)
        if gap.missing > known.missing:  # two windows overlap
            groups[gap.topic][gap.conversation, gap.from_initiator] = gap
    for topic, found in groups.items():
        absent = sum(gap.missing for gap in found.values())
        yield Alarm(
            Severity.ERROR,
            AlarmKind.GAP,
            f"This queue lacks at least {counted(absent, 'message')} "
            "between other messages of their dialogs.",
            topic,
            "Exactly-once is broken, or records were deleted. Keep the topics and run 'hopline "
            "verify'.",
            absent,
            min(gap.first_at for gap in found.values()),
            tuple(dict.fromkeys(conversation for conversation, _ in found))[:5],
        )
