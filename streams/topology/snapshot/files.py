"""Find and read the files of a snapshot: a document or a folder of CSVs for each instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from streams.errors import UsageError
from streams.topology.decode import check_name
from streams.topology.findings import Finding, Severity, Source
from streams.topology.model import Instance, Topology
from streams.topology.snapshot.csv_file import read_csv, view_of
from streams.topology.snapshot.full_names import with_full_names
from streams.topology.snapshot.instance import build_instance, name_of
from streams.topology.snapshot.json_file import is_json_snapshot, read_json, read_text
from streams.topology.snapshot.live import build_live
from streams.topology.snapshot.rows import Rows
from streams.topology.snapshot.state import LiveInstance, Snapshot
from streams.topology.snapshot.views import NEEDED
from streams.topology.validate import ddl_finding

NO_DOCUMENTS: Mapping[str, str] = MappingProxyType({})


def is_snapshot(path: Path) -> bool:
    """Return whether there is a snapshot at a path: a document, CSVs, or a folder with them."""
    return bool(sources_at(path))


def load_snapshot(path: Path | None, documents: Mapping[str, str] = NO_DOCUMENTS) -> Snapshot:
    """Read a snapshot: a file, a folder of documents and CSVs, or a folder of such folders.

    ``documents``: JSON documents that are not files, by the file name that their places state.
    Raises UsageError if there is no snapshot, and InputError for a document that does not parse.
    """
    found = () if path is None else sources_at(path)
    if path is not None and not found:
        raise UsageError(
            f"{path} is not a snapshot." if path.is_file() else f"There is no snapshot at {path}.",
            "Give the output of the T-SQL of `hopline diagnose --script json`, or a folder with "
            "such files; a CSV file is named after its view.",
        )
    read = chain(
        ((source, _read(source, None)) for source in found),
        ((Path(file), _read_document(file, text)) for file, text in documents.items()),
    )
    instances: dict[str, Instance] = {}
    live: dict[str, LiveInstance] = {}
    findings: list[Finding] = []
    for source, (instance, state, rows) in read:
        findings += rows.findings
        if instance.name.casefold() in {name.casefold() for name in instances}:
            findings.append(_twice(instance.name, source))
            continue
        instances[instance.name], live[instance.name] = instance, state
    return Snapshot(with_full_names(Topology(instances, findings=tuple(findings))), live)


def read_instance(path: Path, name: str | None = None) -> Snapshot:
    """Read one instance's snapshot; ``name``, if given, is the name that routes use."""
    found = sources_at(path)
    if len(found) != 1:
        many = f"{len(found)} instances" if found else "no snapshot"
        raise UsageError(f"{path} has {many}.", "Give the file or folder of one instance.")
    instance, state, rows = _read(found[0], name)
    topology = Topology({instance.name: instance}, findings=tuple(rows.findings))
    return Snapshot(topology, {instance.name: state})


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of the snapshots at a path."""
    found = (((s,) if s.is_file() else _csvs(s)) for s in sources_at(path))
    return tuple(file for files in found for file in files)


def over(stated: Instance, seen: Instance) -> Instance:
    """Return a snapshot's instance with the properties that only a topology can define."""
    return replace(
        seen,
        name=stated.name,
        stated_address=stated.stated_address,
        aliases=tuple(dict.fromkeys((*stated.aliases, *seen.aliases))),
        listeners=tuple(dict.fromkeys((*stated.listeners, *seen.listeners))),
        databases={**seen.databases, **stated.databases},
        cluster=stated.cluster,
        partitions=stated.partitions,
        source=stated.source,
    )


def _read(source: Path, name: str | None) -> tuple[Instance, LiveInstance, Rows]:
    check_name(source)
    fallback = source.stem if source.is_file() else source.resolve().name
    rows = Rows(fallback)
    for file in (source,) if source.is_file() else _csvs(source):
        _read_file(file, rows)
    return _built(rows, source, name)


def _read_document(file: str, text: str) -> tuple[Instance, LiveInstance, Rows]:
    rows = Rows(Path(file).stem)
    read_text(text, file, rows)
    return _built(rows, Path(file), None)


def _built(rows: Rows, source: Path, name: str | None) -> tuple[Instance, LiveInstance, Rows]:
    rows.subject = name or name_of(rows, rows.subject)
    _complete(rows, source)
    instance = build_instance(rows, rows.subject, Source(str(source)))
    state = build_live(rows, instance)
    rows.findings = [replace(f, subject=f.subject or rows.subject) for f in rows.findings]
    return instance, state, rows


def _read_file(file: Path, rows: Rows) -> None:
    if view_of(file) is not None:
        read_csv(file, rows)
    else:
        read_json(file, rows)


def _complete(rows: Rows, source: Path) -> None:
    """Report missing views that are required for any conclusion."""
    for view in NEEDED:
        if view not in rows.present:
            rows.note(
                f"sys.{view} is not in the snapshot", "Take it again with the query script.",
                Source(str(source)), Severity.WARNING,
            )  # fmt: skip
    for database, why in rows.unread.items():
        rows.note(
            f"{database} could not be read: {why}", "Take the snapshot as a sysadmin.",
            Source(str(source)), Severity.WARNING,
        )  # fmt: skip


def _twice(name: str, source: Path) -> Finding:
    return ddl_finding(
        f"{source} is a second snapshot of {name} and is ignored",
        "Keep one snapshot of each instance.", name, Source(str(source)),
        severity=Severity.WARNING,
    )  # fmt: skip


def sources_at(path: Path) -> tuple[Path, ...]:
    """Return the documents and the folders of CSVs at a path or directly below it.

    Each document or folder is the snapshot of one instance.
    """
    if path.is_file():
        return (path,) if is_json_snapshot(path) or view_of(path) is not None else ()
    if not path.is_dir():
        return ()
    return tuple(_within(path)) + tuple(
        source for folder in sorted(path.iterdir()) if folder.is_dir() for source in _within(folder)
    )


def _within(folder: Path) -> Iterator[Path]:
    yield from (file for file in sorted(folder.iterdir()) if is_json_snapshot(file))
    if _csvs(folder):
        yield folder


def _csvs(folder: Path) -> list[Path]:
    """Return a folder's CSVs, starting with the file that contains the server's clock."""
    found = (f for f in folder.iterdir() if f.is_file() and view_of(f) is not None)
    return sorted(found, key=lambda f: (view_of(f) != "server", f.name))
