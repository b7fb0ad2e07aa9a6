"""Choose a route: walk the tables of :mod:`streams.routing.rules`.

The result of :func:`plan` applies to every conversation id and can be cached until ``valid_until``;
:func:`explain` decides for one id and reports every rule that was tried. Both walk the same tables;
``tests/routing`` compares them with an independent transcription of the reference.
"""

from __future__ import annotations

from dataclasses import replace

from streams.routing.decision import Decision, Explanation, Plan, TraceStep
from streams.routing.hashing import pick_broker
from streams.routing.model import (
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
    broker_key,
    broker_order,
)
from streams.routing.rules import RULES, Context, Found, Routes, Rule, Rules


def plan(
    instance: Instance,
    query: Query,
    now: float,
    *,
    rules: Rules = RULES,
    strict_local_tier: bool = False,
) -> Plan:
    """Decide where a message goes, for every conversation id (R1 to R10).

    ``now`` is in seconds since the epoch; expired routes are ignored (R3.1). No combination of
    routes and names raises an exception: a message without a destination gets a verdict with an
    error number.
    """
    context = _context(instance, query, now, strict_local_tier)
    matched = _match(context, rules)
    if isinstance(matched, Decision):
        return Plan((matched,), valid_until=context.valid_until)
    balanced = _by_broker(context, matched)
    outcomes: list[Decision | Plan] = []
    for broker, routes in balanced.items() or ((query.broker, matched),):
        branch = replace(context, broker=broker) if balanced else context
        outcome: Decision | Plan | None = _finish(branch, routes, rules)
        if outcome is None:
            outside = _from_outside(branch)
            outcome = plan(instance, outside, now, rules=rules, strict_local_tier=strict_local_tier)
        until = outcome.valid_until if isinstance(outcome, Plan) else branch.valid_until
        context.valid_until = min(context.valid_until, branch.valid_until, until)
        outcomes.append(outcome)
    if not balanced and isinstance(outcomes[0], Plan):
        return replace(outcomes[0], valid_until=context.valid_until)
    return Plan(tuple(outcomes), tuple(balanced), context.valid_until)


def explain(
    instance: Instance,
    query: Query,
    now: float,
    *,
    rules: Rules = RULES,
    strict_local_tier: bool = False,
) -> Explanation:
    """Decide like :func:`plan`, for one conversation, and explain the decision rule by rule."""
    trace: list[TraceStep] = []
    context = _context(instance, query, now, strict_local_tier)
    context.trace = trace
    matched = _match(context, rules)
    if isinstance(matched, Decision):
        return Explanation(matched, (), tuple(trace))
    balanced = _by_broker(context, matched)
    alternatives = tuple(balanced)
    if alternatives:
        at = pick_broker(len(alternatives), query.conversation) if query.conversation else 0
        context.broker = alternatives[at]
        matched = balanced[context.broker]
        kept = tuple(r.name for r in matched)
        trace.append(TraceStep("PICK", kept, _why_picked(context, len(alternatives))))
    decision = _finish(context, matched, rules)
    if decision is None:
        outside = _from_outside(context)
        again = explain(instance, outside, now, rules=rules, strict_local_tier=strict_local_tier)
        found = alternatives or again.alternatives
        return replace(again, alternatives=found, trace=(*trace, *again.trace))
    return Explanation(decision, alternatives, tuple(trace))


def _why_picked(context: Context, count: int) -> str:
    if count == 1:
        return f"{context.broker} is the only broker id"
    if context.query.conversation is None:
        return f"depends on the conversation id; here {context.broker}, the first of {count} ids"
    return f"the dialog's hash selects {context.broker}, of {count} broker ids"


def _context(instance: Instance, query: Query, now: float, strict: bool) -> Context:
    home = instance.databases.get(query.database) if query.database is not None else None
    if query.origin is Origin.OUTSIDE:
        table = instance.msdb
    else:
        table = home.routes if home is not None else RoutingTable()
    return Context(instance, query, table, now, query.broker, strict_local_tier=strict)


def _match(context: Context, rules: Rules) -> Found:
    entered = _walk(rules.entry, context, (), optional=True)
    return entered if isinstance(entered, Decision) else _walk(rules.match, context, ())


def _finish(context: Context, matched: Routes, rules: Rules) -> Decision | None:
    """Choose the tier, then locate or send; return ``None`` if the message loops back (R9)."""
    chosen = _walk(rules.choose, context, matched)
    if isinstance(chosen, Decision):
        return chosen
    if not context.addresses:  # LOCAL
        located = _walk(rules.locate, context, chosen)
        assert isinstance(located, Decision), "LOCATE must end in a decision"
        return located
    sent = _walk(rules.send, context, chosen)
    return sent if isinstance(sent, Decision) else None


def _from_outside(context: Context) -> Query:
    """Return the query of a looped-back message, which msdb decides."""
    return replace(
        context.query,
        origin=Origin.OUTSIDE,
        broker=context.broker,
        database=None,
        looped_back=True,
    )


def _walk(
    table: tuple[Rule, ...], context: Context, routes: Routes, *, optional: bool = False
) -> Found:
    matching = table and table[0].name.startswith("M")
    for rule in table:
        if matching:
            context.step = rule.name
        found = rule.apply(context, routes)
        if context.trace is not None:
            context.trace.extend(_trace_steps(rule, context, routes, found))
        if found:
            return found
    if optional:
        return ()
    raise AssertionError(f"the table of {table[-1].name if table else 'no rules'} gives no answer")


def _trace_steps(
    rule: Rule, context: Context, routes: Routes, found: Found | None
) -> tuple[TraceStep, ...]:
    if not found:
        why = rule.miss(context, routes)
        return (TraceStep(rule.name, (), why),) if why else ()
    names = found.routes if isinstance(found, Decision) else tuple(r.name for r in found if r.name)
    return (TraceStep(rule.name, names, rule.hit),)


def _by_broker(context: Context, matched: Routes) -> dict[str, Routes]:
    """Return the routes of each broker id among which the dialog's hash selects (M3, U-18)."""
    if context.step != "M3":
        return {}
    spelling: dict[str, str] = {}
    routes: dict[str, list[Route]] = {}
    for route in matched:
        if route.broker is not None:
            key = broker_key(route.broker)
            spelling.setdefault(key, route.broker)
            routes.setdefault(key, []).append(route)
    ordered = sorted(spelling.items(), key=lambda item: broker_order(item[1]))
    return {broker: tuple(routes[key]) for key, broker in ordered}
