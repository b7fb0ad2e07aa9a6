"""Change records of a capture: names of services, headers, bodies.

A change applies everywhere: to commands, envelopes of frames, queues and events. The workers' state
also contains names of services and parts of messages, but only workers can change that state. So if
names or bodies change, state records are left out; no replay needs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streams.capture.look import MALFORMED, Look
from streams.capture.mask import ALL, Rule, rule_of, shape
from streams.capture.record import Header, Record
from streams.protocol import DEFAULT, ERROR
from streams.protocol.command import Command
from streams.wire import decode_event, decode_parties, encode_command, encode_event, encode_parties
from streams.wire.records import COMMAND, ROUTE, read_command

_FRAMES = frozenset({"out", "txq", "ingress", "in", "queue", "ack"})
_CHANGED = frozenset({"cmd", "event", *_FRAMES})
OURS = "sb-"
"""The prefix of Hopline's own headers, without which a record is unreadable."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes to make. ``allow``: the foreign headers to keep; None keeps all headers.

    ``remove``: message types whose bodies are removed, ``*`` for every type.
    """

    rename: Mapping[str, str] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    allow: frozenset[str] | None = None
    masks: tuple[Rule, ...] = ()
    remove: frozenset[str] = frozenset()

    @property
    def bodies(self) -> bool:
        """Return whether bodies change."""
        return bool(self.masks or self.remove)


@dataclass(slots=True)
class Done:
    """Counts of changes: masked and removed bodies, omitted records by kind, headers by name.

    ``matched``: the number of masked values by the text of each rule.
    """

    masked: int = 0
    removed: int = 0
    unreadable: int = 0
    renamed: int = 0
    matched: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)


class Editor:
    """Apply an edit to records one by one; ``done`` counts the changes."""

    def __init__(self, edit: Edit) -> None:
        self.done = Done(matched=dict.fromkeys((rule.text for rule in edit.masks), 0))
        self._edit = edit
        described = (rule_of(f"{ERROR}=//{{*}}Description"),)
        self._masks = (*edit.masks, *described) if edit.bodies else ()

    def apply(self, record: Record, seen: Look) -> Record | None:
        """Return the edited record, or None if it must be left out."""
        edit = self._edit
        if edit.rename or edit.bodies:
            if seen.kind not in _CHANGED or seen.what in (MALFORMED, "status"):
                self.done.left_out[seen.what or seen.kind or "other"] += 1
                return None
            record = self._contents(replace(record, headers=_as_read(record.headers)), seen)
        return replace(record, headers=tuple(h for h in record.headers if self._stays(h[0])))

    def _stays(self, name: str) -> bool:
        if name.startswith(OURS):
            return True
        allowed = self._edit.allow is None or name in self._edit.allow
        stays = allowed and name not in self._edit.drop
        (self.done.kept if stays else self.done.dropped)[name] += 1
        return stays

    def _contents(self, record: Record, seen: Look) -> Record:
        if seen.kind == "cmd":
            return self._command(record)
        if seen.kind == "event":
            return self._event(record)
        headers = tuple(self._frame_header(header) for header in record.headers)
        value = record.value
        if seen.what == "message":
            value = self._body(value, seen.type or DEFAULT, b"")
        return replace(record, headers=headers, value=value)

    def _command(self, record: Record) -> Record:
        command = read_command(record.key, record.value, list(record.headers), record.timestamp)
        changed = self._renamed(command)
        if self._edit.bodies and changed.error_text is not None:
            changed = changed._replace(error_text=shape(changed.error_text))
        body = self._body(record.value, command.type or DEFAULT, None)
        raw = encode_command(changed) if changed != command else None
        headers = tuple(
            (name, raw if raw is not None and name == COMMAND else value)
            for name, value in record.headers
        )
        return replace(record, headers=headers, value=body)

    def _renamed(self, command: Command) -> Command:
        changed = command._replace(
            from_service=self._name(command.from_service), to_service=self._name(command.to_service)
        )
        self.done.renamed += changed != command
        return changed

    def _name(self, service: str | None) -> str | None:
        return service if service is None else self._edit.rename.get(service, service)

    def _frame_header(self, header: Header) -> Header:
        name, value = header
        if name != ROUTE or not self._edit.rename or value is None:
            return header
        parties = decode_parties(value)
        changed = parties._replace(
            from_service=self._name(parties.from_service) or "",
            to_service=self._name(parties.to_service) or "",
        )
        self.done.renamed += changed != parties
        return name, encode_parties(changed)

    def _event(self, record: Record) -> Record:
        event = decode_event(record.value)
        changed = event | {name: self._name(event[name]) for name in ("from_service", "to_service")}
        self.done.renamed += changed != event
        if self._edit.bodies:
            changed["detail"] = shape(event["detail"])  # an event may quote a message
        return record if changed == event else replace(record, value=encode_event(changed))

    def _body(self, body: bytes | None, type_: str, nothing: bytes | None) -> bytes | None:
        if not body or not self._edit.bodies:
            return body
        if {ALL, type_} & self._edit.remove:
            self.done.removed += 1
            return nothing
        rules = [rule for rule in self._masks if rule.type in (ALL, type_)]
        masked, found = body, {}
        try:
            for rule in rules:
                masked, found[rule.text] = rule.apply(masked)
        except ValueError:  # a body that no rule can read cannot be masked, so remove it
            self.done.unreadable += 1
            return nothing
        for name in self.done.matched.keys() & found.keys():
            self.done.matched[name] += found[name]
        self.done.masked += any(found.values())
        return masked


def _as_read(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    """Return the headers; keep only the last of our own headers with one name, as readers do."""
    last = {name: at for at, (name, _) in enumerate(headers)}
    return tuple(
        header
        for at, header in enumerate(headers)
        if last[header[0]] == at or not header[0].startswith(OURS)
    )
