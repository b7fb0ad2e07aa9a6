"""`hopline verify` by both engines, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from streams.kafka import Cluster
from streams.live.engines import Engine, LocalEngine
from streams.live.engines.spark import SparkEngine
from streams.live.verify import Asked, Verified, verify_captures, verify_clusters


def agreed_clusters(
    spark: SparkSession, clusters: Sequence[Cluster], asked: Asked | None = None
) -> Verified:
    """Verify clusters with each engine, and with states that are read twice; return the result."""
    wanted = Asked() if asked is None else asked

    def by(engine: Engine) -> Verified:
        return verify_clusters(lambda _: nullcontext(engine), clusters, wanted)

    local, rereading = by(LocalEngine()), by(LocalEngine(state_budget=0))
    assert _all(rereading) == _all(local)
    return _same(by(SparkEngine(spark)), local)


def agreed_captures(
    spark: SparkSession, files: Sequence[Path], asked: Asked | None = None
) -> Verified:
    """Verify captures with each engine; return what both have found."""
    wanted = Asked() if asked is None else asked
    return _same(
        verify_captures(lambda _: nullcontext(SparkEngine(spark)), files, wanted),
        verify_captures(lambda _: nullcontext(LocalEngine()), files, wanted),
    )


def _same(of_spark: Verified, local: Verified) -> Verified:
    assert (of_spark.engine, local.engine) == ("spark", "local")
    assert _all(of_spark) == _all(local)
    return local


def _all(found: Verified) -> dict[str, Any]:
    answer = found.account.to_json()
    answer["exceptions"].sort(key=str)  # one number may be found at several places
    return {**answer, "notes": found.notes, "hung": found.hung}
