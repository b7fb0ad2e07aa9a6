"""Every path there and back: verdicts, shares and counts from the graph, lists up to a limit."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.layers import CASES, TARGET
from bench.layers import SENDER as BENCH_SENDER
from streams.analysis import (
    find_paths,
    find_sender,
    path_mermaid,
    path_text,
    survey_flows,
    survey_text,
)
from streams.errors import UsageError
from streams.prose import wrapping_at
from streams.topology import Topology, load
from tests.topology.build import NOW, SHIPPED, shipped, write

SENDER = "ServerA/DatabaseA/InitiatorService"
OUTCOME = {"disposition", "at", "broker", "share", "error", "hops", "return"}


def ask(topology: Topology, sender: str, to: str, **more: Any) -> dict[str, Any]:
    """Find the paths and return them as JSON; text and chart are made as well."""
    place = find_sender(topology, sender, to)
    paths = find_paths(topology, place, to, NOW, **more)
    assert paths.verdict.value in path_text(paths)
    assert path_mermaid(paths).startswith("flowchart LR\n")
    return dict(json.loads(json.dumps(paths.to_json())))


def small(folder: Path, instances: str) -> Topology:
    """Load instances given as YAML."""
    return load(write(folder, f"instances:\n{instances}"), NOW)


def hops(path: dict[str, Any]) -> list[str]:
    """Return the names of the instances of a path."""
    return [hop["instance"] for hop in path["hops"]]


def test_over_transport_replies_go_where_the_initiators_name_says() -> None:
    """And nowhere, although a broker id is known, where that name begins with no address."""
    sender, to = "ServerA/DatabaseA/tcp://ServerA:4022/Ordering", "tcp://ServerB:4022/Billing"
    topology = shipped("transport_gateways")
    for outcome in ask(topology, sender, to)["outcomes"]:
        back = outcome["return"]
        assert (back["disposition"], back["at"]) == ("delivered", "ServerA/DatabaseA")
        gateway = back["hops"][1]
        assert gateway["decision"]["routes"] == ["AnyService"]
        assert gateway["next_hop"] == "tcp://ServerA:4022"
    here = topology.instances["ServerA"].databases["DatabaseA"]
    plain = replace(here.services["tcp://ServerA:4022/Ordering"], name="Ordering")
    renamed = replace(here, services={"Ordering": plain})
    instance = replace(topology.instances["ServerA"], databases={"DatabaseA": renamed})
    topology = replace(topology, instances={**topology.instances, "ServerA": instance})
    answer = ask(topology, "ServerA/DatabaseA/Ordering", to)
    assert answer["verdict"] == "broken"
    assert {o["return"]["error"] for o in answer["outcomes"]} == {11294}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_topologies_are_as_they_expect(name: str) -> None:
    """Each expectation in a shipped topology holds: verdict and databases that are reached."""
    topology = shipped(name)
    assert topology.expect
    for expected in topology.expect:
        answer = ask(topology, expected.sender, expected.to)
        assert answer["verdict"] == expected.verdict
        if expected.at is not None:
            assert {o["at"] for o in answer["outcomes"]} == set(expected.at)


def test_combined() -> None:
    """Two broker ids, two gateways each: four paths, each back over its own gateways (EX-32)."""
    answer = ask(shipped("combined"), SENDER, "TargetService")
    assert (answer["verdict"], answer["ways"], answer["truncated"]) == ("ok", 4, False)
    assert [hops(o) for o in answer["outcomes"]] == [
        ["ServerA", "GatewayA", "ServerB"],
        ["ServerA", "GatewayB", "ServerB"],
        ["ServerA", "GatewayC", "ServerC"],
        ["ServerA", "GatewayD", "ServerC"],
    ]
    for outcome in answer["outcomes"]:
        assert set(outcome) == OUTCOME and outcome["share"] == 0.25
        assert (outcome["disposition"], outcome["error"]) == ("delivered", None)
        assert outcome["return"]["disposition"] == "delivered"
        assert outcome["return"]["at"] == "ServerA/DatabaseA"
        pair = {"DatabaseB": "GatewayA", "DatabaseC": "GatewayC"}[outcome["broker"]]
        assert hops(outcome["return"])[1] == pair
        assert outcome["hops"][-1]["decision"]["deliver_to"] == outcome["at"]


def test_several_targets() -> None:
    """Name-only routes to two copies are a hazard although everything arrives (3.4, EX-33)."""
    answer = ask(shipped("several_targets"), SENDER, "TargetService")
    assert (answer["verdict"], answer["ways"]) == ("hazard", 2)
    assert {o["broker"] for o in answer["outcomes"]} == {"DatabaseB", "DatabaseC"}
    hazard = answer["hazards"][0]
    assert (hazard["code"], hazard["severity"]) == ("TA-12", "error")
    assert hazard["file"].endswith("topology.yaml") and hazard["line"] > 0
    assert ask(shipped("several_targets"), SENDER, "TargetService", broker="X")["verdict"] != "ok"


def test_routing_loop() -> None:
    """Two forwarders that send to each other are a loop that ends in 11285 (EX-45)."""
    answer = ask(shipped("routing_loop"), SENDER, "Svc")
    outcome = answer["outcomes"][0]
    assert (answer["verdict"], answer["ways"]) == ("broken", 1)
    assert (outcome["disposition"], outcome["error"]) == ("loop", 11285)
    assert hops(outcome) == ["ServerA", "F1", "F2"] and outcome["return"] is None


@pytest.mark.parametrize("name", ["load_balanced", "unfair_weights"])
def test_half_each(name: str) -> None:
    """Two broker ids share alike, whatever the number of routes (EX-24, EX-27)."""
    answer = ask(shipped(name), SENDER, "TargetService")
    assert [(o["broker"], o["share"]) for o in answer["outcomes"]] == [
        ("DatabaseB", 0.5), ("DatabaseC", 0.5),
    ]  # fmt: skip


def test_a_conversation_takes_one_broker_id() -> None:
    """With a conversation's id only the paths of its broker id are followed, half each."""
    topology = shipped("combined")
    for number in range(8):
        answer = ask(topology, SENDER, "TargetService", conversation=uuid.UUID(int=number))
        assert answer["ways"] == 2 and len({o["broker"] for o in answer["outcomes"]}) == 1
        assert sum(o["share"] for o in answer["outcomes"]) == 1


