"""The steps of a scenario's file."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streams.protocol import DEFAULT
from streams.simulator.clock import SECOND
from streams.simulator.read_values import Names, duration, word
from streams.simulator.scenario import (
    Abort,
    Action,
    Begin,
    Crash,
    Cut,
    End,
    Failover,
    Move,
    Part,
    Receive,
    Send,
    Side,
    Skew,
    Sql,
    Step,
    Timer,
)
from streams.topology.yaml_file.nodes import Node

_MOST = 1 << 31
_BEGIN = (
    "dialog", "from", "to", "broker", "contract", "conversation", "lifetime", "group", "count",
    "related",
)  # fmt: skip


@dataclass(slots=True)
class Reading:
    """The start times of the dialogs read so far, and the time of the current step."""

    names: Names
    dialogs: dict[str, int] = field(default_factory=dict)
    at: int = 0


def read_step(node: Node, reading: Reading) -> Step:
    """Read one step: a time and exactly one action."""
    given = node.fields("a step", ("at", *_ACTIONS))
    actions = [name for name in given if name != "at"]
    if len(actions) != 1:
        remedy = f"Write it like {{at: 5s, begin: {{...}}}}; actions: {', '.join(_ACTIONS)}."
        raise node.error(f"a step has one action, but this one has {len(actions)}", remedy)
    reading.at = duration(given["at"]) if "at" in given else 0
    action = _ACTIONS[actions[0]](given[actions[0]], reading)
    return Step(reading.at, action, node.source)


def _demand(node: Node, given: Mapping[str, Node], *names: str) -> None:
    for name in names:
        if name not in given:
            raise node.error(f"'{name}' is missing here", f"Add '{name}: ...'.")


def _begin(node: Node, reading: Reading) -> Action:
    given = node.fields("begin", _BEGIN)
    _demand(node, given, "dialog", "from", "to")
    name = word(given["dialog"], "a dialog's name")
    if name in reading.dialogs:
        raise given["dialog"].error(f"'{name}' begins twice", "Give each dialog its own name.")
    reading.dialogs[name] = reading.at
    count = given["count"].integer("how many dialogs", 1, 100_000) if "count" in given else 1
    if count > 1 and "conversation" in given:
        raise given["conversation"].error(
            f"{count} dialogs cannot share one conversation id", "Leave out one of the two."
        )
    return Begin(
        name,
        *reading.names.service(given["from"]),
        word(given["to"], "a service"),
        _maybe(given, "broker"),
        reading.names.contract(given["contract"]) if "contract" in given else DEFAULT,
        _guid(given, "conversation"),
        max(duration(given["lifetime"]) // 1_000_000, 0) if "lifetime" in given else None,
        _guid(given, "group"),
        count,
        _related(given, name, reading),
    )


def _related(given: Mapping[str, Node], name: str, reading: Reading) -> str | None:
    related = _maybe(given, "related")
    if related is not None and (related == name or related not in reading.dialogs):
        raise given["related"].error(
            f"dialog '{related}' has not begun", "Begin it in an earlier step."
        )
    return related


def _maybe(given: Mapping[str, Node], key: str) -> str | None:
    node = given.get(key)
    return None if node is None or node.is_null else word(node, f"a {key}")


def _guid(given: Mapping[str, Node], key: str) -> uuid.UUID | None:
    text = _maybe(given, key)
    try:
        return None if text is None else uuid.UUID(text)
    except ValueError:
        given[key].fail("a GUID", "Write 8-4-4-4-12 hexadecimal digits, or leave it out.")


def _dialog(node: Node, given: Mapping[str, Node], reading: Reading) -> str:
    _demand(node, given, "dialog")
    name = word(given["dialog"], "a dialog's name")
    if name not in reading.dialogs:
        known = ", ".join(reading.dialogs) or "none"
        remedy = f"Begin it in an earlier step; dialogs so far: {known}."
        raise given["dialog"].error(f"dialog '{name}' has not begun", remedy)
    if reading.at < reading.dialogs[name]:
        time = f"{reading.dialogs[name] / SECOND:g} s"
        raise given["dialog"].error(f"'{name}' does not begin before {time}", "Use a later time.")
    return name


def _side(given: Mapping[str, Node]) -> Side:
    return given["side"].choice("a side", Side) if "side" in given else Side.INITIATOR


def _send(node: Node, reading: Reading) -> Action:
    given = node.fields("send", ("dialog", "side", "type", "body", "count", "at"))
    return Send(
        _dialog(node, given, reading),
        _side(given),
        reading.names.message_type(given["type"]) if "type" in given else DEFAULT,
        "" if "body" not in given else word(given["body"], "a body"),
        given["count"].integer("how many", 1, 100_000) if "count" in given else 1,
        reading.names.database(given["at"]) if "at" in given else None,
    )


def _end(node: Node, reading: Reading) -> Action:
    given = node.fields("end", ("dialog", "side", "error", "cleanup", "at"))
    error = None
    if "error" in given and not given["error"].is_null:
        fields = given["error"].fields("an error", ("code", "text"))
        _demand(given["error"], fields, "code")
        code = fields["code"].integer("the code of an application's error", 1, _MOST)
        error = (code, word(fields["text"], "a text") if "text" in fields else "")
    return End(
        _dialog(node, given, reading),
        _side(given),
        error,
        given["cleanup"].switch("cleanup") if "cleanup" in given else False,
        reading.names.database(given["at"]) if "at" in given else None,
    )


def _timer(node: Node, reading: Reading) -> Action:
    given = node.fields("timer", ("dialog", "side", "timeout", "at"))
    _demand(node, given, "timeout")
    return Timer(
        _dialog(node, given, reading),
        max(duration(given["timeout"]) // 1_000_000, 0),
        _side(given),
        reading.names.database(given["at"]) if "at" in given else None,
    )


def _move(node: Node, reading: Reading) -> Action:
    given = node.fields("move", ("dialog", "side", "group", "at"))
    _demand(node, given, "group")
    group = _guid(given, "group")
    if group is None:
        given["group"].fail("a GUID")
    return Move(
        _dialog(node, given, reading),
        group,
        _side(given),
        reading.names.database(given["at"]) if "at" in given else None,
    )


def _receive(node: Node, reading: Reading) -> Action:
    given = node.fields("receive", ("queue", "count"))
    _demand(node, given, "queue")
    count = given["count"].integer("how many", 1, _MOST) if "count" in given else None
    return Receive(*reading.names.queue(given["queue"]), count)


def _sql(node: Node, reading: Reading) -> Action:
    given = node.fields("sql", ("at", "text", "sql"))
    _demand(node, given, "at")
    text = given.get("text") or given.get("sql")
    if text is None:
        raise node.error("'text' is missing here", "Add 'text: \"CREATE ROUTE ...\"'.")
    return Sql(*reading.names.database(given["at"]), word(text, "T-SQL"))


def _fault(node: Node, reading: Reading) -> Action:
    what = ("link", *(part.value for part in Part))
    given = node.fields("a fault", (*what, "state", "skew", "aborts"))
    named = [key for key in what if key in given]
    if len(named) != 1:
        raise node.error("a fault has one subject", f"Give one of: {', '.join(what)}.")
    about = given[named[0]]
    if named[0] == "link":
        _demand(node, given, "state")
        return Cut(reading.names.link(about), _is_up(given["state"], "down"))
    instance = reading.names.instance(about)
    if "skew" in given:
        return Skew(instance, duration(given["skew"], signed=True))
    if "aborts" in given:
        return Abort(instance, given["aborts"].integer("how many", 0, 1_000))
    _demand(node, given, "state")
    return Crash(Part(named[0]), instance, _is_up(given["state"], "crashed"))


def _is_up(node: Node, bad: str) -> bool:
    state = word(node, "a state").casefold()
    if state not in ("up", bad):
        node.fail(f"up or {bad}")
    return state == "up"


def _failover(node: Node, reading: Reading) -> Action:
    given = node.fields("failover", ("pair", "to"))
    _demand(node, given, "pair", "to")
    return Failover(*reading.names.partner(given["pair"], given["to"]))


_ACTIONS: Mapping[str, Callable[[Node, Reading], Action]] = {
    "begin": _begin,
    "send": _send,
    "end": _end,
    "timer": _timer,
    "move": _move,
    "receive": _receive,
    "sql": _sql,
    "ddl": _sql,
    "fault": _fault,
    "failover": _failover,
}
