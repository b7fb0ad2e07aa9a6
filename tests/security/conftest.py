"""Fixtures for the security tests: a broker that denies access by default, and a system on it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.running import eventually
from tests.security.secured import Secured, secured_broker
from tests.security.system import Guarded, guarded
from tests.workers.rig import pause


@pytest.fixture(scope="package")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Return a broker with an authorizer, SCRAM and TLS."""
    with secured_broker(tmp_path_factory.mktemp("secured"), "verify") as broker:
        yield broker


@pytest.fixture(scope="package")
def system(secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Return a system whose parts are users of their own, after a dialog that is trimmed already.

    And after another one, of which everything is there.
    """
    folder = tmp_path_factory.mktemp("system")
    with guarded(secured, f"t{uuid.uuid4().hex[:12]}.", folder) as made:
        made.work(keep=0.0)
        made.talk()
        eventually(lambda: made.trimmed() or pause(), "every topic is trimmed")
        made.rest()
        made.work()
        made.talk()
        yield made
