"""Estimate the time to compile an XML schema collection, before the library compiles it.

The library compares each particle of a content model with all others, and follows each reference to
a group or base type. So 400 kB of text could take minutes, and so could a body of a few bytes: if
each of 25 groups refers twice to the next group, the last group occurs 33 million times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from streams.xml_reader import read_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NODE, _CHEAP_NODE, _ATTRIBUTE = 500, 100, 7
"""Microseconds for an element of the text, and for an attribute of a type, references expanded.

A pair of particles takes a microsecond, for each element that they allow.
"""
_CHEAP = frozenset({"enumeration", "annotation", "documentation", "appinfo"})
_TYPES = frozenset({"group", "complexType", "attributeGroup"})
_DERIVED = frozenset({"complexType", "complexContent", "extension", "restriction"})


class EndlessError(ValueError):
    """A group or type contains itself."""


class _Counted(NamedTuple):
    """What is counted: ``leaves`` within the elements ``inside``; ``group`` names other parts."""

    name: str
    leaves: frozenset[str]
    inside: frozenset[str]
    group: str


_PARTICLES = _Counted(
    "particles",
    frozenset({"element", "any"}),
    _DERIVED | {"sequence", "choice", "all", "group"},
    "group",
)
_ELEMENTS = _PARTICLES._replace(name="elements")
"""Particles with all elements that may substitute them."""
_ATTRIBUTES = _Counted(
    "attributes",
    frozenset({"attribute", "anyAttribute"}),
    _DERIVED | {"simpleContent", "attributeGroup"},
    "attributeGroup",
)


class SchemaCost(NamedTuple):
    """The time to compile a schema collection, and the number of elements in content models.

    ``widths`` contains the number of elements that the content of an element allows, by the name of
    the element; the largest number for "".
    """

    microseconds: int
    widths: Mapping[str, int]


def schema_cost(documents: Sequence[str]) -> SchemaCost:
    """Return the estimated cost of schema documents.

    Namespaces are ignored: of definitions with the same name in two namespaces, the larger one
    counts. Raises EndlessError, XmlError, and RecursionError for definitions that nest deeply.
    """
    collection = _Collection([read_xml(document) for document in documents])
    cost = collection.text + sum(map(collection.cost, collection.types))
    return SchemaCost(cost, collection.widths())


class _Collection:
    """The definitions of a schema collection, and the size of their expanded content."""

    def __init__(self, roots: Sequence[Element]) -> None:
        self._named: dict[tuple[str, str], list[Element]] = {}
        self._substitutes: dict[str, list[str]] = {}
        self._known: dict[tuple[str, str, str], int | None] = {}
        self.types: list[Element] = []
        self._declared: list[Element] = []
        self.text = 0
        for root in roots:
            for one in root.iter():
                kind = _local(one.tag)
                self.text += _CHEAP_NODE if kind in _CHEAP else _NODE
                if kind in _TYPES and "ref" not in one.attrib:
                    self.types.append(one)
                if kind == "element" and "name" in one.attrib:
                    self._declared.append(one)
            for one in root:
                name = one.get("name", "")
                self._named.setdefault((_local(one.tag), name), []).append(one)
                if head := _local(one.get("substitutionGroup", "")):
                    self._substitutes.setdefault(head, []).append(name)

    def cost(self, one: Element) -> int:
        """Return the time for a type or group, without that for its text."""
        pairs = self._count(one, _PARTICLES) * self._count(one, _ELEMENTS)
        return pairs + _ATTRIBUTE * self._count(one, _ATTRIBUTES)

    def widths(self) -> dict[str, int]:
        """Return the number of elements that the content of each element allows."""
        widest = max((self._count(one, _ELEMENTS) for one in self.types), default=0)
        found = {"": widest}
        for one in self._declared:
            name, named = one.attrib["name"], _local(one.get("type", ""))
            if named:
                width = self._of_name("complexType", named, _ELEMENTS)
            elif "substitutionGroup" in one.attrib:  # the type is that of another element
                width = widest
            else:
                width = sum(self._count(inner, _ELEMENTS) for inner in one)
            found[name] = max(width, found.get(name, 0))
        return found

    def _count(self, one: Element, what: _Counted) -> int:
        kind, reference = _local(one.tag), _local(one.get("ref", ""))
        if kind in what.leaves:
            return self._elements(reference) if what is _ELEMENTS else 1
        if kind not in what.inside:
            return 0
        if kind == what.group and reference:
            return self._of_name(kind, reference, what)
        count = sum(self._count(inner, what) for inner in one)
        base = _local(one.get("base", ""))  # is part of an extension, and compared with others
        return count + self._of_name("complexType", base, what) if base else count

    def _of_name(self, kind: str, name: str, what: _Counted) -> int:
        def largest() -> int:
            found = self._named.get((kind, name), ())
            return max((self._count(one, what) for one in found), default=0)

        return self._once((kind, name, what.name), largest)

    def _elements(self, name: str) -> int:
        """Return the number of elements that a reference to an element allows."""
        substitutes = self._substitutes.get(name, ())
        return self._once(("element", name, ""), lambda: 1 + sum(map(self._elements, substitutes)))

    def _once(self, key: tuple[str, str, str], count: Callable[[], int]) -> int:
        if key not in self._known:
            self._known[key] = None
            self._known[key] = count()
        found = self._known[key]
        if found is None:
            raise EndlessError(f"the {key[0]} {key[1]} contains itself")
        return found


def _local(name: str) -> str:
    """Return a name without its namespace or prefix."""
    return name.rpartition("}")[2].rpartition(":")[2]
