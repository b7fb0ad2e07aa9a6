"""The agents of ``topology.yaml``: who answers which service, and what is wrong with that."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError
from streams.topology import Language, ShippedService, load
from streams.topology.yaml_file import read_document, write_document

from .build import NOW, write

AGENTS = """
    instances: {ServerA: }
    agents:
      routers:
        runs: data-dependent-routing
        service: //shop/Router
        classifier:
          xpath: /s:order/s:region
          namespaces: {s: 'urn:shop'}
          services: {north: //shop/North}
          otherwise: //shop/Elsewhere
      redirecting:
        runs: data-dependent-routing
        redirect: //shop/Redirect
        classifier: {avro: region, schema: order.avsc}
      regions: {runs: 'shop.regions:app'}
      configuration: {runs: configuration-notice, directory: directory.yaml}
"""


def test_everything_is_read_and_written_again(tmp_path: Path) -> None:
    topology = load(write(tmp_path, AGENTS), NOW)
    routers, redirecting, regions, configuration = topology.agents.values()
    assert (routers.kind, routers.setting("service")) == (
        ShippedService.DATA_DEPENDENT_ROUTING,
        "//shop/Router",
    )
    classifier = routers.classifier
    assert classifier is not None and classifier.language is Language.XPATH
    assert (classifier.expression.text, classifier.expression.source.line) == (
        "/s:order/s:region",
        8,
    )
    assert classifier.services == {"north": "//shop/North"}
    assert (classifier.otherwise, classifier.namespaces) == ("//shop/Elsewhere", {"s": "urn:shop"})
    assert redirecting.setting("redirect") == "//shop/Redirect"
    schema = redirecting.classifier and redirecting.classifier.schema
    assert schema is not None and schema.text == "order.avsc"
    assert (configuration.kind, configuration.setting("directory")) == (
        ShippedService.CONFIGURATION_NOTICE,
        "directory.yaml",
    )
    assert (regions.kind, regions.runs.text) == (None, "shop.regions:app")
    assert read_document(write_document(topology), "", NOW).agents == topology.agents


@pytest.mark.parametrize(
    ("agent", "place", "message"),
    [
        ("{service: S}", "2:5", "an agent without runs"),
        ("{runs: data-dependent-rooting}", "2:15", "Did you mean 'data-dependent-routing'?"),
        ("{runs: 'a:b', service: S}", "2:22", "'service' is not a setting of a custom application"),
        ("{runs: data-dependent-routing, clasifier: {}}", "2:39", "Did you mean 'classifier'?"),
        ("{runs: data-dependent-routing, classifier: {}}", "2:51", "a classifier with none of"),
        (
            "{runs: data-dependent-routing, classifier: {xpath: a, jmespath: b}}",
            "2:51",
            "a classifier with 2 of xpath, jmespath, avro, python",
        ),
        ("{runs: data-dependent-routing, classifier: {avro: a}}", "2:58", "without a schema"),
        (
            "{runs: data-dependent-routing, classifier: {jmespath: a, namespaces: {a: b}}}",
            "2:77",
            "namespaces is only for xpath",
        ),
        ("{runs: data-dependent-routing, classifier: {xpath: 1}}", "2:59", "a text"),
    ],
)
def test_errors_are_reported_with_their_place(
    tmp_path: Path, agent: str, place: str, message: str
) -> None:
    write(tmp_path, f"agents:\n    n: {agent}\n")
    with pytest.raises(InputError) as caught:
        load(tmp_path, NOW)
    assert f"topology.yaml:{place}: " in str(caught.value) and message in str(caught.value)


def test_a_name_must_do_for_a_file(tmp_path: Path) -> None:
    write(tmp_path, "agents:\n  a/b: {runs: 'a:b'}\n")
    with pytest.raises(InputError, match="It is also a file name"):
        load(tmp_path, NOW)
