"""A survey as text: a block per sending database, single points of failure, unused routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from streams.analysis.explain_text import failure_text
from streams.analysis.flows.flow_values import Failure, FlowAnswer, Reached
from streams.analysis.flows.route_index import At
from streams.analysis.flows.survey import FailurePoint, SinglePoint, Survey, Unsettled
from streams.analysis.paths.outside import outside_text
from streams.analysis.paths.step import Ending, Step
from streams.analysis.paths.verdict import PathVerdict
from streams.analysis.security.describe import describe_security
from streams.prose import counted, percent, wrapped
from streams.routing import broker_key
from streams.topology import Source

_NAMED = 3


def survey_text(survey: Survey) -> str:
    """Return a survey as text, wrapped to the output width unless names are longer."""
    lines = [summary_line(survey), *_services_unknown(survey.services_unknown)]
    lines += [*_unsettled(survey.unsettled), *_blocks(survey)]
    lines += _points(survey.points(FailurePoint.INSTANCE))
    lines += _unused(survey.unused)
    outside = outside_text(_ended(survey.answers))
    lines += ["", *outside] if outside else []
    return "\n".join(lines) + "\n"


def summary_line(survey: Survey) -> str:
    """Return a summary line."""
    verdicts = (f"{survey.count(v)} {v.value}" for v in reversed(PathVerdict) if survey.count(v))
    counts = ", ".join(verdicts)
    points = counted(len(survey.points(FailurePoint.INSTANCE)), "single point")
    unknown = not survey.answers and survey.services_unknown
    flows = "flows unknown" if unknown else counted(len(survey.answers), "flow")
    return (
        f"{flows}{': ' + counts if counts else ''}; "
        f"{points} of failure; {counted(len(survey.unused), 'unused route')}"
    )


def _services_unknown(places: Sequence[str]) -> list[str]:
    if not places:
        return []
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    text = (
        f"services unknown: {', '.join(places[:_NAMED])}{more}; flows that begin there are not "
        "listed. Add the statements or views that define the services."
    )
    return wrapped(text, "", "  ")


def _unsettled(begins: Sequence[Unsettled]) -> list[str]:
    """Report dialogs with unknown targets, because the listed flows may be incomplete."""
    targets = [begin for begin in begins if begin.to is None]
    brokers = [begin for begin in begins if begin.to is not None]
    return [*_only_a_run("target", targets), *_only_a_run("broker id", brokers)]


def _only_a_run(what: str, begins: Sequence[Unsettled]) -> list[str]:
    if not begins:
        return []
    named = "; ".join(f"{b.procedure} of {b.at}{_line(b.source)}" for b in begins[:_NAMED])
    more = f"; and {len(begins) - _NAMED} more" if len(begins) > _NAMED else ""
    of = counted(len(begins), "BEGIN DIALOG")
    text = f"the {what} of {of} is known only at run time: {named}{more}"
    return wrapped(text, "", "  ")


# --- Flows and the databases that they reach -----------------------------------------------------


def _blocks(survey: Survey) -> Iterator[str]:
    for place, group in groupby(survey.answers, key=_sender):
        yield ""
        yield place
        for answer in group:
            yield from _flow_lines(survey, answer)


def _sender(answer: FlowAnswer) -> str:
    place = answer.flow.sender
    return f"{place.instance.name}/{place.database.name}"


def _flow_lines(survey: Survey, answer: FlowAnswer) -> Iterator[str]:
    flow = answer.flow
    broker = f", broker id {flow.broker}" if flow.broker is not None else ""
    unsure = answer.verdict is not PathVerdict.OK and flow.key not in survey.certain
    verdict = f"{answer.verdict.value}{', not certain' if unsure else ''}"
    yield from wrapped(f"{flow.sender.service} -> {flow.to}{broker}: {verdict}", "  ", "    ")
    arrives = {back.at: back.arrives for back in answer.backs}
    for reached in answer.reached:
        lost = "" if arrives[reached.at] else ", NOT ACKNOWLEDGED"
        text = f"{_share(reached.share)}  {reached.at}, {_redundancy(answer, reached)}{lost}"
        yield from wrapped(text, "    ", " " * 12)
    for failure in answer.failures:
        text = _failure(survey, failure)
        path = " -> ".join(failure.instances)
        yield from wrapped(f"{_share(failure.share)}  {text}; by {path}", "    ", " " * 12)
    described = (describe_security(judged) for judged in answer.security)
    for text in dict.fromkeys(filter(None, described)):
        yield from wrapped(f"security: {text}", "    ", "      ")
    for finding in answer.hazards:
        yield from wrapped(f"{finding.code}: {finding.message}", "    ", "      ")


def _failure(survey: Survey, failure: Failure) -> str:
    """Return where and how a path ends; the id of a database from a script is unknown."""
    end = failure.ending
    if end.broker is None or broker_key(end.broker) not in survey.unknown_ids:
        return failure_text(end, failure.hops[-1][1])
    return (
        f"UNKNOWN ID at {end.at}: broker id {end.broker} may be that of a database here, because "
        f"scripts contain no ids"
    )


def _ended(answers: Iterable[FlowAnswer]) -> Iterator[tuple[Ending, Step]]:
    """Yield the ends of failing paths, and acknowledgements without a return path."""
    for answer in answers:
        lost = (failure for back in answer.backs if not back.arrives for failure in back.failures)
        for failure in (*answer.failures, *lost):
            yield failure.ending, failure.hops[-1][1]


def _share(share: Fraction) -> str:
    return f"{percent(share):>6}"


def _redundancy(answer: FlowAnswer, reached: Reached) -> str:
    found = answer.forth.redundancy[broker_key(reached.broker)]
    if reached.at.startswith(f"{answer.flow.sender.instance.name}/"):
        return "in the same instance"
    if found.instances:
        return f"only over {', '.join(found.instances)}"
    return counted(found.disjoint, "independent path") if found.between else "directly"


# --- Single points of failure, and unused routes -------------------------------------------------


def _points(points: Sequence[SinglePoint]) -> Iterator[str]:
    if points:
        yield from ("", "Single points of failure")
    for point in points:
        named = "; ".join(point.flows[:_NAMED])
        more = f"; and {len(point.flows) - _NAMED} more" if len(point.flows) > _NAMED else ""
        text = f"{point.name}, for {counted(len(point.flows), 'flow')}: {named}{more}"
        yield from wrapped(text, "  ", "    ")


def _unused(routes: Sequence[At]) -> Iterator[str]:
    if routes:
        yield from ("", "Unused routes")
    for place, group in groupby(routes, key=lambda at: f"{at.instance.name}/{at.database.name}"):
        yield f"  {place}"
        for at in group:
            route = at.route
            what = route.service if route.service is not None else "any service"
            line = _line(route.source)
            yield from wrapped(
                f"{route.name}: {what} to {route.address}{line}", "    ", "      "
            )  # fmt: skip


def _line(source: Source) -> str:
    return f", line {source.line}" if source.line else ""