def test_the_limit_cuts_the_list_only() -> None:
    """Paths, shares and verdict come from the graph, not from what is listed."""
    answer = ask(shipped("combined"), SENDER, "TargetService", limit=3)
    assert (len(answer["outcomes"]), answer["ways"], answer["truncated"]) == (3, 4, True)
    assert ask(shipped("several_targets"), SENDER, "TargetService", limit=0)["verdict"] == "hazard"


def test_an_address_of_nobody_is_unknown(tmp_path: Path) -> None:
    """A next hop outside of the topology breaks the path, and the place is reported."""
    topology = small(
        tmp_path,
        "  A: {databases: {D: {services: [I], routes: [{name: R, service_name: S, "
        "address: 'tcp://gone:4022'}]}}}",
    )
    outcome = ask(topology, "A/D", "S")["outcomes"][0]
    assert (outcome["disposition"], outcome["at"], outcome["error"]) == ("unknown", "A", None)
    assert outcome["hops"][0]["next_hop"] == "tcp://gone:4022"
    text = path_text(find_paths(topology, find_sender(topology, "A/D", "S"), "S", NOW))
    assert "No instance of this topology listens at tcp://gone:4022. The path" in text
    assert "Import the instance" in survey_text(survey_flows(topology, NOW))


CHAIN = """
  A: {databases: {D: {services: [I], routes: [
    {name: R, service_name: S, address: 'tcp://F'}]}}}
  F:
    endpoint: {forwarding: %s, state: %s}
    msdb: {routes: [{name: There, service_name: S, address: 'tcp://B'},
                    {name: Back, service_name: I, address: 'tcp://A'}]}
  B: {databases: {D: {services: [S], routes: [
    {name: R, service_name: %s, address: 'tcp://F'}]}}}
"""
BROKEN = [
    ("on", "started", "I", "delivered", "B/D", None, "ok"),
    ("off", "started", "I", "dropped", "F", 9792, "broken"),
    ("on", "stopped", "I", "delayed", "A", 9753, "broken"),
    ("on", "started", "Other", "delivered", "B/D", None, "broken"),
]


