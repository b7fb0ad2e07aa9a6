"""Write a scenario as a file, one line per step, for :mod:`streams.simulator.read`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from streams.protocol import DEFAULT, Limits
from streams.simulator.clock import MILLISECOND, SECOND
from streams.simulator.scenario import (
    Abort,
    Action,
    Application,
    Begin,
    Crash,
    Cut,
    End,
    Failover,
    Latency,
    Link,
    Move,
    Network,
    Receive,
    Scenario,
    Send,
    Side,
    Skew,
    Sql,
    Statement,
    Timer,
)

_PLAIN = re.compile(r"[A-Za-z/][\w./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def scenario_text(scenario: Scenario, comment: str = "") -> str:
    """Return the file's text, with ``comment`` at the top."""
    settings: dict[str, Any] = {
        "topology": scenario.topology,
        "until": _time(scenario.until),
        "network": _network(scenario.network),
        "aborts": scenario.aborts,
        "stalls": scenario.stalls,
        "skew": {name: _time(by) for name, by in scenario.skew.items()},
        "memory": dict(scenario.memory),
        "limits": _limits(scenario.limits),
    }
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += [f"{key}: {flow(value)}" for key, value in settings.items() if value]
    if scenario.batch != Scenario().batch:
        lines.append(f"batch: {scenario.batch}")
    if scenario.applications:
        lines.append("applications:")
        lines += [f"  - {flow(_application(each))}" for each in scenario.applications]
    lines.append("steps:" if scenario.steps else "steps: []")
    lines += [
        f"  - {flow({'at': _time(step.at), **_action(step.action)})}" for step in scenario.steps
    ]
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """Return a value in YAML's flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.casefold() not in _WORDS:
        return value
    if isinstance(value, str) and re.fullmatch(r"-?\d+(us|ms|s)", value):
        return value
    return json.dumps(value)  # also a YAML text


def _time(duration: int) -> str:
    for unit, name in ((SECOND, "s"), (MILLISECOND, "ms")):
        if duration % unit == 0:
            return f"{duration // unit}{name}"
    return f"{duration}us"


def _network(network: Network) -> dict[str, Any]:
    made = _link(network.link, Link())
    if network.links:
        made["links"] = [
            {"link": ends, **_link(link, network.link)} for ends, link in network.links.items()
        ]
    if network.until is not None:
        made["until"] = _time(network.until)
    return made


def _link(link: Link, default: Link) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if link.latency != default.latency:
        made["latency"] = _latency(link.latency)
    for name in ("loss", "duplicate", "reorder"):
        if getattr(link, name) != getattr(default, name):
            made[name] = getattr(link, name)
    return made


def _latency(latency: Latency) -> Any:
    if latency.heavy:
        return {"least": _time(latency.least), "heavy": _time(latency.heavy)}
    if latency.least == latency.most:
        return _time(latency.least)
    return [_time(latency.least), _time(latency.most)]


def _limits(limits: Limits) -> dict[str, Any]:
    usual, made = Limits(), dict[str, Any]()
    if limits.window != usual.window:
        made["window"] = limits.window
    if limits.wider != usual.wider:
        made["wider"] = limits.wider
    if limits.run != usual.run:
        made["run"] = limits.run
    if limits.hops != usual.hops:
        made["hops"] = limits.hops
    if limits.time_to_live != usual.time_to_live:
        made["time_to_live"] = _time(limits.time_to_live * MILLISECOND)
    if limits.fragment != usual.fragment:
        made["fragment"] = limits.fragment
    if limits.retries != usual.retries:
        made["retries"] = [_time(wait * MILLISECOND) for wait in limits.retries]
    return made


def _application(made: Application) -> dict[str, Any]:
    document: dict[str, Any] = {
        "service": f"{made.instance}/{made.database}/{made.service}",
        "does": [does.value for does in made.does],
    }
    if made.type != DEFAULT:
        document["type"] = made.type
    document["body"] = made.body
    if made.limit is not None:
        document["limit"] = made.limit
    if made.routes:
        document["routes"] = dict(made.routes)
    return document


def _action(action: Action) -> dict[str, Any]:
    match action:
        case Begin():
            return {"begin": _begin(action)}
        case Send():
            document = {**_about(action), "type": action.type, "body": action.body}
            return {"send": {**document, **({"count": action.count} if action.count > 1 else {})}}
        case End(error=error):
            document = _about(action)
            if error is not None:
                document["error"] = {"code": error[0], "text": error[1]}
            return {"end": {**document, **({"cleanup": True} if action.cleanup else {})}}
        case Timer(timeout=timeout):
            return {"timer": {**_about(action), "timeout": f"{timeout}s"}}
        case Move(group=group):
            return {"move": {**_about(action), "group": str(group)}}
        case Receive(instance, database, queue, count):
            limit = {} if count is None else {"count": count}
            return {"receive": {"queue": f"{instance}/{database}/{queue}", **limit}}
        case Sql(instance, database, text):
            return {"sql": {"at": f"{instance}/{database}", "text": text}}
        case Crash(part, instance, up):
            return {"fault": {part.value: instance, "state": "up" if up else "crashed"}}
        case Cut(link, up):
            return {"fault": {"link": link, "state": "up" if up else "down"}}
        case Skew(instance, by):
            return {"fault": {"instance": instance, "skew": _time(by)}}
        case Failover(pair, to):
            return {"failover": {"pair": pair, "to": to}}
        case Abort(instance, count):
            return {"fault": {"endpoint": instance, "aborts": count}}


def _begin(action: Begin) -> dict[str, Any]:
    document: dict[str, Any] = {
        "dialog": action.dialog,
        "from": f"{action.instance}/{action.database}/{action.service}",
        "to": action.to,
        "broker": action.broker,
        "contract": None if action.contract == DEFAULT else action.contract,
        "conversation": None if action.conversation is None else str(action.conversation),
        "lifetime": None if action.lifetime is None else f"{action.lifetime}s",
        "group": None if action.group is None else str(action.group),
        "count": None if action.count == 1 else action.count,
        "related": action.related,
    }
    return {key: value for key, value in document.items() if value is not None}


def _about(action: Statement) -> dict[str, Any]:
    document: dict[str, Any] = {"dialog": action.dialog}
    if action.side is not Side.INITIATOR:
        document["side"] = action.side.value
    if action.at is not None:
        document["at"] = "/".join(action.at)
    return document
