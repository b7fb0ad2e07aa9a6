"""What holds for every instance and every question."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import Number
from streams.routing import (
    FOREVER,
    Decision,
    Instance,
    Origin,
    Plan,
    Query,
    Route,
    RoutingTable,
    Verdict,
    explain,
    order_databases,
    plan,
)

from . import oracle
from .build import G1, G2, NOW, database, instance, route, sent_from
from .instances import ROUTES, dialogs, instances, questions, times

everywhere = settings(max_examples=150)
thoroughly = settings(everywhere, max_examples=500)


# --- One decision ---------------------------------------------------------------------------------


@thoroughly
@given(instances, questions, times, st.booleans())
def test_plan_explanation_and_oracle_agree(
    at: Instance, asks: Query, now: float, strict: bool
) -> None:
    """The plan, the explanation and the naive transcription give the same answer."""
    wanted = oracle.decide(at, asks, now, strict=strict)
    planned = plan(at, asks, now, strict_local_tier=strict)
    explained = explain(at, asks, now, strict_local_tier=strict)
    assert planned.decision(asks.conversation) == wanted
    assert explained.decision == wanted


@everywhere
@given(instances, questions, times, st.lists(dialogs, max_size=4))
def test_one_plan_answers_for_every_dialog(
    at: Instance, asks: Query, now: float, others: list[uuid.UUID]
) -> None:
    """A plan does not depend on the dialog for which it was made."""
    planned = plan(at, asks, now)
    for dialog in others:
        asks = replace(asks, conversation=dialog)
        assert planned == plan(at, asks, now)
        assert planned.decision(dialog) == oracle.decide(at, asks, now)


@everywhere
@given(instances, questions, times)
def test_alternatives_are_what_the_hash_chooses_from(at: Instance, asks: Query, now: float) -> None:
    """There is one outcome for each alternative, and the explanation names the same ones."""
    planned = plan(at, asks, now)
    assert len(planned.decisions) == max(1, len(planned.alternatives))
    assert explain(at, asks, now).alternatives == planned.alternatives
    assert planned.alternatives or not any(isinstance(d, Plan) for d in planned.decisions)


@everywhere
@given(instances, questions, times)
def test_verdicts_fit_the_origin(at: Instance, asks: Query, now: float) -> None:
    """Nothing from another instance is delayed or sent; whatever is refused has a number."""
    answer = explain(at, asks, now).decision
    if asks.origin is Origin.OUTSIDE:
        assert answer.verdict not in (Verdict.DELAY, Verdict.SEND)
    refused = (Verdict.DELAY, Verdict.DROP, Verdict.ASK)
    assert (answer.error is not None) is (answer.verdict in refused)
    answers = answer.error is Number.REMOTE_SERVICE_MISSING
    assert bool(answer.candidates) is (answer.verdict is Verdict.DELIVER or answers)
    on_the_network = (Verdict.SEND, Verdict.FORWARD, Verdict.PROBE)
    assert bool(answer.addresses) is (answer.verdict in on_the_network)


# --- Explanations ---------------------------------------------------------------------------------

LAST_RULES = {
    Verdict.DELIVER: {"REPLY", "R7.1", "R7.2a", "R7.2b"},
    Verdict.SEND: {"R8.4"},
    Verdict.FORWARD: {"R8.3"},
    Verdict.PROBE: {"R6"},
    Verdict.ASK: {"M4"},
    Verdict.DELAY: {"R1.1", "M7", "R5.4", "R5.5", "R7.1", "STOPPED"},
    Verdict.DROP: {"R2.1", "REPLY", "M7", "R5.4", "R5.5", "R7.1", "R8.2", "STOPPED"},
}


@everywhere
@given(instances, questions, times, st.booleans())
def test_the_trace_ends_in_the_decision(
    at: Instance, asks: Query, now: float, strict: bool
) -> None:
    """The last rule of a trace is one that can give this verdict, and keeps its routes."""
    explained = explain(at, asks, now, strict_local_tier=strict)
    last = explained.trace[-1]
    assert last.rule in LAST_RULES[explained.decision.verdict]
    assert last.kept == explained.decision.routes
    assert all(step.why for step in explained.trace)
    if explained.decision.step:
        assert explained.decision.step in {step.rule for step in explained.trace}


# --- Time -----------------------------------------------------------------------------------------


@everywhere
@given(instances, questions, times, times)
def test_a_plan_holds_until_its_stated_time(
    at: Instance, asks: Query, now: float, later: float
) -> None:
    """The plan is the same at every instant before ``valid_until``."""
    planned = plan(at, asks, now)
    assert planned.valid_until > now
    if now <= later < planned.valid_until:
        assert plan(at, asks, later) == planned


def without_expiry(table: RoutingTable) -> RoutingTable:
    """Return the table with every lifetime taken away."""
    return RoutingTable(replace(r, expires=None) for r in table.routes)


@everywhere
@given(instances, questions)
def test_without_lifetimes_a_plan_holds_for_ever(at: Instance, asks: Query) -> None:
    """Only a route that expires ends a plan."""
    kept = {name: replace(d, routes=without_expiry(d.routes)) for name, d in at.databases.items()}
    at = replace(at, databases=kept, msdb=without_expiry(at.msdb))
    assert plan(at, asks, NOW).valid_until == FOREVER


def test_a_plan_ends_with_the_route_that_it_rests_on() -> None:
    """Of two routes that match the one that expires first says until when, exactly."""
    soon = route("Soon", "Svc", to="tcp://S", expires=NOW + 5)
    late = route("Late", "Svc", to="tcp://S2", expires=NOW + 9)
    elsewhere = route("Elsewhere", "Other", to="tcp://S", expires=NOW + 1)
    at = instance("I1", database("AW", soon, late, elsewhere))
    asks = sent_from("AW", to="Svc")
    assert plan(at, asks, NOW).valid_until == NOW + 5
    assert plan(at, asks, NOW + 5).valid_until == NOW + 9
    assert plan(at, asks, NOW + 9).valid_until == FOREVER


def test_a_plan_that_loops_back_ends_with_the_routes_of_msdb() -> None:
    """A plan rests on every route that it went by, those of msdb and of each broker id included."""
    myself = route("Myself", "Svc", "B", to="tcp://I1:4022", expires=NOW + 9)
    other = route("Other", "Svc", "C", to="tcp://S", expires=NOW + 8)
    onwards = route("Onwards", "Svc", "B", to="tcp://S", expires=NOW + 5)
    at = instance("I1", database("AW", myself, other), msdb=[onwards])
    asks = sent_from("AW", to="Svc")
    assert plan(at, asks, NOW).valid_until == NOW + 5
    assert plan(at, asks, NOW + 5).valid_until == NOW + 8


# --- Other routes ---------------------------------------------------------------------------------

unrelated = st.builds(
    replace,
    st.sampled_from(ROUTES),
    name=st.just("Unrelated"),
    service=st.sampled_from(["Unrelated", "SVC", "Svc ", ""]),
)


@everywhere
@given(instances, questions, times, st.lists(st.tuples(unrelated, st.integers(0, 6)), max_size=4))
def test_routes_of_other_services_do_not_matter(
    at: Instance, asks: Query, now: float, more: list[tuple[Route, int]]
) -> None:
    """Neither their number nor their place in a table changes a plan, nor when it ends."""

    def crowded(table: RoutingTable) -> RoutingTable:
        routes = list(table.routes)
        for other, place in more:
            routes.insert(place, other)
        return RoutingTable(routes)

    full = {name: replace(d, routes=crowded(d.routes)) for name, d in at.databases.items()}
    crowd = replace(at, databases=full, msdb=crowded(at.msdb))
    assert plan(crowd, asks, now) == plan(at, asks, now)


@everywhere
@given(instances, questions, times)
def test_only_one_table_is_looked_at(at: Instance, asks: Query, now: float) -> None:
    """What came from another instance is decided by msdb, whatever routes the databases have."""
    asks = replace(asks, origin=Origin.OUTSIDE)
    empty = {name: replace(d, routes=RoutingTable()) for name, d in at.databases.items()}
    assert plan(replace(at, databases=empty), asks, now) == plan(at, asks, now)


# --- The dialog's hash ----------------------------------------------------------------------------


G3 = "90000000-0000-0000-0000-000000000000"  # the last by its bytes as they are written


def balanced(*ids: str) -> Instance:
    """Build an instance with one route for each of these broker ids."""
    routes = (route(f"R{n}", "Svc", b, to=f"tcp://S{n}") for n, b in enumerate(ids))
    return instance("I1", database("AW", *routes))


def chosen_by(planned: Plan, count: int) -> Iterator[str | None]:
    """Yield what dialogs with the ids 0, 1, 2, ... choose."""
    return (planned.decision(uuid.UUID(int=n)).broker for n in range(count))


@pytest.mark.parametrize("brokers_", [2, 3, 5, 8])
def test_the_choice_is_even(brokers_: int) -> None:
    """Of 20,000 dialogs each broker id gets its share, within four standard deviations."""
    dialogs_ = 20_000
    planned = plan(
        balanced(*(f"Database{n}" for n in range(brokers_))), sent_from("AW", to="Svc"), NOW
    )
    shares = Counter(chosen_by(planned, dialogs_))
    fair = dialogs_ / brokers_
    assert len(shares) == brokers_
    assert all(abs(n - fair) < 4 * sqrt(fair * (1 - 1 / brokers_)) for n in shares.values())


def test_more_routes_do_not_weigh() -> None:
    """Neither a route given twice nor another address changes what any dialog chooses."""
    asks = sent_from("AW", to="Svc")
    fair = plan(balanced("B", "C"), asks, NOW)
    unfair = plan(balanced("B", "C", "C", "C"), asks, NOW)
    assert list(chosen_by(fair, 1000)) == list(chosen_by(unfair, 1000))


@everywhere
@given(st.permutations([G1, G2, G3, "DatabaseB", "databaseb"]), dialogs)
def test_the_choice_is_stable(ids: list[str], dialog: uuid.UUID) -> None:
    """A dialog chooses the same broker id however the routes are ordered."""
    asks = sent_from("AW", to="Svc", dialog=dialog)
    planned = plan(balanced(*ids), asks, NOW)
    assert planned.alternatives == (G1, G2, G3, "DatabaseB", "databaseb")
    again = plan(balanced(*sorted(ids)), asks, NOW)
    assert planned.decision(dialog).broker == again.decision(dialog).broker


def test_the_hash_is_blake2b() -> None:
    """The choice is the same on every machine and in every version: its values are pinned."""
    planned = plan(balanced(*"BCDEFGH"), sent_from("AW", to="Svc"), NOW)
    assert "".join(str(broker) for broker in chosen_by(planned, 16)) == "FFDCFFEGGDDCHDFD"


@everywhere
@given(st.frozensets(st.text(max_size=4), max_size=5), dialogs)
def test_databases_are_searched_in_one_order_per_dialog(
    names: frozenset[str], dialog: uuid.UUID
) -> None:
    """Every database is searched once, in an order that only the dialog decides."""
    order = order_databases(names, dialog)
    assert sorted(order) == sorted(names)
    assert order == order_databases(sorted(names, reverse=True), dialog)
    rest = order_databases(order[1:], dialog)
    assert rest == order[1:]


def test_databases_take_turns() -> None:
    """Over many dialogs each database is searched first about as often."""
    first = Counter(order_databases("ABC", uuid.UUID(int=n))[0] for n in range(9000))
    assert all(abs(n - 3000) < 4 * sqrt(2000) for n in first.values())


def test_decisions_are_values() -> None:
    """Two plans of the same question are equal and can be keys."""
    asks = sent_from("AW", to="Svc")
    one, other = plan(balanced("B"), asks, NOW), plan(balanced("B"), asks, NOW)
    assert {one: 1}[other] == 1
    assert isinstance(one.decision(None), Decision)
