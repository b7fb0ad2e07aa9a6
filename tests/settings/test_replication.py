"""The setting `replication`: what topics need on how many brokers."""

from __future__ import annotations

import pytest

from streams.errors import UsageError
from streams.settings import Replicas, Replication


@pytest.mark.parametrize(
    ("brokers", "wanted"), [(0, (1, 1)), (1, (1, 1)), (2, (2, 1)), (3, (3, 2)), (9, (3, 2))]
)
def test_auto_takes_three_replicas_or_what_the_cluster_has(
    brokers: int, wanted: tuple[int, int]
) -> None:
    assert Replication().wanted(brokers) == Replicas(*wanted)
    assert bool(Replication().warning(brokers)) is (brokers < 3)


@pytest.mark.parametrize("brokers", [1, 3])
def test_stated_replication_holds_on_any_cluster_without_a_warning(brokers: int) -> None:
    assert Replication("5/3").wanted(brokers) == Replicas(5, 3)
    assert Replication("as-is").wanted(brokers) is None
    assert Replication("1/1").warning(brokers) == Replication("as-is").warning(brokers) == ""


@pytest.mark.parametrize("text", ["", "3", "0/0", "3/0", "2/3", "3/2/1", "yes", "-1/1", "٣/٢"])
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be auto, as-is"):
        Replication(text)
