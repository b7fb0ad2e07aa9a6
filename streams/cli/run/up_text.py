"""The output of ``hopline status``, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from streams.cli.text.terminal import BAD, CARE, GOOD, Words
from streams.cli.text.values import shorten, utc
from streams.live import CatalogStatus, Lag, Status, UpFolder, WorkerStatus, worst
from streams.live.remote import RemoteStatus
from streams.prose import counted

_MOST_LAGS = 10
_MOST_REASONS, _LONGEST_REASON = 3, 200
STATES: Words = {
    r"^running(?=: )|\brunning(?=, process \d)": GOOD,
    r"^starting(?=: )|\bnot (?:ready|answering)\b": CARE,
    r"^(?:broken|stopped)(?=: )|\bgone(?=, process \d)|\bno heartbeat(?= for \d)": BAD,
    r"(?<=^  )(?:hung|held back|no worker)(?=  )": BAD,
}
"""The colours of words about the system and its workers."""


def status_lines(folder: UpFolder, status: Status) -> Iterator[str]:
    """Yield the lines of the text."""
    system = status.system
    if system is None:
        yield f"{status.health.value}: `hopline up TOPOLOGY` starts a system in {folder.path}"
        return
    yield f"{status.health.value}: {system.topology} at {system.bootstrap}, prefix {system.prefix}"
    if status.broker is not None:
        pid = f"process {status.broker_pid}" if status.broker_pid else ""
        yield row("broker", status.broker.value, pid, f"data in {folder.kafka}")
    supervisor = f"process {system.keeper}, since {_clock(system.started)}"
    yield row("supervisor", _alive(status.supervisor_alive), supervisor)
    yield from obstacle_lines(status)
    catalog = status.catalog
    served = len(catalog.instances if catalog else system.instances)
    for worker in status.workers:
        yield row(worker.process.agent or worker.process.role, *_worker(worker, served))
        yield from _reason_lines(folder, worker)
    yield from cluster_lines(status)


def obstacle_lines(status: Status | RemoteStatus) -> Iterator[str]:
    """Yield the lines about records and transactions that block workers."""
    for hung in status.hung:
        yield row("hung", str(hung))
        yield row("", hung.remedy)
    for held in status.held_back:
        yield row("held back", str(held))
        yield row("", held.remedy)


def cluster_lines(status: Status | RemoteStatus) -> Iterator[str]:
    """Yield the lines about the catalog and the lag of workers."""
    catalog = status.catalog
    if catalog is None:
        yield row("catalog", "Kafka does not answer")
        return
    yield row("catalog", f"version {catalog.version}", counted(len(catalog.instances), "instance"))
    if catalog.error:
        yield row("", f"not usable: {catalog.error}")
    behind = sorted((lag for lag in status.lags if lag.records), key=_most_first)
    yield row("lag", counted(sum(lag.records for lag in behind), "record"))
    for lag in behind[:_MOST_LAGS]:
        yield row("", f"{lag.records:>9,}  {lag.instance} {lag.role}, {lag.topic}")
    if len(behind) > _MOST_LAGS:
        yield row("", f"and {len(behind) - _MOST_LAGS} more")


def _worker(worker: WorkerStatus, instances: int) -> tuple[str, ...]:
    again = worker.process.restarts
    return (
        _alive(worker.alive),
        f"process {worker.process.pid}, since {_clock(worker.process.started)}",
        _ready(worker, instances),
        *([counted(again, "restart")] if again else []),
    )


def _ready(worker: WorkerStatus, instances: int) -> str:
    state = f"{len(worker.ready)} of {instances} ready"
    if worker.process.agent:
        state = "ready" if worker.ready else "not ready yet"
    if worker.alive and not worker.answers:
        state = "not answering"
    return f"an agent, {state}" if worker.process.agent else state


def _reason_lines(folder: UpFolder, worker: WorkerStatus) -> Iterator[str]:
    """Yield the reasons why a live process is not ready."""
    process = worker.process
    if worker.alive and not process.port:
        yield row("", "started by an older version: run `hopline up TOPOLOGY` again")
    elif worker.alive and not worker.answers:
        yield row("", f"no answer on port {process.port}; its log is {folder.log(process.name)}")
    for sentence in worker.missing[:_MOST_REASONS]:
        yield row("", shorten(sentence, _LONGEST_REASON))
    if len(worker.missing) > _MOST_REASONS:
        yield row("", f"and {len(worker.missing) - _MOST_REASONS} more")


def _alive(alive: bool) -> str:
    return "running" if alive else "gone"


def row(name: str, *values: str) -> str:
    """Return a line: a name, and those of the values that are not empty."""
    return f"  {name:<10} {', '.join(v for v in values if v)}"


def _most_first(lag: Lag) -> tuple[int, str, str]:
    return -lag.records, lag.instance, lag.topic


def statuses_json(folder: UpFolder, statuses: Mapping[str, Status]) -> dict[str, Any]:
    """Return the status of every cluster by name, or of a single cluster without a name."""
    if list(statuses) == [""]:
        return status_json(folder, statuses[""])
    return {
        "health": worst(statuses.values()).value,
        "data": str(folder.path),
        "clusters": {name: status_json(folder.part(name), s) for name, s in statuses.items()},
    }


def status_json(folder: UpFolder, status: Status) -> dict[str, Any]:
    """Return the status as plain values; ``lag`` contains only workers that are behind."""
    system, catalog = status.system, status.catalog
    return {
        "health": status.health.value,
        "data": str(folder.path),
        "bootstrap": system.bootstrap if system else None,
        "prefix": system.prefix if system else None,
        "topology": system.topology if system else None,
        "instances": list(catalog.instances if catalog else system.instances if system else ()),
        "broker": {"condition": status.broker.value, "pid": status.broker_pid}
        if status.broker
        else None,
        "keeper": {
            "pid": system.keeper,
            "alive": status.supervisor_alive,
            "since": utc(system.started),
        }
        if system
        else None,
        "workers": [_worker_json(w) for w in status.workers if not w.process.agent],
        "agents": [_agent_json(w) for w in status.workers if w.process.agent],
        "catalog": catalog_json(catalog),
        **cluster_json(status),
    }


def catalog_json(catalog: CatalogStatus | None) -> dict[str, Any] | None:
    """Return a catalog's version and instances as plain values."""
    if catalog is None:
        return None
    return {
        "version": catalog.version,
        "instances": len(catalog.instances),
        "error": catalog.error or None,
    }


def cluster_json(status: Status | RemoteStatus) -> dict[str, Any]:
    """Return the lag of workers, and the records and transactions that block them."""
    return {
        "lag": [
            {"instance": g.instance, "role": g.role, "topic": g.topic, "records": g.records}
            for g in status.lags
            if g.records
        ],
        "hung": [each._asdict() for each in status.hung],
        "held_back": [
            {**each._asdict(), "place": each.place, "remedy": each.remedy}
            for each in status.held_back
        ],
    }


def _worker_json(worker: WorkerStatus) -> dict[str, Any]:
    process = _process_json(worker)
    return {"role": worker.process.role, **process, "ready": sorted(worker.ready)}


def _agent_json(worker: WorkerStatus) -> dict[str, Any]:
    return {"name": worker.process.agent, **_process_json(worker), "ready": bool(worker.ready)}


def _process_json(worker: WorkerStatus) -> dict[str, Any]:
    return {
        "pid": worker.process.pid,
        "alive": worker.alive,
        "since": utc(worker.process.started),
        "restarts": worker.process.restarts,
        "port": worker.process.port or None,
        "answers": worker.answers,
        "missing": list(worker.missing),
    }


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