@pytest.mark.parametrize(
    ("forwarding", "state", "back", "disposition", "at", "error", "verdict"), BROKEN
)
def test_what_breaks_a_path(
    tmp_path: Path, forwarding: str, state: str, back: str, disposition: str, at: str,
    error: int | None, verdict: str,
) -> None:  # fmt: skip
    """Forwarding off, a stopped endpoint, a missing return path: each breaks it in its place."""
    topology = small(tmp_path, CHAIN % (forwarding, state, back))
    answer = ask(topology, "A/D/I", "S")
    outcome = answer["outcomes"][0]
    assert (outcome["disposition"], outcome["at"], outcome["error"]) == (disposition, at, error)
    assert answer["verdict"] == verdict


def forwarders(count: int) -> str:
    """Return a chain A > F1 > ... > Fn > B with routes in both directions."""
    text = (
        "  A: {databases: {D: {broker_id: A, services: [I], routes: [{name: R, service_name: S, "
        "address: 'tcp://F1'}]}}}\n"
    )
    for n in range(1, count + 1):
        after = f"F{n + 1}" if n < count else "B"
        before = f"F{n - 1}" if n > 1 else "A"
        text += (
            f"  F{n}: {{endpoint: {{forwarding: on}}, msdb: {{routes: ["
            f"{{name: T, service_name: S, address: 'tcp://{after}'}}, "
            f"{{name: B, service_name: I, address: 'tcp://{before}'}}]}}}}\n"
        )
    return text + (
        "  B: {databases: {D: {services: [S], routes: [{name: R, service_name: I, "
        f"address: 'tcp://F{count}'}}]}}}}}}\n"
    )


def test_sixteen_forwarders_are_the_most(tmp_path: Path) -> None:
    """A message may be forwarded sixteen times; the seventeenth forwarder drops it (U-34)."""
    answer = ask(small(tmp_path, forwarders(16)), "A/D", "S")
    assert answer["verdict"] == "ok" and len(answer["outcomes"][0]["hops"]) == 18
    outcome = ask(small(tmp_path, forwarders(17)), "A/D", "S")["outcomes"][0]
    assert (outcome["disposition"], outcome["at"], outcome["error"]) == ("dropped", "F17", 11285)


def layered(layers: int, width: int) -> str:
    """Return layers of forwarders, each of which knows every forwarder of the next layer."""

    def routes(service: str, hosts: list[str]) -> str:
        rows = (
            f"{{name: {service}{h}, service_name: {service}, address: 'tcp://{h}'}}" for h in hosts
        )
        return ", ".join(rows)

    level = [["A"], *([f"F{i}x{j}" for j in range(width)] for i in range(layers)), ["B"]]
    text = f"  A: {{databases: {{D: {{services: [I], routes: [{routes('S', level[1])}]}}}}}}\n"
    for i in range(1, layers + 1):
        for name in level[i]:
            both = routes("S", level[i + 1]) + ", " + routes("I", level[i - 1])
            text += f"  {name}: {{endpoint: {{forwarding: on}}, msdb: {{routes: [{both}]}}}}\n"
    return (
        text + f"  B: {{databases: {{D: {{services: [S], routes: [{routes('I', level[-2])}]}}}}}}"
    )


