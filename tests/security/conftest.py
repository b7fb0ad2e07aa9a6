"""The broker that the tests of security share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.secured import Secured, secured_broker


@pytest.fixture(scope="package")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Return a broker with an authorizer, SCRAM and TLS."""
    with secured_broker(tmp_path_factory.mktemp("secured"), "verify") as broker:
        yield broker
