"""Check the causes for every message in a transmission queue."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from streams.analysis.diagnose.case import Case
from streams.analysis.diagnose.cause import Cause, Evidence
from streams.analysis.diagnose.context import context, status_text
from streams.analysis.diagnose.group import EXAMPLES, Group
from streams.analysis.diagnose.report import Diagnosis
from streams.analysis.diagnose.status import Status, read_status
from streams.analysis.diagnose.table import CAUSES
from streams.analysis.estate import Estate
from streams.topology.snapshot import ConversationEndpoint, LiveInstance, QueuedMessage, Snapshot

FLIGHT = 300.0
"""Seconds for which an unacknowledged message is normal, because retries are a minute apart."""


def diagnose_messages(
    estate: Estate, snapshot: Snapshot, live: LiveInstance
) -> Iterator[Diagnosis]:
    """Yield diagnoses of the messages in the transmission queues of one instance."""
    instance = estate.topology.instances[live.name]
    sides = {endpoint.handle: endpoint for endpoint in live.endpoints}
    groups: dict[Hashable, Group[Case]] = {}
    statuses: dict[str | None, Status] = {}
    for message in live.messages:
        if message.status not in statuses:
            statuses[message.status] = read_status(message.status, live.texts)
        status, side = statuses[message.status], sides.get(message.handle)
        age = _age(live, message.enqueued)
        old = age is None or age > FLIGHT
        key = (message.database, *_same(message, status), *_same_side(side, live), old)
        if key not in groups:
            database = instance.database(message.database) or instance.msdb
            case = Case(estate, snapshot, live, instance, database, message, status, side, old)
            groups[key] = Group(case)
        conversation = None if side is None else side.conversation
        groups[key].add(conversation, message.source, age, status.text)
    yield from _merged(_of_message(group) for group in groups.values())


def _same(message: QueuedMessage, status: Status) -> tuple[Hashable, ...]:
    wire = (message.to_service, message.to_broker, message.from_service, message.contract)
    return (*wire, status.number or status.text)


def _same_side(side: ConversationEndpoint | None, live: LiveInstance) -> tuple[Hashable, ...]:
    if side is None:
        return (None,)
    over = side.expires is not None and live.taken_at is not None and side.expires < live.taken_at
    return (side.initiator, side.state, side.far_broker, over)


def _age(live: LiveInstance, since: float | None) -> float | None:
    """Return an age in seconds, measured by the clock of the snapshot's own instance."""
    return None if since is None or live.taken_at is None else max(live.taken_at - since, 0.0)


_Found = tuple[Hashable, Evidence, Diagnosis]
"""A diagnosis with its cause and services, and with the facts of its evidence."""


def _of_message(group: Group[Case]) -> _Found:
    case = group.first
    cause, found, also = _walk(case)
    reported = tuple(status_text(case))
    facts = tuple(sentence for sentence in found if sentence not in reported)
    text = case.status.text if cause.code == "unexplained" else None
    head = (cause.code, case.at, case.message.from_service, case.message.to_service, text)
    quoted = (f'"{each}"' for each in group.texts)
    evidence = tuple(dict.fromkeys((*found, *reported, *quoted, *context(case))))
    return head, facts, Diagnosis(
        cause, case.at, case.message.from_service or "", case.message.to_service, group.count,
        group.oldest, evidence, also, tuple(group.conversations), tuple(group.sources),
    )  # fmt: skip


def _walk(case: Case) -> tuple[Cause[Case], Evidence, tuple[Cause[Case], ...]]:
    """Return the first cause that applies, its evidence, and the other causes after it."""
    hits = [(cause, found) for cause in CAUSES if (found := cause.find(case))]
    (first, evidence), *rest = hits
    left_out = {*_LAST, *(code for cause, _ in hits for code in cause.implies)}
    return first, evidence, tuple(cause for cause, _ in rest if cause.code not in left_out)


_LAST = ("target-id-shared", "obstacle-gone", "beyond-the-snapshot", "in-flight", "unexplained")
"""Causes that are reported only if no other cause applies."""


def _merged(found: Iterable[_Found]) -> Iterator[Diagnosis]:
    """Merge diagnoses with the same cause, services and facts, whatever their statuses report.

    A diagnosis without facts, which is known only from its status, is merged with the first one
    that has facts.
    """
    groups: dict[Hashable, list[Diagnosis]] = {}
    known: dict[Hashable, Evidence] = {}
    for head, facts, one in sorted(found, key=lambda each: not each[1]):
        facts = facts or known.get(head, ())
        known.setdefault(head, facts)
        groups.setdefault((head, facts), []).append(one)
    yield from map(_one, groups.values())


def _one(same: list[Diagnosis]) -> Diagnosis:
    """Return the sum of diagnoses, with the evidence of the largest ones."""
    largest = sorted(same, key=lambda d: -d.count)
    ages = [d.oldest for d in same if d.oldest is not None]
    return replace(
        largest[0],
        count=sum(d.count for d in same),
        oldest=max(ages, default=None),
        evidence=tuple(dict.fromkeys(s for d in largest[:EXAMPLES] for s in d.evidence)),
        also=tuple(dict.fromkeys(cause for d in largest for cause in d.also)),
        conversations=tuple(c for d in largest for c in d.conversations)[:EXAMPLES],
        sources=tuple(s for d in largest for s in d.sources)[:EXAMPLES],
    )
