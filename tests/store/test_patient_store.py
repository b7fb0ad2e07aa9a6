"""The monitor's writers wait for their store, and write each batch once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.errors import SurroundingsError
from streams.store import LatencyWindow, Row, Store, database
from streams.store.patient_store import PatientStore
from tests.store.build import LATENCY


class Stop(threading.Event):
    """Records the waits instead of waiting, and calls ``then`` in the third one."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self.waits, self._then = list[float | None](), then

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == 3:
            self._then()
        return self.is_set()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(database, "_BUSY_S", 0)
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        yield store


@pytest.fixture
def other(store: Store) -> Iterator[sqlite3.Connection]:
    """Return another process's connection, which has locked the store."""
    connection = sqlite3.connect(str(store._engine.url.database), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_batch_waits_for_its_store_with_all_its_rows(
    store: Store, other: sqlite3.Connection
) -> None:
    said = list[str]()
    stop = Stop(lambda: (outages.append(patient.outage), other.execute("ROLLBACK")))
    patient, outages = PatientStore.of(store, stop, said.append), list[str]()
    assert patient.write("q", "run", 0, iter([LATENCY]))
    assert (stop.waits, patient.outage) == ([1, 2, 4], "")
    assert store.read(LatencyWindow) == (LATENCY,)
    assert len(said) == 2 and "locked" in said[0] and "available again" in said[1]
    assert "locked" in outages[0]


CALLS: list[Callable[[PatientStore], object]] = [
    lambda store: store.write("q", "run", 0, ()),
    lambda store: store.add_late("q", "run", 0, 1, first_at=0, until=1, at=1),
    lambda store: store.roll(0, 1, lambda _: ()),
    lambda store: store.prune(0),
    lambda store: store.reach({"q": 1}),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_stop_ends_the_wait(
    store: Store, other: sqlite3.Connection, call: Callable[[PatientStore], object]
) -> None:
    stop = Stop(lambda: stop.set())
    with pytest.raises(database.UnavailableError):
        call(PatientStore.of(store, stop, lambda _: None))
    assert len(stop.waits) == 3


def test_a_batch_whose_commit_was_not_confirmed_is_written_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, attempts = Store.write, list[bool]()

    def lost(self: Store, query: str, run: str, batch_id: int, rows: tuple[Row, ...]) -> bool:
        attempts.append(write(self, query, run, batch_id, rows))
        if len(attempts) == 1:
            raise database.UnavailableError("the connection was lost")
        return attempts[-1]

    monkeypatch.setattr(Store, "write", lost)
    patient = PatientStore.of(store, Stop(lambda: None), lambda _: None)
    assert not patient.write("q", "run", 0, [LATENCY])
    assert attempts == [True, False]
    assert store.read(LatencyWindow) == (LATENCY,)


def test_a_store_without_a_table_is_not_waited_for(store: Store) -> None:
    with store._engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE batches"))
    stop = Stop(lambda: None)
    with pytest.raises(SurroundingsError, match="no such table"):
        PatientStore.of(store, stop, lambda _: None).write("q", "run", 0, ())
    assert not stop.waits
