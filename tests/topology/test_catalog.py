"""A topology as catalog objects, and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.node import catalog_view
from streams.topology import (
    MSDB,
    Binding,
    Cluster,
    Contract,
    Database,
    Endpoint,
    EndpointState,
    Expectation,
    Instance,
    MessageType,
    Mirror,
    Priority,
    Queue,
    Role,
    Route,
    Sender,
    Service,
    Topology,
    Transport,
    Validation,
    catalog_key,
    flatten,
    queue_of,
    queues_by_service,
    schema_of,
    schemas_by_type,
    split_key,
    unflatten,
)

from .build import SHIPPED, shipped

names = st.text(min_size=1, max_size=6) | st.sampled_from(["a/b", "%2F", "a+1", "msd b", "Ä", "."])
maybe = st.none() | names
times = st.none() | st.floats(min_value=0, max_value=4e9)


def by_name(items: st.SearchStrategy[list]) -> st.SearchStrategy[dict]:  # type: ignore[type-arg]
    """Turn a list of named values into a mapping."""
    return items.map(lambda values: {value.name: value for value in values})


def some(of: st.SearchStrategy) -> st.SearchStrategy[dict]:  # type: ignore[type-arg]
    """A mapping of up to two named values."""
    return by_name(st.lists(of, max_size=2))


def numbered(routes: list[Route]) -> tuple[Route, ...]:
    """Give routes the ids that their order says."""
    return tuple(
        Route(r.name, r.service, r.broker, r.address, r.mirror, r.expires, number)
        for number, r in enumerate(routes, 1)
    )


routes = st.lists(
    st.builds(Route, names, maybe, maybe, names, maybe, times, source=st.just(None)), max_size=3
).map(numbered)


def databases(name: st.SearchStrategy[str]) -> st.SearchStrategy[Database]:
    """Any database."""
    return st.builds(
        Database,
        name,
        names,
        st.booleans(),
        st.none() | st.builds(Mirror, names, st.sampled_from(Role)),
        some(st.builds(MessageType, names, st.sampled_from(Validation), maybe)),
        some(st.builds(Contract, names, st.dictionaries(names, st.sampled_from(Sender)))),
        some(st.builds(Queue, names, st.booleans(), st.booleans(), st.booleans(), maybe, maybe)),
        some(st.builds(Service, names, names, st.lists(names, max_size=2).map(tuple))),
        routes,
        st.lists(
            st.builds(Priority, names, maybe, maybe, maybe, st.integers(1, 10)), max_size=2
        ).map(tuple),
        st.lists(st.builds(Binding, names, names, names, st.booleans()), max_size=2).map(tuple),
        st.booleans(),
        st.dictionaries(names, names, max_size=2),
        st.integers(0, 9),
    )


endpoints = st.builds(
    Endpoint,
    st.sampled_from(EndpointState),
    st.booleans(),
    st.integers(1, 99),
    st.sampled_from(Transport),
    st.none() | st.integers(1, 65535),
    maybe,
)
user_databases = databases(names.filter(lambda name: name != MSDB))
instances = st.builds(
    Instance, names, databases(st.just(MSDB)), some(user_databases), maybe,
    st.lists(names, max_size=2).map(tuple), st.lists(names, max_size=2).map(tuple), endpoints,
    maybe,
)  # fmt: skip
topologies = st.builds(
    Topology,
    some(instances),
    some(st.builds(Cluster, names, st.dictionaries(names, names, max_size=2))),
    st.lists(
        st.builds(
            Expectation, names, names, maybe, st.none() | st.lists(names, max_size=2).map(tuple)
        ),
        max_size=12,
    ).map(tuple),
)


@pytest.mark.long
@settings(max_examples=100)
@given(topologies)
def test_unflatten_undoes_flatten(topology: Topology) -> None:
    """What goes into the catalog, through JSON and in any order, comes out as it was.

    What the topology expects of itself, and the agents that it has run, do not go in.
    """
    objects = flatten(topology)
    stored = {key: json.loads(json.dumps(value)) for key, value in reversed(objects.items())}
    assert unflatten(stored) == replace(topology, expect=(), agents={})


@given(names, st.just("") | names, names, names)
def test_keys_keep_any_name_apart(instance: str, database: str, kind: str, name: str) -> None:
    """A key has four parts, whatever is in the names."""
    key = catalog_key(instance, database, kind, name)
    assert split_key(key) == (instance, database, kind, name) and key.count("/") == 3


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_topologies_survive(name: str) -> None:
    """Every shipped topology goes through the catalog unchanged."""
    topology = replace(shipped(name), expect=(), agents={})
    assert unflatten(flatten(topology)) == topology


def test_what_a_topology_expects_is_no_object() -> None:
    """An assertion has no name: by its place in the list, one more would rewrite its neighbours."""
    assert shipped("local").expect
    assert not [key for key in flatten(shipped("local")) if "expect" in key]


def test_one_object_for_each_thing() -> None:
    """A route is an object of its own: changing it writes one record."""
    objects = flatten(shipped("two_brokers"))
    assert objects["ServerA/DatabaseA/route/TargetRoute"]["broker"] == "DatabaseB"
    assert "ServerA//instance/ServerA" in objects
    assert "routes" not in objects["ServerA/DatabaseA/database/DatabaseA"]


def test_other_objects_of_the_catalog_are_left_alone() -> None:
    """Versions, schemas and kinds of a later release do not hinder reading."""
    topology = replace(shipped("local"), expect=())
    objects = {**flatten(topology), "version": {}, "a/b/novelty/c": {"x": 1}}
    objects["ServerA/DatabaseA/database/DatabaseA"]["novelty"] = 1
    assert unflatten(objects) == topology


ODD: list[tuple[str, dict[str, object]]] = [
    ("route", {"address": 5}),
    ("route", {"expires": "soon"}),
    ("route", {"expires": float("nan")}),
    ("route", {"route_id": 2**70}),
    ("route", {"service": ["S"]}),
    ("route", {"name": "\ud800"}),
    ("queue", {"status": "on"}),
    ("queue", {"partitions": 0}),
    ("queue", {"partitions": 2**40}),
    ("contract", {"messages": {"\ud800": "any"}}),
    ("contract", {"messages": ["Order"]}),
    ("instance", {"partitions": 0}),
    ("instance", {"endpoint": []}),
]
"""Values that would fail in a worker's thread, long after the catalog was taken over."""


