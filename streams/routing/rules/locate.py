"""LOCAL: which database of this instance? (R7)"""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.decision import Decision, Verdict
from streams.routing.rules.rule import Context, Routes, Rule, always


def _by_broker_id(c: Context, routes: Routes) -> Decision | None:
    if c.broker is None:
        return None
    database = c.instance.with_broker_id(c.broker)
    if database is None or not database.enabled or c.query.service not in database.services:
        dropped = c.unusable(Number.TARGET_BROKER_NOT_HERE)
        return c.refuse(routes, Number.BROKER_NOT_HERE, dropped)  # U-12
    return c.decide(Verdict.DELIVER, routes, candidates=(database.name,))


def _in_home_database(c: Context, routes: Routes) -> Decision | None:
    home = c.instance.databases.get(c.query.database or "") if c.inside else None
    if home is None or c.query.service not in home.services:
        return None
    return c.decide(Verdict.DELIVER, routes, candidates=(home.name,))


def _in_any_database(c: Context, routes: Routes) -> Decision:
    return c.decide(Verdict.DELIVER, routes, candidates=c.instance.hosting(c.query.service))


LOCATE = (
    Rule("R7.1", _by_broker_id, "the broker id says which database", always("no broker id given")),
    Rule("R7.2a", _in_home_database, "the database that holds the conversation has the service",
         always("the conversation's own database does not have it")),
    Rule("R7.2b", _in_any_database, "active databases of this instance that have the service",
         always("")),
)  # fmt: skip