def test_paths_are_counted_without_walking_them(tmp_path: Path) -> None:
    """Ten layers of six forwarders are sixty million paths; the answer takes no notice."""
    answer = ask(small(tmp_path, layered(10, 6)), "A/D", "S", limit=3)
    assert answer["ways"] == 6**10 and answer["verdict"] == "ok"
    assert [hops(o)[1:3] for o in answer["outcomes"]] == [["F0x0", "F1x0"]] * 3
    assert hops(answer["outcomes"][1])[-2] == "F9x1"


def mesh(count: int) -> str:
    """Return gateways that send to the target and, as a reserve, to each other."""
    names = [f"G{n}" for n in range(count)]
    text = "  A: {databases: {D: {broker_id: A, services: [I], routes: [{name: R, service_name: S, "
    text += "address: 'tcp://G0'}]}}}\n"
    for name in names:
        hosts = ["B", *(other for other in names if other != name)]
        rows = ", ".join(f"{{name: {h}, service_name: S, address: 'tcp://{h}'}}" for h in hosts)
        back = "{name: I, service_name: I, address: 'tcp://A'}"
        text += f"  {name}: {{endpoint: {{forwarding: on}}, msdb: {{routes: [{rows}, {back}]}}}}\n"
    return text + (
        "  B: {databases: {D: {services: [S], routes: [{name: R, service_name: I, "
        "address: 'tcp://G0'}]}}}"
    )


def test_circles_with_an_exit(tmp_path: Path) -> None:
    """Within a circle every path is followed until it comes back to an instance."""
    answer = ask(small(tmp_path, mesh(2)), "A/D", "S")
    assert answer["verdict"] == "broken"
    assert [(hops(o), o["disposition"]) for o in answer["outcomes"]] == [
        (["A", "G0", "B"], "delivered"),
        (["A", "G0", "G1"], "loop"),
        (["A", "G0", "G1", "B"], "delivered"),
    ]
    assert [o["share"] for o in answer["outcomes"]] == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("count", [6, 40])
def test_a_mesh_is_no_trap(tmp_path: Path, count: int) -> None:
    """A mesh of any size is answered at once, as broken: its messages can circle."""
    answer = ask(small(tmp_path, mesh(count)), "A/D", "S", limit=5)
    assert answer["verdict"] == "broken" and answer["truncated"]
    place = find_sender(small(tmp_path, mesh(count)), "A/D", "S")
    assert place.service == "I"


GATEWAYS = """
  A: {databases: {D: {broker_id: A, services: [I], routes: [
    {name: R1, service_name: S, address: 'tcp://G1'},
    {name: R2, service_name: S, address: 'tcp://G2'}]}}}
  G1: {endpoint: {forwarding: on}, msdb: {routes: [
    {name: I, service_name: I, address: 'tcp://A'}, %s]}}
  G2: {endpoint: {forwarding: on}, msdb: {routes: [
    {name: I, service_name: I, address: 'tcp://A'}, %s]}}
  B: {databases: {D: {broker_id: B, services: [S], routes: [
    {name: R, service_name: I, address: 'tcp://G1'}]}}}
  C: {databases: {D: {broker_id: C, services: [S], routes: [
    {name: R, service_name: I, address: 'tcp://G1'}]}}}
"""
TO_B = "{name: B, service_name: S, broker_instance: B, address: 'tcp://B'}"
TO_C = "{name: C, service_name: S, broker_instance: C, address: 'tcp://C'}"


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (TO_B, TO_B, "ok"),
        (TO_B, TO_C, "hazard"),
        (f"{TO_B}, {TO_C}", f"{TO_C}, {TO_B}", "ok"),
        (f"{TO_B}, {TO_C}", TO_B, "hazard"),
    ],
)
def test_several_targets_behind_gateways(
    tmp_path: Path, first: str, second: str, verdict: str
) -> None:
    """Two gateways that balance alike choose alike for one dialog; others make two targets."""
    answer = ask(small(tmp_path, GATEWAYS % (first, second)), "A/D", "S")
    assert answer["verdict"] == verdict


