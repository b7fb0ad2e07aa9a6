"""ENTRY: decide whether the message can be classified, and whether it is a reply (R1.1, R2.1)."""

from __future__ import annotations

from streams.errors.numbers import Number
from streams.routing.decision import Decision, Verdict
from streams.routing.rules.rule import Context, Routes, Rule, always


def _sender_is_off(c: Context, _: Routes) -> Decision | None:
    home = c.instance.databases.get(c.query.database or "") if c.inside else None
    if home is None or home.enabled:
        return None
    return c.decide(Verdict.DELAY, error=Number.SENDER_BROKER_OFF)


def _msdb_is_off(c: Context, _: Routes) -> Decision | None:
    if c.inside or c.instance.msdb_enabled:
        return None
    return c.decide(Verdict.DROP, error=Number.MSDB_BROKER_OFF)


def _reply(c: Context, _: Routes) -> Decision | None:
    if c.inside or c.query.from_initiator or c.query.broker is None:
        return None
    database = c.instance.with_broker_id(c.query.broker)
    if database is None:
        return None
    c.step = "REPLY"
    if not database.enabled:
        return c.decide(Verdict.DROP, error=c.unusable(Number.TARGET_BROKER_UNAVAILABLE))
    return c.decide(Verdict.DELIVER, candidates=(database.name,))


def _miss_reply(c: Context, _: Routes) -> str:
    if c.inside or c.query.from_initiator:
        return ""
    if c.query.broker is None:
        return "it does not specify a broker id"
    return f"no database of {c.instance.name} has the broker id {c.query.broker}"


ENTRY = (
    Rule("R1.1", _sender_is_off, "the broker of the sending database is off", always("")),
    Rule("R2.1", _msdb_is_off, "the broker of msdb is off: nothing can be classified", always("")),
    Rule(
        "REPLY",
        _reply,
        "sent by the target's side to a broker id of this instance: no route is consulted",
        _miss_reply,
    ),
)