@pytest.mark.parametrize(("kind", "odd"), ODD)
def test_a_value_of_another_type_is_refused(kind: str, odd: dict[str, object]) -> None:
    """Whoever may write the catalog may write anything; workers keep the version before."""
    objects = flatten(shipped("combined"))
    objects["ServerA/DatabaseA/queue/Q"] = {"name": "Q"}
    assert unflatten(objects).instances["ServerA"].databases["DatabaseA"].queues["Q"].status
    key = next(key for key in objects if split_key(key)[2] == kind)
    objects[key] = {**objects[key], **odd}
    with pytest.raises(ValueError):
        unflatten(objects)


ONE = {"A//instance/A": {"name": "A"}, "A/D/database/D": {"name": "D", "broker_id": "b"}}


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("A/D/database/D", {"name": "D", "broker_id": "b", "error_epoch": 2**31}),
        ("A/D/database/D", {"name": "D", "broker_id": "b", "error_epoch": -1}),
        ("A/D/priority/P", {"name": "P", "level": 0, "position": 0}),
        ("A/D/priority/P", {"name": "P", "level": 2**40, "position": 0}),
    ],
)
def test_a_number_that_no_state_record_can_contain_is_refused(
    key: str, changed: dict[str, object]
) -> None:
    """Workers would reject every statement on the dialogs of the database."""
    unflatten(ONE)
    with pytest.raises(ValueError, match=r"D: error epoch|P: priority level"):
        unflatten({**ONE, key: changed})


def test_a_database_record_contains_no_other_objects() -> None:
    """Each object has a record of its own, with its own limits."""
    services = {"s": {"name": "t", "queue": "q"}}
    database = {**ONE["A/D/database/D"], "services": services, "queues": {"q": {"name": "q"}}}
    found = unflatten({**ONE, "A/D/database/D": database}).instances["A"].databases["D"]
    assert not found.services and not found.queues


def test_queues_and_schemas_of_all_services_and_types_equal_those_of_one() -> None:
    """Collation ignores case; of equal names, the first one counts."""
    queues = {name: Queue(name, retention=name == "q") for name in ("q", "Q", "own")}
    services = {name: Service(name, name) for name in ("q", "Q", "OWN", "none")}
    schemas = {"s": "<a/>", "S": "<b/>"}
    wanted = {"a": "s", "b": "S", "c": "none", "d": None}
    types = {
        name: MessageType(name, Validation.NONE if at is None else Validation.VALID_XML, at)
        for name, at in wanted.items()
    }
    one = Database("D", "b", queues=queues, services=services, schemas=schemas, message_types=types)
    assert queues_by_service(one) == {name: queue_of(one, name) for name in services}
    assert schemas_by_type(one) == {name: schema_of(one, kind) for name, kind in types.items()}


def test_the_record_of_an_instance_is_about_this_instance() -> None:
    with pytest.raises(ValueError, match="the record of A is about B"):
        unflatten({"A//instance/A": {"name": "B"}})


def test_a_contract_of_many_services_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 services and 3,000 types took 2.8 s in the thread that writes heartbeats."""
    read: list[str] = []

    def contract(database: Database, name: str) -> Contract:
        read.append(name)
        return Contract(name)

    monkeypatch.setattr(catalog_view, "contract_of", contract)
    services = {f"s{n}": Service(f"s{n}", "q", ("c", "c")) for n in range(3)}
    one = Instance(
        "A", msdb=Database("msdb", "m"), databases={"D": Database("D", "b", services=services)}
    )
    catalog_view.catalog_of(Topology({"A": one}), 1)
    assert read.count("c") == 1