def test_each_database_has_a_path_of_its_own(tmp_path: Path) -> None:
    """Every database among the candidates is a path; a given dialog takes one."""
    databases = "{D: {services: [I]}, E: {services: [S]}, F: {services: [S]}}"
    topology = small(tmp_path, f"  A: {{databases: {databases}}}")
    answer = ask(topology, "A/D", "S")
    assert [(o["at"], o["share"]) for o in answer["outcomes"]] == [("A/E", 0.5), ("A/F", 0.5)]
    assert answer["verdict"] == "ok"
    assert ask(topology, "A/D", "S", conversation=uuid.UUID(int=1))["ways"] == 1


def test_a_loop_back_uses_msdb(tmp_path: Path) -> None:
    """An address that is this instance is decided again by msdb (EX-41)."""
    topology = small(
        tmp_path,
        "  I1: {databases: {source: {services: [I], routes: [{name: R, service_name: S, address: "
        "'tcp://localhost:4022'}]}, target: {services: [S]}}}",
    )
    answer = ask(topology, "I1/source", "S")
    assert [hops(o) for o in answer["outcomes"]] == [["I1"]] and answer["verdict"] == "ok"


MIRRORED = """
  A: {databases: {D: {broker_id: A, services: [I], routes: [
    {name: R, service_name: S, broker_instance: P, address: 'tcp://B', mirror_address: 'tcp://C'}]}}}
  B: {databases: {P: {broker_id: P, mirror: {pair: P, role: %s}, services: [S], routes: [
    {name: R, service_name: I, address: 'tcp://A'}]}}}
  C: {databases: {P: {broker_id: P, mirror: {pair: P, role: %s}, services: [S], routes: [
    {name: R, service_name: I, address: 'tcp://A'}]}}}
"""


@pytest.mark.parametrize(
    ("one", "other", "at"), [("principal", "mirror", "B/P"), ("mirror", "principal", "C/P")]
)
def test_a_mirrored_route_leads_to_the_principal(
    tmp_path: Path, one: str, other: str, at: str
) -> None:
    """Both partners are asked, and only the principal gets the message (2.4)."""
    answer = ask(small(tmp_path, MIRRORED % (one, other)), "A/D", "S")
    assert [o["at"] for o in answer["outcomes"]] == [at] and answer["verdict"] == "ok"
    assert answer["outcomes"][0]["hops"][0]["decision"]["verdict"] == "probe"


def test_the_sender_s_service(tmp_path: Path) -> None:
    """Without a service, the only one of the database is meant; else they are named."""
    topology = small(
        tmp_path,
        "  A: {databases: {One: {services: ['//x/I']}, Two: {services: [I, S]}, "
        "Many: {services: [I, J, S]}, None: {}}}",
    )
    assert find_sender(topology, "A/One", "S").service == "//x/I"
    assert find_sender(topology, "A/One///x/I", "S").service == "//x/I"
    assert find_sender(topology, "A/Two", "S").service == "I"
    for text, message in [
        ("A/Many", "A/Many/I, A/Many/J"), ("A/None", "no service"), ("A", "not name a database"),
        ("A/Two/K", "no service 'K'"), ("B/D", "no instance 'B'"),
    ]:  # fmt: skip
        with pytest.raises(UsageError, match=message):
            find_sender(topology, text, "S")


