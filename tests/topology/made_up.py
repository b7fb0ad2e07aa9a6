"""Topologies that nobody would write, for hypothesis: every object, and names of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from streams.routing import AUTO_CREATED_LOCAL, CONFIGURATION_SERVICE
from streams.topology import (
    MSDB,
    SYSTEM_CONTRACTS,
    SYSTEM_MESSAGE_TYPES,
    Binding,
    Certificate,
    Claims,
    Cluster,
    Contract,
    Database,
    Encryption,
    Endpoint,
    EndpointState,
    Expectation,
    Grant,
    Instance,
    MessageType,
    Mirror,
    Priority,
    PrivateKey,
    Queue,
    Role,
    Route,
    Securable,
    Sender,
    Service,
    Topology,
    Transport,
    Validation,
    default_broker_id,
    queue_name,
)
from streams.topology.objects import is_group
from tests.topology.build import NOW

T = TypeVar("T")
_ODD = st.text("'\"[].]\\/-$() \t\n;:aÄß語\U0001f4a9@#*,", min_size=1, max_size=8)
_ANY = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
_PLAIN = st.sampled_from(["Orders", "//shop/Orders", "GO", "ANY", "CURRENT", "null", "12", "on"])
NAMES = st.one_of(_PLAIN, _ODD, _ANY)
_DATABASES = NAMES.filter(lambda n: n.casefold() not in {MSDB, "master", "model", "tempdb"})
_PRINTED = st.one_of(_PLAIN, _ODD).filter(lambda n: n.isprintable() and bool(n.strip()))
_PREFIXES = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
_HOSTS = st.sampled_from(["h", "SQL01.example.org", "10.0.0.4", "[::1]"])
_TCP = st.builds("{}{}:{}".format, st.sampled_from(["tcp://", "TCP://"]), _HOSTS, st.just(4022))
_LASTING = NAMES.filter(lambda n: not n.startswith("#"))
_OWNED = st.builds(queue_name, st.sampled_from(["dbo", "sales", "a.b", "x]y"]), _LASTING)


def _maybe(values: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.one_of(st.none(), values)


def _named(
    values: st.SearchStrategy[T], key: Callable[[T], Any]
) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(values, max_size=3, unique_by=key).map(tuple)


def _by_name(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    rows = _named(values, lambda v: v.name.casefold())
    return rows.map(lambda found: {v.name: v for v in found})


def _not_of(names: Any) -> st.SearchStrategy[str]:
    return NAMES.filter(lambda n: n not in names)


def _is_no_keyword(named: Any) -> bool:
    """Return whether no broker priority for ANY would apply to an object by its name."""
    return str(named.name).upper() != "ANY"


_TYPES = st.one_of(
    st.builds(
        MessageType,
        _not_of(SYSTEM_MESSAGE_TYPES),
        st.sampled_from([v for v in Validation if v is not Validation.VALID_XML]),
    ),
    st.builds(
        MessageType, _not_of(SYSTEM_MESSAGE_TYPES), st.just(Validation.VALID_XML), schema=_OWNED
    ),
)
_CONTRACTS = st.builds(
    Contract,
    _not_of(SYSTEM_CONTRACTS),
    st.dictionaries(NAMES, st.sampled_from(Sender), min_size=1, max_size=3),
).filter(_is_no_keyword)
_GROUPS = NAMES.filter(is_group)
_SETTINGS = st.booleans(), st.booleans(), st.booleans()
_QUEUES = st.builds(Queue, _OWNED, *_SETTINGS, st.none(), _maybe(_GROUPS)) | st.builds(
    Queue, _OWNED, *_SETTINGS, NAMES, _maybe(_GROUPS), st.integers(0, 32_767)
)
_ACCEPTED = st.lists(NAMES, max_size=2, unique=True).map(tuple)
_SERVICES = st.builds(Service, NAMES, _OWNED, _ACCEPTED, _maybe(NAMES)).filter(_is_no_keyword)
_PRIORITIES = st.builds(
    Priority, NAMES, _maybe(NAMES), _maybe(NAMES), _maybe(NAMES), st.integers(1, 10)
)
_BINDINGS = st.builds(Binding, NAMES, NAMES, NAMES, st.booleans())
_DATES = st.integers(0, 4_000_000_000).map(float)
_CERTIFICATES = st.one_of(
    st.builds(
        Certificate,
        NAMES,
        user=_maybe(NAMES),
        private_key=_maybe(st.just(PrivateKey.ABSENT)),
        active=st.booleans(),
    ),
    st.builds(
        Certificate,
        NAMES,
        _maybe(_DATES),
        _maybe(_DATES),
        NAMES,
        _maybe(NAMES),
        _maybe(st.just(PrivateKey.MASTER_KEY)),
        st.booleans(),
    ),
)


def _grants(permission: str, securable: Securable) -> st.SearchStrategy[tuple[Grant, ...]]:
    rows = st.builds(Grant, st.just(permission), st.just(securable), NAMES, NAMES, st.booleans())
    return _named(rows, lambda g: g.principal.casefold())


_EXPIRES = _maybe(st.integers(1, 2**31 - 1).map(lambda n: NOW + n))


@st.composite
def _route(draw: st.DrawFn) -> Route:
    name = draw(NAMES.filter(lambda n: n.casefold() != AUTO_CREATED_LOCAL.casefold()))
    expires = draw(_EXPIRES)
    if draw(st.booleans()):
        return Route(name, None, None, draw(st.sampled_from(["LOCAL", "transport"])), None, expires)
    service = draw(_maybe(_PRINTED.filter(lambda n: n != CONFIGURATION_SERVICE)))
    ids = _PRINTED.filter(lambda n: n == n.strip())
    broker = None if service is None else draw(_maybe(ids))
    mirror = None if broker is None else draw(_maybe(st.just("tcp://other:4022")))
    return Route(name, service, broker, draw(_TCP), mirror, expires)


@st.composite
def _routes(draw: st.DrawFn) -> tuple[Route, ...]:
    """Routes as a database has them: AutoCreatedLocal is there, gone, or not what it was."""
    others = draw(_named(_route(), lambda r: r.name.casefold()))
    first = draw(
        st.sampled_from(
            [
                (),
                (Route(AUTO_CREATED_LOCAL, None, None, "LOCAL"),),
                (Route(AUTO_CREATED_LOCAL, "S", None, "tcp://h:1", None, NOW + 5),),
            ]
        )
    )
    start = 1 if first else 2
    return tuple(_numbered(route, n) for n, route in enumerate((*first, *others), start))


def _numbered(r: Route, route_id: int) -> Route:
    return Route(r.name, r.service, r.broker, r.address, r.mirror, r.expires, route_id)


@st.composite
def _database(draw: st.DrawFn, instance: str, name: str) -> Database:
    broker_id = draw(st.one_of(st.just(default_broker_id(instance, name)), NAMES))
    criteria = _named(_PRIORITIES, lambda p: (p.contract, p.local_service, p.remote_service))
    return Database(
        name,
        broker_id,
        draw(st.booleans()),
        draw(_maybe(st.builds(Mirror, NAMES, st.sampled_from(Role)))),
        draw(_by_name(_TYPES)),
        draw(_by_name(_CONTRACTS)),
        draw(_by_name(_QUEUES)),
        draw(_by_name(_SERVICES)),
        draw(_routes()),
        draw(criteria.filter(lambda ps: len({p.name.casefold() for p in ps}) == len(ps))),
        honor_priority=draw(st.booleans()),
        read_only=draw(st.booleans()),
        single_user=draw(st.booleans()),
        bindings=tuple({b.service: b for b in draw(_by_name(_BINDINGS)).values()}.values()),
        schemas={name: f"<{name}" for name in draw(_named(_OWNED, str.casefold))},
        certificates=draw(_by_name(_CERTIFICATES)),
        grants=draw(_grants("SEND", Securable.SERVICE)),
        master_key=draw(_maybe(st.booleans())),
    )


_ENDPOINTS = st.builds(
    Endpoint,
    st.sampled_from(EndpointState),
    st.booleans(),
    st.integers(1, 2**31 - 1),
    st.sampled_from(Transport),
    _maybe(st.integers(1, 65535)),
    _maybe(NAMES),
    st.sampled_from(Encryption),
    st.sampled_from([(), ("AES",), ("RC4", "AES")]),
    st.one_of(
        st.sampled_from([(), ("WINDOWS", "NEGOTIATE")]),
        st.tuples(st.just("CERTIFICATE"), NAMES),
    ),
    st.booleans(),
)


@st.composite
def _instance(draw: st.DrawFn, name: str) -> Instance:
    names = draw(_named(_DATABASES, str.casefold))
    return Instance(
        name,
        draw(_database(name, MSDB)),
        {n: draw(_database(name, n)) for n in names},
        draw(_maybe(_TCP)),
        tuple(draw(st.lists(_HOSTS, max_size=2))),
        tuple(draw(st.lists(_TCP, max_size=2))),
        draw(_ENDPOINTS),
        draw(_maybe(NAMES)),
        draw(st.integers(1, 1000)),
        draw(_grants("CONNECT", Securable.ENDPOINT)),
    )


_EXPECTATIONS = st.builds(
    Expectation,
    NAMES,
    NAMES,
    _maybe(st.sampled_from(["ok", "hazard", "broken"])),
    _maybe(st.lists(NAMES, max_size=2).map(tuple)),
    _maybe(NAMES),
)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Topologies without a record that the engine would refuse."""
    names = draw(_named(NAMES, str.casefold))
    properties = st.dictionaries(NAMES, st.text("ab: '#", max_size=4))
    lists = _maybe(st.lists(NAMES, max_size=2).map(tuple))
    claims = _maybe(st.builds(Claims, lists, lists))
    clusters = st.builds(Cluster, NAMES, properties, _maybe(_PREFIXES), _maybe(NAMES), claims)
    return Topology(
        {name: draw(_instance(name)) for name in names},
        draw(_by_name(clusters)),
        tuple(draw(st.lists(_EXPECTATIONS, max_size=2))),
    )
