"""Format one record as one line, from :func:`streams.wire.describe.describe`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.sax.saxutils import unescape

from streams.cli.text.values import LONGEST_BODY, body_text, shorten, type_text
from streams.prose import listed, one_line
from streams.protocol import CHUNK, DEFAULT, DIALOG_TIMER, END_DIALOG, ERROR, State

Description = Mapping[str, Any]

_ERROR_BODY = re.compile(  # .* is quadratic in repeated "<Code>1</Code><Description>"
    r"<Code>(-?\d+)</Code><Description>([^<]*)</Description>"
)


def what(record: Description) -> str:
    """Return the content of a record, without time and place."""
    text = _WHAT.get(record["kind"] or "", _anything)(record)
    broken = record.get("malformed")
    if broken:
        where = f"{record['topic']}/{record['partition']}@{record['offset']}"
        text = f"MALFORMED {where}: {'; '.join(broken)}; value {body_text(record.get('body'))}"
    return one_line(text)


def where(record: Description) -> str:
    """Return the instance and the database that a record belongs to."""
    event = record.get("event") or {}
    names = (record.get("instance"), event.get("database") or record.get("database"))
    return one_line("/".join(str(n) for n in names if n))


# --- by kind of topic ----------------------------------------------------------------------------


def _command(record: Description) -> str:
    command = record.get("command") or {}
    side = "" if command.get("from_initiator") else " by the target"
    at = f"{command.get('database')}: "
    match command.get("kind"):
        case "BEGIN":
            far = f" at {command['to_broker']}" if command["to_broker"] else ""
            more = [f"contract {command['contract']}"] if command["contract"] else []
            more += [f"lifetime {command['lifetime']} s"] if command["lifetime"] is not None else []
            text = f"BEGIN {command['from_service']} to {command['to_service']}{far}"
            return at + ", ".join([text, *more])
        case "SEND":
            return f"{at}SEND{side} {content_text(command['type'] or DEFAULT, record.get('body'))}"
        case _:
            text = f"{at}END{side}"
            if command.get("cleanup"):
                return f"{text} WITH CLEANUP"
            if command.get("error_code") is None:
                return text
            return f'{text} WITH ERROR {command["error_code"]} "{command["error_text"] or ""}"'


def _frame(record: Description) -> str:
    message = record.get("message")
    return _acknowledged(record) if message is None else _message(record, message)


def _message(record: Description, message: Mapping[str, Any]) -> str:
    hop, route = record.get("hop") or {}, record.get("route") or {}
    side = "initiator" if route.get("from_initiator") else "target"
    if "UNSEQUENCED" in message["flags"]:
        parts = [f"unsequenced message of the {side}"]
    else:
        parts = [f"message {message['sequence']} of the {side}"]
    if message["fragments"] != 1:
        parts.append(f"fragment {message['fragment'] + 1} of {message['fragments']}")
    parts.append(f"attempt {hop.get('attempt')}")
    via = _via(hop)
    if via:
        parts.append(f"via {via}")
    return f"{', '.join(parts)}: {content_text(message['type'], record.get('body'))}"


def content_text(
    message_type: str, body: Mapping[str, Any] | None, width: int = LONGEST_BODY
) -> str:
    """Return type and body; for an Error the code and description from its XML."""
    name = type_text(message_type)
    if message_type in (END_DIALOG, DIALOG_TIMER):  # they never have a body
        return name
    found = _ERROR_BODY.search((body or {}).get("text", "")) if message_type == ERROR else None
    if found is not None:
        return f"{name} {found[1]}: {shorten(unescape(found[2]), width)}"
    return f"{name} {body_text(body, width)}"


def _acknowledged(record: Description) -> str:
    ack, status = record.get("ack"), record.get("status")
    if status is not None and status["service"] is not None:
        return f"a route to {status['service']} must be requested: {_number(status)}"
    if status is not None:
        side = "initiator" if status["from_initiator"] else "target"
        return f"status of the {side}, attempt {status['attempt']}: {_number(status)}"
    if ack is None:
        return "acknowledgement"
    route, hop = record.get("route") or {}, record.get("hop") or {}
    upto = ack["next_sequence"] - 1
    text = f"ack up to {upto}" if upto >= 0 else "ack of no message yet"
    parts = [f"{text} from broker {route.get('from_broker')}"]
    if ack["highest_seen"] > upto:
        parts.append(f"seen up to {ack['highest_seen']}")
    parts.append(f"attempt {ack['attempt']}")
    if ack["closed"]:
        parts.append("closed")
    via = _via(hop)
    return ", ".join([*parts, f"via {via}"] if via else parts)


def _via(hop: Mapping[str, Any]) -> str:
    """Return the instances on the path, without the queue at its end; the caller prints it."""
    names = [visit["instance"] for visit in hop.get("path", ())]
    return " > ".join(
        n for i, n in enumerate(names) if i == 0 or not n.startswith(f"{names[i - 1]}/")
    )


def _queued(record: Description) -> str:
    hop = record.get("hop") or {}
    path = hop.get("path") or []
    took = f" ({path[-1]['at'] - hop['sent_at']} ms after it was sent)" if path else ""
    message, queue = record.get("message"), record.get("queue") or "queue"
    return f"{queue}: {_message(record, message)}{took}" if message else queue


def _event(record: Description) -> str:
    event = record.get("event") or {}
    text = f"{event.get('name')} {event.get('event')}"
    if event.get("subclass_name"):
        text += f" ({event['subclass_name']})"
    more, meaning, detail = [], event.get("text", ""), event.get("detail")
    if event.get("error"):
        repeated = detail is not None and meaning in detail
        more.append(_number({"number": event["error"], "text": detail if repeated else meaning}))
        detail = None if repeated else detail
    if detail:
        more.append(detail)
    if event.get("sequence") is not None:
        more.append(f"message {event['sequence']}")
    if event.get("attempt") is not None:
        more.append(f"attempt {event['attempt']}")
    if event.get("path"):
        more.append(f"by {event['path']}")
    if event.get("state"):
        more.append(f"now {event['state']}")
    if event.get("from_broker"):
        more.append(f"from broker {event['from_broker']}")
    if event.get("next_hop"):
        more.append(f"next hop {event['next_hop']}")
    if event.get("route"):
        more.append(f"route {event['route']}")
    if event.get("topic"):
        more.append(f"record {event['topic']}/{event['partition']}@{event['offset']}")
    return f"{text}: {', '.join(more)}" if more else text


def _number(number: Mapping[str, Any]) -> str:
    return f"{number['number']} {number['text']}".rstrip()


def _result(record: Description) -> str:
    result = record.get("result") or {}
    answer = _number(result) if result.get("number") else "done"
    return f"answer to command {str(result.get('command_id'))[:8]}: {answer}"


def _presence(record: Description) -> str:
    seen = record.get("presence") or {}
    roles = "".join(f", {_claimed(role)}" for role in seen.get("roles", ()))
    return f"heartbeat {seen.get('count')} of replica {str(seen.get('replica'))[:8]}{roles}"


def _metric(record: Description) -> str:
    metric = record.get("metric") or {}
    values = metric.get("values") or {}
    shown = ", ".join(f"{n} {v}" for n, v in values.items() if n != "histogram" and v != "")
    return f"{metric.get('table')}: {shown}"


def _reading(record: Description) -> str:
    reading, secret = record.get("reading"), record.get("secret")
    if secret is not None:
        return f"secret of the agents of {secret['application']}"
    if reading is None:
        return "no group"
    where = f"{reading['topic']}/{reading['partition']}"
    group, position = reading["group"], reading["position"]
    return f"group {group} has received everything before {position} of {where}"


def _claimed(role: Mapping[str, Any]) -> str:
    what = "principal" if role["principal"] else "mirror"
    return f"{what} of {role['broker']} (epoch {role['epoch']})"


def _catalog(record: Description) -> str:
    name = "/".join(record.get("object", ())).lstrip("/")
    if record.get("removed"):
        return f"{name} removed"
    held = record.get("catalog") or {}
    if name == "version":
        return f"version {held.get('version')} is complete"
    value = held.get("object")
    if isinstance(value, dict):
        shown = ", ".join(f"{k} {v}" for k, v in value.items() if v)
    else:
        shown = str(value)
    return f"{name} as of version {held.get('version')}: {shown}"


def _state(record: Description) -> str:
    positions, about, chunk = (record.get(n) for n in ("positions", "about", "chunk"))
    if positions is not None:
        shown = f"cmd {positions['cmd']}, in {positions['inbox']}, ack {positions['ack']}"
        return f"has applied everything before {shown}"
    if about is None:
        return "state"
    if "service" in about:
        return _request(about["service"], record.get("request"))
    if "source" in about:
        source = about["source"]
        return f"latest statements of {source['application']}/{source['agent']}"
    side = "initiator" if about["is_initiator"] else "target"
    if about["chunk"] is not None:
        return _chunk(side, about["chunk"], chunk)
    dialog = record.get("dialog")
    return f"{side} endpoint removed" if dialog is None else _endpoint(side, dialog)


def _request(service: str, request: Mapping[str, Any] | None) -> str:
    asked = "no request"
    if request is not None:
        asked = f"{request['total']} requests, {request['conversation'] or 'none'} open"
    return f"route to {service}: {asked}"


def _chunk(side: str, number: int, stored: list[list[int]] | None) -> str:
    if stored is None:
        return f"{side} keeps no messages from {number * CHUNK} on"
    kept = [f"{number * CHUNK + i} at {at}" for i, (at, _) in enumerate(stored) if at >= 0]
    return f"{side} keeps in cmd: message {listed(kept, 4)}"


def _endpoint(side: str, dialog: Mapping[str, Any]) -> str:
    parts = [
        f"{side} endpoint {State[dialog['state']].value}: {dialog['send_sequence']} sent",
        f"{dialog['acknowledged'][0]} acknowledged",
        f"{dialog['received'][0]} received",
    ]
    if dialog["locked"] and dialog["is_initiator"]:
        parts.append(f"locked to broker {dialog['far_broker']}")
    if dialog["status"]:
        parts.append(f"status {dialog['status']}")
    return ", ".join(parts)


def _anything(record: Description) -> str:
    return body_text(record.get("body"))


_WHAT: Mapping[str, Callable[[Description], str]] = {
    "cmd": _command,
    "out": _frame,
    "txq": _frame,
    "ingress": _frame,
    "in": _frame,
    "ack": _acknowledged,
    "queue": _queued,
    "event": _event,
    "result": _result,
    "presence": _presence,
    "metric": _metric,
    "reading": _reading,
    "catalog": _catalog,
    "dialog": _state,
}
