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


@pytest.mark.parametrize("text", ["", "3", "0/0", "3/0", "3/2/1", "yes", "-1/1", "٣/٢"])
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be auto, as-is") as refused:
        Replication(text)
    assert str(refused.value).count("3/2") == 1 or "3/2" in text


def test_more_in_sync_than_replicas_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="requires 3 replicas in sync, but") as refused:
        Replication("1/3")
    assert "IN_SYNC must not exceed REPLICAS" in str(refused.value)
    assert str(refused.value).count("3/2") == 1
