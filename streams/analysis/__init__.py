"""Where will a message go, and why? Answers about a topology, before anything is sent.

:func:`explain_decision` answers for one instance, :func:`find_paths` for the whole way and back,
:func:`survey_flows` for a whole estate; :mod:`streams.analysis.check` says what is wrong with it.
Every routing decision is made by :mod:`streams.routing`; here it is followed, counted and shown.
"""

from streams.analysis.estate import Estate
from streams.analysis.explain import Answer, Question, explain_decision
from streams.analysis.flow_answer import FlowAnswer, answer_flow
from streams.analysis.flows import Flow, flows_of
from streams.analysis.mermaid import path_mermaid
from streams.analysis.network import Disposition, Ending, Network, State, Step
from streams.analysis.path import LIMIT, Outcome, Paths, PathVerdict, find_paths
from streams.analysis.places import Place, find_at, find_database, find_instance, find_sender
from streams.analysis.survey import Survey, survey_flows
from streams.analysis.survey_mermaid import survey_mermaid
from streams.analysis.survey_text import survey_text
from streams.analysis.text import explain_text, path_text
from streams.analysis.ways import HOPS, Way, Ways

__all__ = [
    "HOPS",
    "LIMIT",
    "Answer",
    "Disposition",
    "Ending",
    "Estate",
    "Flow",
    "FlowAnswer",
    "Network",
    "Outcome",
    "PathVerdict",
    "Paths",
    "Place",
    "Question",
    "State",
    "Step",
    "Survey",
    "Way",
    "Ways",
    "answer_flow",
    "explain_decision",
    "explain_text",
    "find_at",
    "find_database",
    "find_instance",
    "find_paths",
    "find_sender",
    "flows_of",
    "path_mermaid",
    "path_text",
    "survey_flows",
    "survey_mermaid",
    "survey_text",
]
