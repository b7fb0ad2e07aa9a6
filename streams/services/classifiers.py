"""Find the service of a message with the documentation's or the topology's classifier (6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streams.services.data_dependent import Classifier
from streams.services.finders import (
    Finder,
    find_by_function,
    find_by_jmespath,
    find_by_xpath,
    find_in_avro,
)
from streams.topology import Classification, Language
from streams.xml_reader import parse_xml


def to_service_name(body: bytes) -> str | None:
    """Return the text at ``/message/toServiceName``; ``None`` if the element is missing.

    A document with a type declaration is rejected, so that no entity is ever read.
    """
    root = parse_xml(body)
    found = None if root is None or root.tag != "message" else root.find("toServiceName")
    return None if found is None else found.text


def make_classifier(stated: Classification | None) -> Classifier:
    """Return the topology's classifier; the default is that of the documentation's sample.

    Raises InputError with the classifier's place if the classifier is invalid.
    """
    if stated is None:
        return to_service_name
    make, remedy = _MAKERS[stated.language]
    try:
        find = make(stated)
    except ValueError as error:
        what = f"unusable {stated.language.value}: {' '.join(str(error).split())}"
        raise stated.expression.error(what, remedy) from error
    services, otherwise = stated.services, stated.otherwise
    if not services:
        return find

    def classify(body: bytes) -> str | None:
        text = find(body)
        return None if text is None else services.get(text, otherwise)

    return classify


def _in_avro(stated: Classification) -> Finder:
    assert stated.schema is not None, "it was read with one"
    beside = Path(stated.schema.source.file).parent
    return find_in_avro(stated.expression.text, beside / stated.schema.text)


_MAKERS: dict[Language, tuple[Callable[[Classification], Finder], str]] = {
    Language.XPATH: (
        lambda stated: find_by_xpath(stated.expression.text, stated.namespaces),
        "Write XPath 2.0, such as /order/region; define prefixes in `namespaces:`.",
    ),
    Language.JMESPATH: (
        lambda stated: find_by_jmespath(stated.expression.text),
        "Write JMESPath, such as order.region.",
    ),
    Language.AVRO: (_in_avro, "Name a field of the record, and its schema next to the topology."),
    Language.PYTHON: (
        lambda stated: find_by_function(stated.expression.text),
        "Write MODULE:FUNCTION; Python searches for modules in the topology's folder and in the "
        "current folder.",
    ),
}
"""The function that makes a finder from a topology's text, and the remedy if it fails."""
