"""Format any answer as the text of its command."""

from __future__ import annotations

from functools import singledispatch

from streams.analysis.check import Report
from streams.analysis.check.text import report_text
from streams.analysis.diagnose import Diagnoses, diagnoses_text
from streams.analysis.diff import Difference, difference_text
from streams.analysis.explain import DecisionAnswer
from streams.analysis.explain_text import explain_text
from streams.analysis.flows.survey import Survey
from streams.analysis.flows.survey_text import survey_text
from streams.analysis.paths.path import Paths
from streams.analysis.paths.tree import path_text


@singledispatch
def show(answer: object) -> str:
    """Return an answer as text; raise TypeError for other objects."""
    raise TypeError(f"{type(answer).__name__} is not an answer")


show.register(DecisionAnswer, explain_text)
show.register(Paths, path_text)
show.register(Survey, survey_text)
show.register(Report, report_text)
show.register(Difference, difference_text)
show.register(Diagnoses, diagnoses_text)
