"""SEND: loop-back, forwarding, or sending to the network (R8, R6)."""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.decision import Decision, Verdict
from streams.routing.rules.rule import Context, Routes, Rule, always


def _loops_back(c: Context, routes: Routes) -> Routes:
    # For a message from another instance, a route to this instance is an ordinary forward, which
    # uses a hop (U-46).
    here = c.inside and all(c.instance.is_here(a) for a in c.addresses)
    return routes if here else ()


def _may_not_forward(c: Context, routes: Routes) -> Decision | None:
    if c.inside or c.instance.forwarding:
        return None
    return c.decide(Verdict.DROP, routes, error=Number.FORWARDING_DISABLED)


def _endpoint_is_stopped(c: Context, routes: Routes) -> Decision | None:
    if c.instance.started:
        return None
    return c.refuse(routes, Number.TRANSPORT_DISABLED, Number.TRANSPORT_STOPPED)


def _ask_partners(c: Context, routes: Routes) -> Decision | None:
    if routes[0].mirror is None:
        return None
    return c.decide(Verdict.PROBE, routes, addresses=c.addresses)


def _forward(c: Context, routes: Routes) -> Decision | None:
    return None if c.inside else c.decide(Verdict.FORWARD, routes, addresses=c.addresses)


def _send(c: Context, routes: Routes) -> Decision:
    return c.decide(Verdict.SEND, routes, addresses=c.addresses)


def _miss_loop(c: Context, _: Routes) -> str:
    return "another instance has the address" if c.inside else "received from another instance"


def _miss_forwarding(c: Context, _: Routes) -> str:
    return "sent from this instance" if c.inside else "forwarding is enabled at the endpoint"


SEND = (
    Rule("R8.1", _loops_back, "the address is this instance, which decides again as if the message "
         "had arrived from another instance", _miss_loop),
    Rule("R8.2", _may_not_forward, "forwarding is disabled at the endpoint", _miss_forwarding),
    Rule("STOPPED", _endpoint_is_stopped, "the instance has no started endpoint",
         always("the endpoint is started")),
    Rule("R6", _ask_partners, "mirrored: both partners are asked which one is the principal",
         always("")),
    Rule("R8.3", _forward, "from another instance: forwarded", always("sent from this instance")),
    Rule("R8.4", _send, "sent; the copy stays in the transmission queue until acknowledged",
         always("")),
)  # fmt: skip
