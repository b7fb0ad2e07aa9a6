"""Write an import into an existing ``topology.yaml``, and keep what was added by hand.

The keys in ``OWNED`` of the imported instances belong to the import, and so do the scripts in an
instance's folder. All other text of the file stays unchanged, comments included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import yaml

from streams.errors import InputError
from streams.topology.yaml_file.nodes import parse_yaml

OWNED = ("sql", "scripts", "snapshot")
"""The keys of an instance that an import writes."""
_REMEDY = (
    "Write instances without aliases (&, *) and merged keys (<<), or import to another folder."
)
_Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """What an import writes about an instance; ``folder`` is the folder of its files."""

    folder: str
    values: _Values


@dataclass(frozen=True, slots=True)
class Merged:
    """The new text. ``kept``: what is not from this import. ``dropped``: scripts left out."""

    text: str
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


NOTHING_KEPT = Merged("")


@dataclass(slots=True)
class _Combined:
    """The instances of the file after the import, and what is to be reported."""

    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def merge(text: str, file: str, written: Mapping[str, Written]) -> Merged:
    """Return a file's text with the keys of some instances set.

    Raise InputError if the file is no YAML, or uses YAML that cannot be changed reliably.
    """
    root, before = _read(text, file)
    combined = _combine(before, written)
    after = {**before, "instances": {**_instances(before), **combined.instances}}
    new = _changed(text, root, before, combined.instances)
    if _composed(new) != after:
        raise InputError("the import cannot change this file", file=file, remedy=_REMEDY)
    return Merged(new, tuple(combined.kept), tuple(combined.dropped))


def folders_of_others(text: str, file: str, names: Iterable[str]) -> set[str]:
    """Return the folders with scripts and snapshots of a file's other instances."""
    ours = {name.casefold() for name in names}
    instances: _Values = _instances(_read(text, file)[1])
    others = [g for n, g in instances.items() if n.casefold() not in ours and isinstance(g, dict)]
    files = [_file(item) for given in others for item in (*_items(given), given.get("snapshot"))]
    return {name.split("/")[0].casefold() for name in files if name}


def _read(text: str, file: str) -> tuple[yaml.Node | None, _Values]:
    parse_yaml(text, file)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    values = _plain(root)
    if values is None:
        return root, {}
    if not isinstance(values, dict) or not isinstance(_instances(values), dict):
        what = "the file is not a topology"
        raise InputError(what, file=file, remedy="Import to another folder.")
    return root, values


# --- The values ----------------------------------------------------------------------------------


def _plain(node: yaml.Node | None) -> Any:
    """Return a node's value; all scalars are texts, and null is ``None``."""
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): _plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    return None if node is None or node.tag == "tag:yaml.org,2002:null" else node.value


def _composed(text: str) -> Any:
    """Return the values of a new text, or ``None`` if it is no YAML."""
    try:
        return _plain(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError:
        return None


def _instances(before: _Values) -> Any:
    return before.get("instances") or {}


def _items(given: _Values) -> list[Any]:
    items = given.get("sql")
    return items if isinstance(items, list) else []


def _file(item: Any) -> str:
    found = item.get("file") if isinstance(item, dict) else item
    return found if isinstance(found, str) else ""


def _combine(before: _Values, written: Mapping[str, Written]) -> _Combined:
    old = _instances(before)
    found = _Combined(kept=[key for key in before if key != "instances"])
    names = {name.casefold(): name for name in old}
    for name, one in written.items():
        own = names.pop(name.casefold(), name)
        given = old.get(own) or {}
        found.instances[own] = _instance(own, given if isinstance(given, dict) else {}, one, found)
    found.kept += [f"instance {name}" for name in names.values()]
    return found


def _instance(name: str, given: _Values, one: Written, found: _Combined) -> dict[str, Any]:
    values = dict(given)
    values["sql"] = _scripts(name, given, one, found)
    values.setdefault("scripts", one.values["scripts"])
    if "snapshot" in one.values:
        values["snapshot"] = one.values["snapshot"]
    elif _within(one.folder, given.get("snapshot")):
        found.dropped.append(values.pop("snapshot"))
    more = [key for key in given if key not in OWNED]
    found.kept += [f"{name}: {', '.join(more)}"] if more else []
    return values


def _scripts(name: str, given: _Values, one: Written, found: _Combined) -> list[Any]:
    """Return the imported scripts, among the scripts that the user has added."""
    old = _items(given)
    options = {_file(item): item for item in old}
    new = [options.get(item, item) if isinstance(item, str) else item for item in one.values["sql"]]
    before = list(takewhile(lambda item: not _within(one.folder, _file(item)), old))
    after = [item for item in old[len(before) :] if not _within(one.folder, _file(item))]
    files = {_file(item) for item in new}
    found.kept += [f"{name}: sql {_file(item)}" for item in (*before, *after)]
    found.dropped += [
        _file(i) for i in old if _within(one.folder, _file(i)) and _file(i) not in files
    ]
    return [*before, *new, *after]


def _within(folder: str, file: Any) -> bool:
    return isinstance(file, str) and file.casefold().startswith(f"{folder}/".casefold())


# --- The text ------------------------------------------------------------------------------------

_Edit = tuple[int, int, str]
"""Start, end, and the new text between them."""


def _changed(
    text: str, root: yaml.Node | None, before: _Values, instances: Mapping[str, dict[str, Any]]
) -> str:
    if not isinstance(root, yaml.MappingNode) or not root.value:
        return text + ("" if not text or text.endswith("\n") else "\n") + _block(
            {"instances": dict(instances)}, 0
        )  # fmt: skip
    edits = list(_edits(text, root, before, instances))
    newline = "\r\n" if "\r\n" in text else "\n"
    parts, at = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[0]):
        parts += [text[at:start], new.replace("\n", newline)]
        at = end
    return "".join((*parts, text[at:]))


