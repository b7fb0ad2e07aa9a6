"""LOCATE: find the database of this instance that a LOCAL route selects (R7)."""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.decision import Decision, Verdict
from streams.routing.locate import at_home, with_broker, with_service
from streams.routing.rules.rule import Context, Routes, Rule, always


def lacks_service(c: Context, routes: Routes) -> Decision | None:
    """Return the decision for a conversation with the broker id of a database without the service.

    The database, which is the only candidate, answers with an Error (-8490). A broker id that only
    a route names is not enough, nor is a database with delivery off.
    """
    if c.query.broker is None or not c.query.from_initiator:
        return None
    database = with_broker(c.instance, c.query.broker)
    if database is None or c.query.service in database.services:
        return None
    verdict, number = Verdict.DELAY if c.inside else Verdict.DROP, Number.REMOTE_SERVICE_MISSING
    return c.decide(verdict, routes, candidates=(database.name,), error=number)


def _by_broker_id(c: Context, routes: Routes) -> Decision | None:
    if c.broker is None:
        return None
    database = with_service(c.instance, c.broker, c.query.service)
    if database is None:
        dropped = c.unusable(Number.TARGET_BROKER_NOT_HERE)
        return c.refuse(routes, Number.BROKER_NOT_HERE, dropped)  # U-12
    return c.decide(Verdict.DELIVER, routes, candidates=(database.name,))


def _in_home_database(c: Context, routes: Routes) -> Decision | None:
    home = at_home(c.instance, c.query.database if c.inside else None, c.query.service)
    return None if home is None else c.decide(Verdict.DELIVER, routes, candidates=(home,))


def _in_any_database(c: Context, routes: Routes) -> Decision:
    return c.decide(Verdict.DELIVER, routes, candidates=c.instance.hosting(c.query.service))


ANSWERS = "the database with the conversation's broker id lacks the service: it answers with -8490"
LOCATE = (
    Rule("R7.4", lacks_service, ANSWERS, always("")),
    Rule("R7.1", _by_broker_id, "the broker id selects the database", always("no broker id")),
    Rule("R7.2a", _in_home_database, "the database that holds the conversation has the service",
         always("the conversation's own database does not have it")),
    Rule("R7.2b", _in_any_database, "active databases of this instance that have the service",
         always("")),
)  # fmt: skip