def test_the_tree_shows_instances_routes_and_shares() -> None:
    """The text shows instances, routes, shares and the return path."""
    topology = shipped("combined")
    place = find_sender(topology, SENDER, "TargetService")
    lines = path_text(find_paths(topology, place, "TargetService", NOW)).splitlines()
    assert lines[:5] == [
        f"{SENDER} -> TargetService: ok, 4 paths",
        "",
        "ServerA (DatabaseA)",
        "├─ 25 %  GatewayA (M3 TargetRouteA, broker id DatabaseB)",
        "│  └─ ServerB (M1 TargetRoute)",
    ]
    assert lines[5].endswith(
        "delivered to ServerB/DatabaseB (M1 TargetRoute); acknowledged over GatewayA"
    )
    assert lines[-1].startswith("M3  routes name the service and broker ids")


def test_a_wrapped_line_of_the_tree_is_indented_by_two_columns() -> None:
    topology = shipped("combined")
    place = find_sender(topology, SENDER, "TargetService")
    paths = find_paths(topology, place, "TargetService", NOW)
    with wrapping_at(60):
        lines = path_text(paths).splitlines()
    assert lines[5:7] == [
        "│     └─ delivered to ServerB/DatabaseB (M1 TargetRoute);",
        "│          acknowledged over GatewayA",
    ]
    with wrapping_at(30):
        lines = path_text(paths).splitlines()
    assert lines[3:6] == [
        "├─ 25 %  GatewayA (M3",
        "│  │ TargetRouteA, broker id",
        "│  │ DatabaseB)",
    ]


def test_too_many_paths_become_an_outline() -> None:
    """What is alike shares a line, and a table tells where everything ends."""
    topology = shipped("combined")
    place = find_sender(topology, SENDER, "TargetService")
    lines = path_text(find_paths(topology, place, "TargetService", NOW, limit=1)).splitlines()
    assert lines[3] == (
        "├─ 50 %  GatewayA or GatewayB (M3 TargetRouteA and TargetRouteB, broker id DatabaseB)"
    )
    assert lines[11].split("; ") == [
        "     50 %  2 paths over 3 instances: delivered to ServerB/DatabaseB",
        "acknowledged over GatewayA",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_an_outline_of_a_thousand_instances_is_a_page(name: str) -> None:
    """However many paths: some sixty lines of 100 columns, shares that add up, every trouble."""
    topology = CASES[name]()
    paths = find_paths(topology, find_sender(topology, BENCH_SENDER, TARGET), TARGET, NOW)
    lines = path_text(paths).splitlines()
    assert len(lines) < 80 and max(map(len, lines)) <= 100
    if paths.outline:
        assert sum(end.share for end in paths.outline.ends) == 1
        assert sum(branch.share for branch in paths.outline.branches) == 1
        assert sum(end.path_count for end in paths.outline.ends) == paths.ways
    assert ("LOOP" in path_text(paths)) is (name.startswith("rings") or "circle" in name)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_paths_fit_the_page(name: str) -> None:
    """No line is longer than 100 columns."""
    topology = shipped(name)
    for expected in topology.expect:
        place = find_sender(topology, expected.sender, expected.to)
        for limit in (0, 100):
            text = path_text(find_paths(topology, place, expected.to, NOW, limit=limit))
            assert max(map(len, text.splitlines())) <= 100


def test_a_chart_is_what_mermaid_can_draw(tmp_path: Path) -> None:
    """At most 500 arrows, and names of any kind as labels."""
    topology = CASES["one target"]()
    paths = find_paths(topology, find_sender(topology, BENCH_SENDER, TARGET), TARGET, NOW)
    lines = path_mermaid(paths).splitlines()
    assert sum("-->" in line or "-.->" in line for line in lines) <= 500
    assert lines[0] == "flowchart LR" and any("of 16,384 paths are drawn" in x for x in lines)
    odd = small(tmp_path, """  'a"`#<b>&': {databases: {D: {services: [I, S]}}}""")
    place = find_sender(odd, 'a"`#<b>&/D/I', "S")
    assert 'n1["a#34;#96;#35;#60;b#62;#38;"]' in path_mermaid(find_paths(odd, place, "S", NOW))
