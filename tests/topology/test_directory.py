"""A directory of services as YAML: what is read, and where what is wrong stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError
from streams.resources import topologies_dir
from streams.topology import Offer, load_offers
from streams.topology.offers import OFFER_LIFETIME


def written(folder: Path, text: str) -> Path:
    path = folder / "directory.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_route_has_the_fields_of_a_topologys_route(tmp_path: Path) -> None:
    text = """
        lifetime: 60
        routes:
          - {service_name: S, address: 'tcp://B:4022'}
          - service_name: T
            broker_instance: DatabaseT
            address: 'tcp://T:4022'
            mirror_address: 'tcp://M:4022'
            lifetime: 5
    """
    one, other = load_offers(written(tmp_path, text))
    assert one == Offer("S", "tcp://B:4022", lifetime=60)
    assert other == Offer("T", "tcp://T:4022", "DatabaseT", "tcp://M:4022", 5)
    assert (one.source.line, other.source.line) == (4, 5)
    assert not one.breaches and not other.breaches


def test_an_offer_without_lifetime_lasts_an_hour(tmp_path: Path) -> None:
    [offer] = load_offers(written(tmp_path, "routes: [{service_name: S, address: LOCAL}]"))
    assert offer.lifetime == OFFER_LIFETIME == 3600


@pytest.mark.parametrize("text", ["", "routes:", "{}", "routes: []"])
def test_nothing_names_nobody(tmp_path: Path, text: str) -> None:
    assert load_offers(written(tmp_path, text)) == ()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("routes:\n- a: b: c", "2:7", "invalid YAML"),
        ("- a", "1:1", "a mapping"),
        ("route: []", "1:1", "Did you mean 'routes'"),
        ("routes: {S: x}", "1:9", "a list of routes"),
        ("routes:\n  - {service_name: S}", "2:5", "a route without address"),
        ("routes:\n  - {address: LOCAL}", "2:5", "a route without service_name"),
        ("routes:\n  - {service: S, address: LOCAL}", "2:6", "Did you mean 'service_name'"),
        ("routes:\n  - {service_name: 5, address: LOCAL}", "2:20", "Put it in quotes"),
        ("lifetime: soon", "1:11", "a whole number"),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load_offers(path)
    assert str(caught.value).startswith(f"{path}:{place}:") and message in str(caught.value)


def test_what_breaks_a_rule_is_kept_and_known(tmp_path: Path) -> None:
    """A request for it gets the error; the others are answered."""
    [bad] = load_offers(written(tmp_path, "routes: [{service_name: S, address: ServerB}]"))
    assert [breach.rule.name for breach in bad.breaches] == ["V6"]


def test_the_shipped_one_is_right() -> None:
    for path in topologies_dir().glob("*/directory.yaml"):
        offers = load_offers(path)
        assert offers and not [offer for offer in offers if offer.breaches]
