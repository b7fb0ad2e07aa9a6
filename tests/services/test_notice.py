"""The configuration service (reference 2.5): what a request for a route is answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.node.endpoint.route_requests import MissingRoute
from streams.resources import topologies_dir
from streams.routing import Origin, Query, Verdict, plan
from streams.services import answer, purge
from streams.services.notice import PREFIX, UNKNOWN, UNUSABLE, asker
from streams.topology import (
    Database,
    Offer,
    Role,
    Route,
    Topology,
    apply_sql,
    failover,
    load,
    routing_instances,
)
from tests.node.evidence import shows

NOW = 1_000_000.0
ASKING = load(topologies_dir() / "dynamic_routing", NOW)
TARGET, HOP = "TargetService", "tcp://ServerB:4022"


def routes(topology: Topology) -> tuple[Route, ...]:
    return topology.instances["ServerA"].databases["DatabaseA"].routes


def made(topology: Topology) -> list[str]:
    """Return the names of the routes that the service has created."""
    return [route.name for route in routes(topology) if route.name.startswith(PREFIX)]


def asked(
    *offers: Offer, of: Topology = ASKING, at: float = NOW, broker: str | None = None
) -> Topology:
    """Return the topology when a request was answered; the engine refuses nothing of it."""
    found = answer(MissingRoute(TARGET, broker), offers, routes(of), at)
    assert found.refusal is None
    after = apply_sql(of, "ServerA", "DatabaseA", found.sql, at)
    assert after.findings == of.findings
    return after


def refused(*offers: Offer, broker: str | None = None) -> tuple[int, str]:
    found = answer(MissingRoute(TARGET, broker), offers, routes(ASKING), NOW)
    assert found.sql == "" and found.refusal is not None
    return found.refusal


def verdict(of: Topology, at: float = NOW, broker: str | None = None) -> tuple[Verdict, list[str]]:
    query = Query(TARGET, Origin.INSIDE, broker, "DatabaseA")
    found = plan(routing_instances(of)["ServerA"], query, at).decision(None)
    return found.verdict, [str(hop) for hop in found.addresses]


def test_who_asks_is_known_by_its_broker_id() -> None:
    """That of msdb, too; of a mirrored pair it is the principal."""
    here = ASKING.instances["ServerB"]
    assert asker(ASKING, "DatabaseA") == (
        "ServerA",
        ASKING.instances["ServerA"].databases["DatabaseA"],
    )
    assert asker(ASKING, here.msdb.broker_id.upper()) == ("ServerB", here.msdb)
    assert asker(ASKING, "nobody") is None
    pair = load(topologies_dir() / "mirrored", NOW)
    for partners in (pair, failover(pair, "Orders", other(pair))):
        found = asker(partners, broker_of(partners))
        assert found is not None
        mirror = found[1].mirror
        assert mirror is not None and mirror.role is Role.PRINCIPAL


def partners_of(topology: Topology) -> dict[str, Database]:
    return {
        instance.name: database
        for instance in topology.instances.values()
        for database in instance.databases.values()
        if database.mirror is not None
    }


def other(topology: Topology) -> str:
    """Return the instance that has the mirror."""
    return next(
        name
        for name, database in partners_of(topology).items()
        if database.mirror is not None and database.mirror.role is Role.MIRROR
    )


def broker_of(topology: Topology) -> str:
    [broker] = {database.broker_id for database in partners_of(topology).values()}
    return broker


@shows("EX-56")
def test_the_route_that_was_asked_for_leads_there_until_its_lifetime_ends() -> None:
    after = asked(Offer(TARGET, HOP, lifetime=60))
    assert verdict(ASKING)[0] is Verdict.ASK
    assert verdict(after) == (Verdict.SEND, [HOP])
    assert verdict(after, NOW + 60)[0] is Verdict.ASK


@shows("N3")
def test_an_answer_that_is_given_twice_creates_one_route() -> None:
    """The second one ENDs all the same; nor is a route doubled that somebody else has created."""
    offer = Offer(TARGET, HOP)
    after = asked(offer)
    assert asked(offer, of=after) == after
    text = f"CREATE ROUTE Mine WITH SERVICE_NAME = '{TARGET}', ADDRESS = 'TCP://serverb'"
    mine = apply_sql(ASKING, "ServerA", "DatabaseA", text, NOW)
    assert asked(offer, of=mine) == mine


@shows("N3")
def test_what_has_expired_is_dropped_and_created_anew() -> None:
    """Only what the service has created: another's route may be brought back by ALTER ROUTE."""
    old = asked(Offer(TARGET, HOP, lifetime=10))
    text = "CREATE ROUTE Mine WITH SERVICE_NAME = 'X', LIFETIME = 1, ADDRESS = 'tcp://X'"
    old = apply_sql(old, "ServerA", "DatabaseA", text, NOW)
    assert list(purge(routes(old), NOW + 9)) == []
    assert list(purge(routes(old), NOW + 10)) == [f"DROP ROUTE [{made(old)[0]}];"]
    after = asked(Offer(TARGET, HOP, lifetime=10), of=old, at=NOW + 10)
    assert made(after) == made(old)
    assert verdict(after, NOW + 19) == (Verdict.SEND, [HOP])
    assert [r.name for r in routes(after) if r.name == "Mine"] == ["Mine"]
    moved = asked(Offer(TARGET, "tcp://ServerC:4022"), of=old, at=NOW + 10)
    assert len(made(moved)) == 1 and made(moved) != made(old)


