"""Every cache whose keys are texts or bytes states why its entries are small."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
CACHES = {"cache", "lru_cache"}
SMALL = {"bool", "int", "float", "uuid.UUID", "None"}
"""Types of parameters whose values are always small."""

_SHORT = "the caller passes only short values; long values are not cached"
_OWN = "the names are the user's or this program's own"
BOUNDED = {
    "analysis/diagnose/status.py: _parts": "the templates are constants",
    "analysis/diff/dialogs.py: self._look": _OWN,
    "capture/choose.py: _share": _SHORT,
    "capture/choose.py: find": _SHORT,
    "capture/foreign/assemble.py: _id": "sixteen bytes",
    "capture/foreign/cells.py: _text_instant": _SHORT,
    "capture/foreign/findings.py: _named": _SHORT,
    "capture/look.py: place_of": _SHORT,
    "capture/restate.py: renewed": "the job is the user's own, and the ids have a fixed size",
    "dashboard/template.py: _template": _OWN,
    "node/endpoint/effects_to_records.py: Journey": "numbers",
    "node/endpoint/effects_to_records.py: _with_visit": _SHORT,
    "node/endpoint/patterns.py: _edges": "64 sets of the schemas in the catalog",
    "node/liveness/precedence.py: _keys": "16 entries with names of instances",
    "protocol/frames.py: Parties": _SHORT,
    "routing/model.py: _guid_key": _SHORT,
    "schema/__init__.py: load": "the names of the schemas are constants",
    "simulator/codec.py: HEADER.loads": _OWN,
    "simulator/codec.py: PARTIES.dumps": _OWN,
    "simulator/codec.py: PARTIES.loads": _OWN,
    "simulator/codec.py: _guid": "sixteen bytes",
    "wire/acknowledgements.py: _ack": _SHORT,
    "wire/commands.py: _pack_kind": _SHORT,
    "wire/commands.py: _pack_repeated": _SHORT,
    "wire/commands.py: _repeated": _SHORT,
    "wire/evolution.py: _envelope_of": "the caller passes only schemas of limited size",
    "wire/frame_headers.py: _encoded_journey": _SHORT,
    "wire/frame_headers.py: _encoded_parties": _SHORT,
    "wire/frame_headers.py: _journey": _SHORT,
    "wire/frame_headers.py: _parties": _SHORT,
    "wire/glance.py: name": "the caller passes at most 64 bytes",
    "wire/glance.py: number": "the caller passes only a part of a short header",
    "wire/packing.py: _text": _SHORT,
    "wire/packing.py: write": "an optional number; optional texts are not cached here",
    "wire/records.py: conversation_of": "36 characters; an error is not cached",
    "wire/shift.py: _hop": _SHORT,
    "wire/state.py: DIALOG.packer(_PARKED)": "numbers",
    "wire/state.py: _pack_who": _SHORT,
    "wire/state_keys.py: _encoded": _SHORT,
    "wire/topics.py: _name": _SHORT,
}
"""Cached functions by module, and why no entry is large."""


def caches(tree: ast.Module) -> Iterator[str]:
    """Yield the name or the expression of each cached function with parameters of any size."""
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    functions = {function.name: function for function in defined}
    decorators = {id(decorator) for function in defined for decorator in function.decorator_list}
    inner = {id(call.func) for call in ast.walk(tree) if isinstance(call, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(is_cache, node.decorator_list)):
            if not is_small(node):
                yield node.name
        elif isinstance(node, ast.Call) and is_cache(node.func):
            if id(node) in decorators | inner:  # lru_cache(size)
                continue
            for cached in (a for a in node.args if not isinstance(a, ast.Constant)):
                function = functions.get(ast.unparse(cached))
                if function is None or not is_small(function):
                    yield ast.unparse(cached)


def is_cache(node: ast.expr) -> bool:
    """Return whether an expression is ``cache``, ``lru_cache`` or ``lru_cache(size)``."""
    function = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(function).rpartition(".")[2] in CACHES


def is_small(function: ast.FunctionDef) -> bool:
    """Return whether all parameters have types whose values are small."""
    given = function.args
    if given.vararg is not None or given.kwarg is not None:
        return False
    parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    return all(
        p.annotation is not None and set(ast.unparse(p.annotation).split(" | ")) <= SMALL
        for p in parameters
    )


def found(text: str) -> list[str]:
    return list(caches(ast.parse(text)))


def test_caches_are_found_in_every_form() -> None:
    assert found("@lru_cache(16)\ndef f(a: str): ...") == ["f"]
    assert found("@functools.lru_cache\ndef f(a: str | None): ...") == ["f"]
    assert found("@cache\ndef f(a): ...") == ["f"]
    assert found("@cache\ndef f(*a: int): ...") == ["f"]
    assert found("g = lru_cache(16)(f)\ndef f(a: int, *, b: bytes): ...") == ["f"]
    assert found("g = functools.lru_cache(maxsize=MOST)(A.f)") == ["A.f"]
    assert found("g = cache(f)") == found("g = lru_cache(f)") == ["f"]
    assert found("g = lru_cache(MOST)(f)") == found("g = lru_cache(2 * MOST)(f)") == ["f"]
    assert found("@lru_cache(MOST)\ndef f(a: str): ...") == ["f"]
    assert found("@lru_cache(16)\ndef f(a: int, b: uuid.UUID | None): ...") == []
    assert found("g = lru_cache(16)(f)\ndef f(a: int): ...") == []
    assert found("@property\ndef f(a: str): ...\n@cache\ndef g(): ...") == []


def test_every_cache_of_texts_or_bytes_states_its_bound() -> None:
    """A name in a frame may have 16,384 characters, so thousands of entries may take a gigabyte.

    Cache only short values (``SHORT`` in ``streams/wire/bounds.py``), and add the function to
    ``BOUNDED`` with the reason.
    """
    source = ROOT / "streams"
    listed = [
        f"{path.relative_to(source).as_posix()}: {name}"
        for path in sorted(source.rglob("*.py"))
        for name in found(path.read_text(encoding="utf-8"))
    ]
    assert len(set(listed)) == len(listed), "a function is cached twice"
    assert [name for name in listed if name not in BOUNDED] == [], "caches without a stated bound"
    assert [name for name in BOUNDED if name not in listed] == [], "no longer cached"
