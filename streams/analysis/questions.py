"""All questions about a topology in one object, for Python: see ``docs/python.md``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from streams.analysis.estate import Estate
from streams.analysis.explain import DecisionAnswer, Question, answer_question
from streams.analysis.flows.survey import Survey, survey_flows
from streams.analysis.paths.path import LIMIT, Paths, follow_paths
from streams.analysis.places import find_at, find_sender
from streams.topology import Topology, load

if TYPE_CHECKING:  # imported on demand: each module is needed by one command only
    from streams.analysis.check import Report
    from streams.analysis.diagnose import Diagnoses
    from streams.analysis.diff import Difference


class Questions:
    """A topology, compiled once, with methods for all questions.

    Places are written as in the commands: ``Instance/Database`` or ``Instance/Database/Service``.
    An unknown name raises UsageError with the known names.
    """

    def __init__(self, topology: Topology, now: float) -> None:
        self._estate = Estate(topology, now)

    @property
    def estate(self) -> Estate:
        """Return the compiled topology, for functions that have no method in this class."""
        return self._estate

    @property
    def topology(self) -> Topology:
        """Return the topology."""
        return self._estate.topology

    @property
    def now(self) -> float:
        """Return the time of the answers, in epoch seconds."""
        return self._estate.now

    def explain(
        self,
        at: str,
        to: str,
        *,
        broker: str | None = None,
        conversation: uuid.UUID | None = None,
        outside: bool = False,
        from_target: bool = False,
    ) -> DecisionAnswer:
        """Explain, rule by rule, where a message for a service goes next."""
        instance, database = find_at(self.topology, at)
        question = Question(instance, database, to, broker, conversation, outside, from_target)
        compiled = self._estate.instances[instance.name]
        return answer_question(question, self.now, lambda: compiled)

    def path(
        self,
        sender: str,
        to: str,
        *,
        broker: str | None = None,
        conversation: uuid.UUID | None = None,
        limit: int = LIMIT,
    ) -> Paths:
        """Follow a dialog's messages on every path, and their acknowledgements back."""
        place = find_sender(self.topology, sender, to)
        return follow_paths(
            self._estate, place, to, broker=broker, conversation=conversation, limit=limit
        )

    def flows(self, senders: Sequence[str] = (), targets: Sequence[str] = ()) -> Survey:
        """Return the flows, with single points of failure and unused routes.

        ``senders`` and ``targets`` are patterns such as ``ServerA/*``, as in the command.
        """
        return survey_flows(self.topology, self.now, senders, targets)

    def check(self) -> Report:
        """Return the findings, worst first."""
        from streams.analysis.check import check_topology

        return check_topology(self.topology, self.now)

    def diagnose(self, snapshot: Path | str) -> Diagnoses:
        """Explain why rows of live servers are stuck. The topology describes the other servers."""
        from streams.analysis.diagnose import diagnose
        from streams.topology.snapshot import load_snapshot

        return diagnose(load_snapshot(Path(snapshot)), self.now, self.topology)

    def without(self, *names: str) -> Questions:
        """Return the object that answers questions about the topology without the named objects."""
        from streams.analysis.diff import remove

        return Questions(reduce(remove, names, self.topology), self.now)

    def diff(self, new: Questions) -> Difference:
        """Return the effect of another topology on every flow."""
        from streams.analysis.diff import compare_topologies

        return compare_topologies(self._estate, new._estate)


def ask(topology: Topology | Path | str, now: float) -> Questions:
    """Open a topology for questions: a folder, a snapshot of live servers, or a loaded topology.

    ``now`` (epoch seconds) determines which routes have expired; usually ``time.time()``. Raises
    InputError for syntax errors.
    """
    found = topology if isinstance(topology, Topology) else load(Path(topology), now)
    return Questions(found, now)
