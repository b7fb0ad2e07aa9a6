"""The graph of instances: which are drawn, where, and how they are."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from streams.dashboard.model.curves import curve
from streams.dashboard.model.graph import (
    MOST,
    Filter,
    Graph,
    Health,
    Known,
    Show,
    edge_of,
    graph_of,
)
from streams.dashboard.model.placing import HEIGHT, WIDTH, columns_of, neighbours, place
from streams.store import Alarm, AlarmKind, HeartbeatSample, Link, QueueSample, Severity

LINK = Link("A", "B", True, True, 1.0, 0, 600, 10.0, 1.0, 2.0, 3.0, 4.0, 0, 0)
ALARM = Alarm(Severity.ERROR, AlarmKind.STUCK, "2 messages are stuck.", "C/Db", "Look.")


def link(one: str, other: str, rate: float = 1.0, **changes: object) -> Link:
    changed = {"instance": one, "other": other, "rate": rate, "count": round(60 * rate), **changes}
    return replace(LINK, **changed)  # type: ignore[arg-type]


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_who_begins_stands_on_the_left() -> None:
    pairs = [("B", "G"), ("G", "A"), ("A", "G"), ("G", "B"), ("A", "H"), ("H", "A")]
    near = neighbours("ABGH", pairs)
    assert columns_of("ABGH", near, {"A": 1, "B": -1}) == [["A"], ["G", "H"], ["B"]]
    # Nobody is known to begin: then all stand around whom most talk to.
    assert columns_of("ABGHX", neighbours("ABGHX", pairs), {}) == [["A", "X"], ["G", "H"], ["B"]]


@pytest.mark.parametrize("count", [1, 2, 7, 60, 200])
def test_boxes_never_cover_each_other_and_stay_in_the_picture(count: int) -> None:
    some = [f"n{number}" for number in range(count)]
    for pairs in (
        list(pairwise(some)),
        [("n0", name) for name in some],
        [(one, other) for one in some[:20] for other in some[:20]],
        [],
    ):
        picture = place(some, pairs, {"n0": 1})
        places = sorted(picture.places.values())
        assert len(set(places)) == count
        for x, y in places:
            assert WIDTH / 2 <= x <= picture.width - WIDTH / 2
            assert HEIGHT / 2 <= y <= picture.height - HEIGHT / 2
        assert not any(
            abs(x1 - x2) < WIDTH and abs(y1 - y2) < HEIGHT
            for number, (x1, y1) in enumerate(places)
            for x2, y2 in places[number + 1 :]
        )


def test_the_same_instances_make_the_same_picture() -> None:
    pairs = [("A", "G"), ("G", "B"), ("A", "H"), ("H", "B")]
    assert place("ABGH", pairs, {"A": 1}) == place("HGBA", pairs[::-1], {"A": 1})


def test_a_link_is_the_wider_the_busier_it_is() -> None:
    widths = [edge_of(link("A", "B", rate)).width for rate in (0, 0.1, 1, 10, 100, 1_000, 1e9)]
    assert widths == sorted(widths)
    assert widths[0] == 1.0
    assert widths[-1] == 9.0


@pytest.mark.parametrize(
    ("changes", "health"),
    [
        ({}, Health.GOOD),
        ({"up": None, "up_share": None}, Health.GOOD),
        ({"rate": 0.0}, Health.QUIET),
        ({"up": False, "held_copies": 3}, Health.BAD),
        ({"held_copies": 3}, Health.WARN),
        ({"up_share": 0.9}, Health.WARN),
    ],
)
def test_how_a_link_is(changes: dict[str, object], health: Health) -> None:
    edge = edge_of(link("A", "B", **changes))  # type: ignore[arg-type]
    assert edge.health is health
    assert edge.why
    assert edge.name == "A>B"


def test_how_an_instance_is() -> None:
    known = Known(
        links=(link("A", "B", 3.0), link("A", "C", 4.0)),
        queues=(QueueSample("A", 0, 0, 5, 1, 0, None, ()),),
        heartbeats=(HeartbeatSample("B", 0, 0, False, 0), HeartbeatSample("A", 0, 0, True, 0)),
        alarms=(ALARM, replace(ALARM, where="deliveries", severity=Severity.WARNING)),
        instances=("D",),
    )
    found = {node.name: node for node in graph_of(known, Filter()).nodes}
    assert {name: node.health for name, node in found.items()} == {
        "A": Health.GOOD, "B": Health.BAD, "C": Health.BAD, "D": Health.QUIET,
    }  # fmt: skip
    assert found["C"].why == ALARM.what
    assert (found["A"].rate, found["A"].waiting, found["C"].rate) == (7.0, 5, 4.0)


def test_a_filter_finds_names_traffic_trouble_and_neighbours() -> None:
    known = Known(
        links=(link("ServerA", "Gate1"), link("Gate1", "ServerB"), link("Gate2", "ServerB", 0.0)),
        heartbeats=(HeartbeatSample("ServerB", 0, 0, False, 0),),
    )
    assert names(graph_of(known, Filter("gate"))) == ["Gate1", "Gate2"]
    assert names(graph_of(known, Filter("*A gate2"))) == ["Gate2", "ServerA"]
    assert names(graph_of(known, Filter("rvera", around=1))) == ["Gate1", "ServerA"]
    assert len(graph_of(known, Filter("rvera", around=3)).nodes) == 4
    assert names(graph_of(known, Filter(show=Show.TRAFFIC))) == ["Gate1", "ServerA", "ServerB"]
    assert names(graph_of(known, Filter(show=Show.TROUBLE))) == ["ServerB"]
    assert names(graph_of(known, Filter("nobody"), chosen=["ServerA", "gone"])) == ["ServerA"]


def test_of_many_the_troubled_and_the_busiest_are_drawn() -> None:
    links = [link(f"s{n:03}", "hub", n / 10) for n in range(500)]
    known = Known(links=links, heartbeats=(HeartbeatSample("s000", 0, 0, False, 0),))
    graph = graph_of(known, Filter())
    assert len(graph.nodes) == MOST
    assert (graph.matching, graph.all) == (501, 501)
    assert {"hub", "s000", "s499", "s462"} <= set(names(graph))
    assert "s001" not in names(graph)
    assert len(graph.edges) == MOST - 1


def test_two_directions_are_drawn_apart() -> None:
    there, back = curve((100, 50), (400, 50)), curve((400, 50), (100, 50))
    assert there.path != back.path
    assert there.y < 50 < back.y
    beside = curve((100, 50), (100, 150)), curve((100, 150), (100, 50))
    assert beside[0].x > 100 > beside[1].x
    assert not any(math.isnan(one.x + one.y) for one in (there, back, *beside))