def _edits(
    text: str, root: yaml.MappingNode, before: _Values, instances: Mapping[str, dict[str, Any]]
) -> Iterator[_Edit]:
    every = _value(root, "instances")
    if not isinstance(every, yaml.MappingNode) or not every.value:
        yield _set(text, root, "instances", dict(instances))
        return
    new: list[_Edit] = []
    for name, values in instances.items():
        node = _value(every, name)
        if isinstance(node, yaml.MappingNode) and node.value:
            old = _instances(before)[name]
            for key in OWNED:
                if key in values and old.get(key) != values[key]:
                    yield _set(text, node, key, values[key])
                elif key in old and key not in values:
                    yield _remove(text, node, key)
        else:
            new.append(_set(text, every, name, values))
    yield from new


def _value(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for own, value in mapping.value if own.value == key), None)


def _set(text: str, mapping: yaml.MappingNode, key: str, value: Any) -> _Edit:
    pair = next((pair for pair in mapping.value if pair[0].value == key), None)
    if mapping.flow_style and pair is not None:
        start = pair[1].start_mark.index
        space = "" if text[start - 1].isspace() else " "
        return start, max(start, _end(text, pair[1])), f"{space}{_flow(value)}"
    if mapping.flow_style:
        at = mapping.start_mark.index + 1
        return at, at, f"{_flow(key)}: {_flow(value)}{', ' if mapping.value else ''}"
    column = mapping.value[0][0].start_mark.column
    block = _block({key: value}, column).strip()
    if pair is not None:
        return pair[0].start_mark.index, _end(text, pair[1]), block
    at = _end_of_line(text, _end(text, mapping))
    return at, at, f"\n{' ' * column}{block}"


def _remove(text: str, mapping: yaml.MappingNode, key: str) -> _Edit:
    pairs: Sequence[tuple[yaml.Node, yaml.Node]] = mapping.value
    number = next(n for n, pair in enumerate(pairs) if pair[0].value == key)
    start, end = pairs[number][0].start_mark.index, _end(text, pairs[number][1])
    if not mapping.flow_style:
        return text.rfind("\n", 0, start) + 1, _end_of_line(text, end) + 1, ""
    if number:
        return _end(text, pairs[number - 1][1]), end, ""
    return start, pairs[1][0].start_mark.index if len(pairs) > 1 else end, ""


def _end(text: str, node: yaml.Node) -> int:
    """Return where a node's last value ends; the marks of blocks include what follows them."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    end = int(node.end_mark.index)
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _end_of_line(text: str, at: int) -> int:
    found = text.find("\n", at)
    if found < 0:
        return len(text)
    return found - 1 if text[found - 1] == "\r" else found


def _block(value: Mapping[str, Any], column: int) -> str:
    lines = yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=100)
    return "".join(f"{' ' * column}{line}\n" for line in lines.splitlines())


def _flow(value: Any) -> str:
    text = yaml.safe_dump([value], sort_keys=False, allow_unicode=True, width=float("inf"),
                          default_flow_style=True)  # fmt: skip
    return str(text).strip()[1:-1]
