"""The parts of a cluster to record: topics, start and end offsets.

The order in which end offsets are read ensures that no recorded effect lacks its cause: first the
endpoints' state, then queues and other effects of commands, then commands, and last events. So a
capture of a running system contains every record that `verify` needs to judge messages that the
endpoints' state shows as settled (``streams.report.snapshot``).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from streams.capture.manifest import Manifest, Positions, Recording
from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    Cluster,
    Offsets,
    await_committed,
    first_since,
    read_begins,
    read_ends,
    read_highs,
    topic_ids,
)
from streams.prose import listed
from streams.wire.place import place_of

ONLY_ON_REQUEST = ("presence", "metric", "reading")
"""Topics without traffic (heartbeats, metrics, reading positions), captured only on request."""
_OPEN = 60.0
"""Seconds to wait for an open transaction."""
_NAMED = {"--from": "--since", "--to": "--until"}
"""Former names of options in manifests, so that older recordings can be resumed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A time (epoch milliseconds) or an offset, for all partitions, a topic, or a partition."""

    moment: int | None = None
    offset: int = 0
    topic: str | None = None
    partition: int | None = None

    def __str__(self) -> str:
        if self.moment is not None:
            return str(self.moment)
        partition = "" if self.partition is None else f"/{self.partition}"
        return f"{self.topic or ''}{partition}@{self.offset}"

    def means(self, topic: str, partition: int) -> bool:
        """Return whether the point applies to a partition."""
        return self.topic in (None, topic) and self.partition in (None, partition)


def choose(
    cluster: Cluster,
    existing: Mapping[str, int],
    *,
    needed: Collection[str] | None = None,
    instances: Collection[str] = (),
    patterns: Sequence[str] = (),
) -> list[str]:
    """Return the names of the topics to record; ``needed`` are the topics of a topology.

    Raises UsageError if an instance or a pattern matches no topic, SurroundingsError if the cluster
    lacks a needed topic.
    """
    places = {name: place_of(name, cluster.topics) for name in sorted(existing)}
    ours = {name: place for name, place in places.items() if place is not None}
    if needed is not None:
        ours = {name: place for name, place in ours.items() if name in needed}
        missing = sorted(n for n in set(needed) - set(ours) if not n.startswith(_unasked(cluster)))
        if missing:
            more = f" ({len(missing) - 1} more like this)" if missing[1:] else ""
            raise SurroundingsError(
                f"Topic {missing[0]} does not exist{more}.",
                "Run 'hopline apply TOPOLOGY' to create it, or leave --topology out.",
            )
    if patterns:
        named = list(places if needed is None else ours)
        chosen = {n for p in patterns for n in _matching(named, p, cluster.topics.prefix)}
        ours = {name: place for name, place in ours.items() if name in chosen}
        others = chosen - set(ours)
    else:
        ours = {name: place for name, place in ours.items() if place.kind not in ONLY_ON_REQUEST}
        others = set()
    for instance in instances:
        if instance not in {place.instance for place in ours.values()}:
            known = sorted({place.instance for place in ours.values() if place.instance})
            raise UsageError(
                f"There are no topics of instance '{instance}'.",
                f"Known: {listed(known, 9)}." if known else "Check --prefix.",
            )
    if instances:
        others, ours = set(), {n: p for n, p in ours.items() if p.instance in instances}
    if not ours and not others:
        raise UsageError(
            f"There are no topics with the prefix '{cluster.topics.prefix}'.",
            "Run 'hopline apply TOPOLOGY', or give another prefix with --prefix.",
        )
    return sorted({*ours, *others})


def _unasked(cluster: Cluster) -> tuple[str, ...]:
    return tuple(cluster.topics.prefix + kind for kind in ONLY_ON_REQUEST)


def _matching(names: Collection[str], pattern: str, prefix: str) -> list[str]:
    found = [
        n for n in names if any(fnmatch.fnmatchcase(n, p) for p in (pattern, prefix + pattern))
    ]
    if not found:
        raise UsageError(
            f"No topic matches '{pattern}'.",
            "Write it like 'queue.*'; hopline tail lists the topics.",
        )
    return found


def begin(
    cluster: Cluster,
    topics: Sequence[str],
    asked: Mapping[str, str],
    *,
    since: Sequence[Point] = (),
    until: Sequence[Point] = (),
    follow: bool = False,
) -> Recording:
    """Return a new recording.

    Without ``since``, each partition is recorded from the start of its log; without ``until``, up
    to its current end, or endlessly if it is followed. Raises UsageError for a point that matches
    no partition.
    """
    ids = {topic: str(found) for topic, found in topic_ids(cluster, topics).items()}
    highs = _highs(cluster, topics)
    begins = _at(cluster, since, read_begins(cluster, topics), highs, "--since")
    for place, offset in begins.items():
        if offset > highs[place]:
            raise UsageError(
                f"{place[0]}/{place[1]} has no offset {offset:,} yet: it ends at {highs[place]:,}.",
                f"Give an offset of at most {highs[place]:,} with --since.",
            )
    ends = None
    if not follow:
        ends = _at(cluster, until, highs, highs, "--until")
        ends = {place: min(end, highs[place]) for place, end in ends.items()}
        await_committed(cluster, ends, _OPEN)
    upto = None if ends is None else nested(ends)
    return Recording(cluster.id(), dict(asked), ids, nested(begins), upto)


def go_on(manifest: Manifest, wanted: Recording, *, follow: bool) -> Recording:
    """Return the recording that continues an interrupted or followed recording.

    ``wanted`` is the recording that the command would start now. Raises UsageError if it differs
    from the interrupted recording, or if topics were recreated.
    """
    known = manifest.recording
    if known is None:
        raise UsageError(
            "The capture in the folder was not recorded from Kafka.", "Choose another folder."
        )
    if known.cluster != wanted.cluster:
        raise UsageError(
            "The capture was recorded from another Kafka cluster.", "Choose another folder."
        )
    for name in sorted({*known.asked, *wanted.asked}):
        before, now = known.asked.get(name, ""), wanted.asked.get(name, "")
        if before != now:
            raise UsageError(
                f"The folder's capture was started with {_NAMED.get(name, name)} "
                f"{before or '(nothing)'}, not with {now or '(nothing)'}.",
                "Repeat the same options to continue, or choose another folder.",
            )
    for topic, found in known.topics.items():
        if wanted.topics.get(topic) != found:
            raise UsageError(
                f"The topic {topic} has been recreated since the capture was started.",
                "Record it into another folder.",
            )
    begins = {**wanted.begins, **known.begins}
    ends = None if follow else known.ends or wanted.ends
    if ends is not None:
        begins = {topic: begins[topic] for topic in ends}
    topics = {**wanted.topics, **known.topics}
    return Recording(known.cluster, known.asked, {t: topics[t] for t in begins}, begins, ends)


def widened(cluster: Cluster, recording: Recording, new: Mapping[str, int]) -> Recording:
    """Return a recording with more topics, each from its start.

    ``new`` contains the numbers of partitions by topic.
    """
    ids = {topic: str(found) for topic, found in topic_ids(cluster, list(new)).items()}
    begins = {topic: dict.fromkeys(range(count), 0) for topic, count in new.items()}
    return replace(
        recording, topics={**recording.topics, **ids}, begins={**recording.begins, **begins}
    )


def flat(positions: Positions) -> Offsets:
    """Return offsets by (topic, partition)."""
    return {(topic, p): offset for topic, of in positions.items() for p, offset in of.items()}


def nested(offsets: Offsets) -> Positions:
    """Return offsets by topic, then partition, in order."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[partition] = offset
    return found


