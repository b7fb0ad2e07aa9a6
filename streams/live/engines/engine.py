"""The interface of an engine of `verify`, and its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from streams.capture import CaptureReader
from streams.kafka import Cluster
from streams.report.account import Account, Judge
from streams.report.record_reader import RecordReader
from streams.report.sites import Sites
from streams.report.snapshot import Range

Positions = dict[tuple[str, int], bytes | None]
"""Value of the last positions record, by topic and partition; None if there is no such record."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Parameters for reading records: the owners of topics, and the workers' command offsets."""

    sites: Sites
    read: Mapping[tuple[str, int], int]

    def reader(self) -> RecordReader:
        """Return a reader that has read nothing yet."""
        return RecordReader(self.sites, self.read)


@dataclass(frozen=True, slots=True)
class ClusterSource(_Read):
    """Records of a cluster, from a start to an end offset in each partition."""

    cluster: Cluster
    ranges: Mapping[tuple[str, int], Range] = field(repr=False)

    @property
    def prefix(self) -> str:
        """Return the prefix of topic names."""
        return self.cluster.topics.prefix


@dataclass(frozen=True, slots=True)
class CaptureSource(_Read):
    """Records of captures, whose topics have one prefix."""

    files: Sequence[CaptureReader]
    prefix: str


Source = ClusterSource | CaptureSource


class Engine(Protocol):
    """Read records and judge their dialogs."""

    @property
    def name(self) -> str:
        """Return the engine's name: `local` or `spark`."""

    def survey_cluster(
        self, cluster: Cluster, ranges: Mapping[tuple[str, int], Range]
    ) -> Positions:
        """Return the last positions record of each partition of some ranges, if any."""

    def survey_capture(self, capture: CaptureReader) -> Positions:
        """Return the last positions records of a capture; raises InputError if unreadable."""

    def judge(self, sources: Sequence[Source], judge: Judge) -> Account:
        """Return the account of all dialogs in the sources; requires at least one source."""


Choose = Callable[[int | None], AbstractContextManager[Engine]]
"""Starts the engine for a number of records; None if the number is unknown."""
