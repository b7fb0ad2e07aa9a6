"""MATCH: find the routes that match (M1 to M7, reference 2.2, steps 3 and 4)."""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.address import LOCAL
from streams.routing.decision import Decision, Verdict
from streams.routing.model import Route
from streams.routing.rules.rule import Context, Routes, Rule, always
from streams.system_names import CONFIGURATION_SERVICE, SYSTEM_SERVICE

_NO_ID = "the conversation does not specify a broker id"


def _full(c: Context, _: Routes) -> Routes:
    if c.query.broker is None:
        return ()
    return c.live(c.table.full(c.query.service, c.query.broker))


def _named(c: Context, _: Routes) -> Routes:
    return c.live(c.table.named(c.query.service))


def _with_any_broker(c: Context, _: Routes) -> Routes:
    return c.live(c.table.with_broker(c.query.service)) if c.query.broker is None else ()


def _configuration(c: Context, _: Routes) -> Decision | None:
    # A pending request also keeps the conversation delayed (C-07, U-09), so no test is needed here.
    asked = c.live(c.table.named(CONFIGURATION_SERVICE))
    # Messages to these two services must not wait: they carry the request, or end its dialog.
    if not asked or c.query.service in (CONFIGURATION_SERVICE, SYSTEM_SERVICE):
        return None
    return c.decide(Verdict.ASK, asked, error=Number.WAITING_FOR_CONFIGURATION)


def _last_resort(c: Context, _: Routes) -> Routes:
    return c.live(c.table.last_resort())


def _local_without_route(c: Context, _: Routes) -> Routes:
    if c.query.broker is None or not c.instance.hosting(c.query.service):
        return ()
    return (Route("", c.query.service, None, LOCAL),)


def _nothing(c: Context, _: Routes) -> Decision:
    return c.refuse((), Number.NO_ROUTE, Number.NO_ROUTE)


def _miss_full(c: Context, _: Routes) -> str:
    if c.query.broker is None:
        return _NO_ID
    return f"no unexpired route names {c.query.service} and broker id {c.query.broker}"


def _miss_with_any_broker(c: Context, _: Routes) -> str:
    if c.query.broker is not None:
        return "the conversation specifies a broker id: routes with a different id never match"
    return f"no unexpired route names {c.query.service} and a broker id"


def _miss_local(c: Context, _: Routes) -> str:
    if c.query.broker is None:
        return _NO_ID
    return f"no active database of {c.instance.name} has the service {c.query.service}"


MATCH = (
    Rule("M1", _full, "routes that name the service and the conversation's broker id", _miss_full),
    Rule("M2", _named, "routes that name the service without a broker id",
         lambda c, _: f"no unexpired route names {c.query.service} without a broker id"),
    Rule("M3", _with_any_broker, "routes that name the service and a broker id; the dialog's hash "
         "selects one id", _miss_with_any_broker),
    Rule("M4", _configuration, "a configuration service is defined, so it is asked for a route",
         always("no route to the configuration service")),
    Rule("M5", _last_resort, "last-resort routes, without a service name and a broker id",
         always("no unexpired last-resort route")),
    Rule("M6", _local_without_route, "a broker id is given and an active database here has the "
         "service", _miss_local),
    Rule("M7", _nothing, "no route matches", always("")),
)  # fmt: skip
