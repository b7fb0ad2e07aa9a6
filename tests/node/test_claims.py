"""What partners claim of themselves in their heartbeats (reference 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from streams.node import CatalogView, Pair, answer_in, by_broker, catalog_of, claims_of
from streams.node.mirroring.principals import Principals
from streams.protocol import Claim
from streams.topology import Role, failover

from .test_mirror import ADDRESSES, TOPOLOGY

FIRST, SECOND = catalog_of(TOPOLOGY, 1), catalog_of(failover(TOPOLOGY, "Orders", "partner2"), 2)


def answered(
    claims: Iterable[Claim], catalog: CatalogView, instance: str, pair: Pair
) -> tuple[Role, int] | None:
    return answer_in(by_broker(claims), catalog, instance, pair)


def test_an_instance_claims_what_it_knows_of_its_mirrored_databases() -> None:
    """Others it does not mention, and before it has a catalog it claims nothing."""
    assert claims_of(FIRST, "partner1") == (Claim("O", True, 0),)
    assert claims_of(SECOND, "partner1") == (Claim("O", False, 1),)
    assert claims_of(SECOND, "partner2") == (Claim("O", True, 1),)
    assert claims_of(FIRST, "Home") == claims_of(None, "partner1") == claims_of(FIRST, "X") == ()


@pytest.mark.parametrize("broker", ["O", None])
def test_a_claim_answers_a_question(broker: str | None) -> None:
    """By broker id, or by a service that the catalog has there (C-06); by nobody else's role."""
    pair = Pair("OrderParts", broker, ADDRESSES)
    said = claims_of(SECOND, "partner2")
    assert answered(said, SECOND, "partner2", pair) == (Role.PRINCIPAL, 1)
    assert answered((), FIRST, "partner1", pair) is None, "nobody has said it yet"


@pytest.mark.parametrize("principal", [True, False])
@pytest.mark.parametrize("epoch", [1, 2, 4 * 10**18])
def test_a_claim_above_the_catalogs_epoch_answers_nothing(epoch: int, principal: bool) -> None:
    """Whoever may write heartbeats may write any; a failover is in the catalog first."""
    pair, claim = Pair("OrderParts", "O", ADDRESSES), Claim("O", principal, epoch)
    assert answered((claim,), FIRST, "partner2", pair) is None
    assert answered((claim,), FIRST, "partner1", pair) is None


def test_a_claim_of_the_other_role_in_the_catalogs_epoch_answers_nothing() -> None:
    pair = Pair("OrderParts", "O", ADDRESSES)
    assert answered((Claim("O", True, 0),), FIRST, "partner2", pair) is None
    assert answered((Claim("O", False, 0),), FIRST, "partner1", pair) is None
    former = (Claim("O", True, 0),)
    assert answered(former, SECOND, "partner1", pair) == (Role.PRINCIPAL, 0), "which is over"


def test_what_is_not_mirrored_is_its_own_principal() -> None:
    """The catalog says so; nobody announces it."""
    assert answered((), FIRST, "partner1", Pair("Alone", "X", ADDRESSES)) == (Role.PRINCIPAL, 0)
    assert answered((), FIRST, "partner2", Pair("Alone", "X", ADDRESSES)) == (Role.MIRROR, 0)


def test_a_neighbour_is_believed_by_what_it_announces_alone() -> None:
    """The catalog has nothing of another cluster's databases."""
    known = {n: i for n, i in FIRST.instances.items() if n == "Home"}
    catalog: CatalogView = replace(FIRST, instances=known, mirrors={})
    pair = Pair("OrderParts", "O", ADDRESSES)
    assert answered((Claim("O", True, 3),), catalog, "partner1", pair) == (Role.PRINCIPAL, 3)
    assert answered((Claim("Z", True, 3),), catalog, "partner1", pair) == (Role.MIRROR, 0)
    unnamed = Pair("OrderParts", None, ADDRESSES)
    assert answered((Claim("O", True, 3),), catalog, "partner1", unnamed) == (Role.MIRROR, 0)


def test_many_routes_read_the_claims_of_a_heartbeat_once() -> None:
    """Otherwise each heartbeat takes as many steps as there are pairs of routes and claims."""
    reads = list[int]()

    class Claims(tuple[Claim, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Claim]:
            reads.append(len(self))
            return super().__iter__()

    catalog = replace(FIRST, instances={}, mirrors={})
    claims = [Claims([Claim(f"B{n}", True, 0) for n in range(9)])]
    peers = SimpleNamespace(catalog=catalog, claims=lambda _: claims[-1], reachable=lambda _: True)
    principals = Principals("Home", peers, str)
    pairs = [Pair("S", f"b{n}", ADDRESSES) for n in range(9)]
    for pair in pairs:
        principals.principal(pair, lambda _: True, 0, 0)
    read = len(reads)
    assert read <= 2, "one for each partner"
    claims.append(Claims([Claim(f"B{n}", False, 1) for n in range(9)]))
    principals.look(1_000)
    assert len(reads) == 2 * read