def test_every_route_to_the_service_is_created() -> None:
    """Two broker ids, one of them with two addresses: nobody has to ask for the others."""
    b, c = Offer(TARGET, HOP, "B"), Offer(TARGET, "tcp://ServerC:4022", "C")
    second = Offer(TARGET, "tcp://ServerC2:4022", "C")
    after = asked(b, c, second, c, broker="B")
    assert len(made(after)) == 3
    assert verdict(after, broker="C")[1] == ["tcp://ServerC:4022", "tcp://ServerC2:4022"]


@pytest.mark.parametrize(
    ("offers", "broker", "code", "message"),
    [
        ((), None, UNKNOWN, "no address for TargetService"),
        ((Offer("targetservice", HOP),), None, UNKNOWN, "no address for TargetService"),
        ((Offer("targetservice", HOP, "B"),), "C", UNKNOWN, "no address for TargetService at C"),
        ((Offer(TARGET, "ServerB"),), None, UNUSABLE, "'ServerB' is not a valid address"),
        ((Offer(TARGET, "TRANSPORT"),), None, UNUSABLE, "ADDRESS is TRANSPORT"),
        ((Offer(TARGET, HOP, lifetime=0),), None, UNUSABLE, "LIFETIME is 0"),
        ((Offer(TARGET, HOP), Offer(TARGET, "")), None, UNUSABLE, "ADDRESS is empty"),
        ((Offer(TARGET, HOP, "B"), Offer(TARGET, "")), "C", UNUSABLE, "ADDRESS is empty"),
    ],
)
@shows("N3")
def test_what_cannot_be_created_is_refused(
    offers: tuple[Offer, ...], broker: str | None, code: int, message: str
) -> None:
    found = refused(*offers, broker=broker)
    assert found[0] == code and message in found[1]


@shows("N3")
def test_a_request_for_another_broker_id_is_refused_but_creates_the_routes() -> None:
    """Dialogs to the directory's broker ids wait for the same request, and find their routes."""
    offers = Offer(TARGET, HOP, "B"), Offer(TARGET, "tcp://ServerC:4022", "C")
    found = answer(MissingRoute(TARGET, "Nobody"), offers, routes(ASKING), NOW)
    refusal = UNKNOWN, "the directory has no address for TargetService at Nobody"
    assert found.refusal == refusal
    assert found.sql == answer(MissingRoute(TARGET), offers, routes(ASKING), NOW).sql
    after = apply_sql(ASKING, "ServerA", "DatabaseA", found.sql, NOW)
    assert after.findings == ASKING.findings and len(made(after)) == 2
    assert verdict(after, broker="B") == (Verdict.SEND, [HOP])
    assert verdict(after)[0] is Verdict.SEND
    assert verdict(after, broker="Nobody")[0] is Verdict.ASK
    again = answer(MissingRoute(TARGET, "Nobody"), offers, routes(after), NOW)
    assert (again.sql, again.refusal) == ("", refusal)


def test_an_error_can_be_written_as_xml() -> None:
    """Whatever the directory has: an unreadable Error would never end the request."""
    code, text = refused(Offer(TARGET, "Server\x00\ud800"))
    assert code == UNUSABLE and "'Server??' is not a valid address" in text


def test_a_guid_is_the_same_however_it_is_written() -> None:
    guid = "C0A7A0F9-9D0E-5F3A-8A3C-1B6F0A9B7D52"
    after = asked(Offer(TARGET, HOP, guid), broker="{" + guid.lower() + "}")
    assert verdict(after, broker=guid) == (Verdict.SEND, [HOP])


@given(
    st.text(min_size=1, max_size=256),
    st.none() | st.text(min_size=1, max_size=20),
    st.integers(-5, 2**31 + 5),
)
def test_any_offer_of_a_directory_is_created_or_refused(
    service: str, broker: str | None, lifetime: int
) -> None:
    """Quotes, brackets and line ends are part of a name, and no T-SQL."""
    offer = Offer(service, HOP, broker, None, lifetime)
    found = answer(MissingRoute(service, broker), [offer], routes(ASKING), NOW)
    if found.refusal is not None:
        assert offer.breaches
        return
    after = apply_sql(ASKING, "ServerA", "DatabaseA", found.sql, NOW)
    assert after.findings == ()
    route = routes(after)[-1]
    assert (route.service, route.broker, route.address) == (service, broker, HOP)
    assert route.expires == NOW + lifetime