def _highs(cluster: Cluster, topics: Sequence[str]) -> Offsets:
    """Return the end offsets of topics, such that no recorded effect lacks its cause."""
    found: Offsets = {}
    steps: tuple[tuple[tuple[str, ...], Callable[[Cluster, Sequence[str]], Offsets]], ...] = (
        (("dialog",), read_ends),
        (("queue",), read_highs),
        (("in", "ack", "txq", "ingress", "out", "result"), read_highs),
        (("cmd",), read_highs),
    )
    left = list(topics)
    for kinds, read in steps:
        prefixes = tuple(f"{cluster.topics.prefix}{kind}." for kind in kinds)
        now = [topic for topic in left if topic.startswith(prefixes)]
        left = [topic for topic in left if topic not in now]
        found |= read(cluster, now)
    return found | read_highs(cluster, left)


def _at(
    cluster: Cluster, points: Sequence[Point], default: Offsets, highs: Offsets, option: str
) -> Offsets:
    found, places = dict(default), set()
    for point in points:
        meant = [place for place in highs if point.means(*place)]
        if not meant:
            where = f"{point.topic}" + ("" if point.partition is None else f"/{point.partition}")
            raise UsageError(
                f"{option} names {where}, which is not recorded.",
                "Give a topic with its prefix, and an existing partition.",
            )
        if point.moment is None:
            found.update((place, point.offset) for place in meant)
        else:
            first = first_since(cluster, meant, point.moment)
            found.update((place, first.get(place, highs[place])) for place in meant)
        places.update(meant)
    return found
