"""Answer questions about a topology: where messages go, and why, before any message is sent.

:func:`ask` opens a topology for all questions; see ``docs/python.md``. The returned object uses the
following functions. :func:`explain_decision` explains the decision of one instance,
:func:`find_paths` follows the whole path in both directions, and :func:`survey_flows` examines a
whole estate. :mod:`streams.analysis.check` finds errors, :mod:`streams.analysis.diff` finds the
effects of a change, and :mod:`streams.analysis.diagnose` finds the causes of stuck rows.
:mod:`streams.routing` makes every routing decision; this package follows and shows the decisions:
``paths`` for one message, ``flows`` for all senders.
"""

from streams.analysis.estate import Estate
from streams.analysis.explain import DecisionAnswer, Question, explain_decision
from streams.analysis.explain_text import explain_text
from streams.analysis.flows.flow_answer import answer_flow
from streams.analysis.flows.flow_values import FlowAnswer
from streams.analysis.flows.flows import Flow, flows_of
from streams.analysis.flows.survey import Survey, survey_flows
from streams.analysis.flows.survey_mermaid import survey_mermaid
from streams.analysis.flows.survey_text import survey_text
from streams.analysis.paths.mermaid import path_mermaid
from streams.analysis.paths.path import LIMIT, Outcome, Paths, find_paths
from streams.analysis.paths.tree import path_text
from streams.analysis.paths.verdict import PathVerdict
from streams.analysis.places import Place, find_at, find_sender
from streams.analysis.questions import Questions, ask

__all__ = [
    "LIMIT",
    "DecisionAnswer",
    "Estate",
    "Flow",
    "FlowAnswer",
    "Outcome",
    "PathVerdict",
    "Paths",
    "Place",
    "Question",
    "Questions",
    "Survey",
    "answer_flow",
    "ask",
    "explain_decision",
    "explain_text",
    "find_at",
    "find_paths",
    "find_sender",
    "flows_of",
    "path_mermaid",
    "path_text",
    "survey_flows",
    "survey_mermaid",
    "survey_text",
]
