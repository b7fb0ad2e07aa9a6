"""Load a topology from its folder, and apply T-SQL to a loaded topology."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streams.errors import InputError, UsageError
from streams.topology.decode import check_name, decode, marked_encoding
from streams.topology.findings import Source
from streams.topology.model import MSDB, Instance, Topology, empty_database
from streams.topology.snapshot import files_of, is_snapshot, load_snapshot, over, read_instance
from streams.topology.snapshot.full_names import with_full_names
from streams.topology.tsql import (
    InstanceDraft,
    Notes,
    Reading,
    ScriptText,
    apply_script,
    find_missing_objects,
)
from streams.topology.yaml_file import Document, read_document

FILE = "topology.yaml"
SCRIPT = ".sql"


def load(path: Path, now: float) -> Topology:
    """Read a folder with ``topology.yaml``, a folder of .sql files, or a snapshot.

    Each .sql file is an instance. ``now`` (epoch seconds) is the start of every LIFETIME. Raises
    InputError for syntax errors; statements that the engine would reject are among the findings.
    """
    return load_with_notes(path, now)[0]


def load_with_notes(path: Path, now: float) -> tuple[Topology, Notes]:
    """Load a topology, and return it with notes on its scripts."""
    notes = Notes()
    topology = _load(path, now, notes)
    return replace(topology, findings=tuple(notes.findings), skipped=tuple(notes.skipped)), notes


def _load(path: Path, now: float, notes: Notes) -> Topology:
    check_name(path)
    if path.is_file() and path.name == FILE:
        path = path.parent
    if not (path / FILE).is_file() and is_snapshot(path):
        found = load_snapshot(path).topology
        notes.findings.extend(found.findings)
        return found
    if path.is_file() and path.suffix.casefold() == SCRIPT:
        raise UsageError(
            f"{path} is a script, not a topology.",
            f"Convert it: hopline import NAME={path} --output FOLDER",
        )
    if not path.is_dir():
        raise UsageError(
            f"{path} is not a topology." if path.exists() else f"There is no topology at {path}.",
            f"Give a folder with {FILE} or .sql files, or a snapshot of live servers.",
        )
    if (path / FILE).is_file():
        return _from_yaml(path, now, notes)
    scripts = sorted(p for p in path.iterdir() if p.is_file() and p.suffix.casefold() == SCRIPT)
    if not scripts:
        raise UsageError(
            f"The folder {path} has no topology.", f"It has neither {FILE} nor .sql files."
        )
    return _from_scripts(scripts, now, notes)


def apply_sql(
    topology: Topology, instance: str, database: str, text: str, now: float, file: str = "<sql>"
) -> Topology:
    """Apply T-SQL in one database; new findings are appended.

    ``file`` is the text's name in findings.
    """
    found = topology.instance(instance)
    if found is None or found.database(database) is None:
        raise UsageError(f"The topology has no {instance}/{database}.", "Choose an existing one.")
    draft, notes = InstanceDraft(found), Notes()
    apply_script(draft, database, ScriptText(text, file), now, notes)
    return replace(
        topology,
        instances={**topology.instances, found.name: draft.build()},
        findings=(*topology.findings, *notes.findings),
        skipped=(*topology.skipped, *notes.skipped),
    )


def _from_yaml(folder: Path, now: float, notes: Notes) -> Topology:
    file = folder / FILE

    def read(name: str, source: Source) -> str:
        return _text(_named(folder, name, source))

    document = read_document(_text(file), str(file), now, read)
    notes.findings.extend(document.findings)
    instances = {
        name: _with_scripts(folder, document, name, now, notes) for name in document.instances
    }
    topology = Topology(instances, document.clusters, document.expect, agents=document.agents)
    if Reading.AS_FOUND not in document.readings.values():
        return topology
    assumed = with_full_names(
        topology, loopback=True
    )  # an import names servers by their short names
    notes.findings.extend(assumed.findings)
    return assumed


def _with_scripts(
    folder: Path, document: Document, name: str, now: float, notes: Notes
) -> Instance:
    draft = InstanceDraft(_with_snapshot(folder, document, name, notes))
    reading = document.readings[name]
    for script in document.scripts[name]:
        path = _named(folder, script.name, script.source)
        text = _text(path) if reading is Reading.STRICT else _text_as_found(path, notes)
        given = ScriptText(text, str(path), script.variables)
        apply_script(draft, script.database, given, now, notes, reading)
    find_missing_objects(draft, notes)
    return draft.build()


def _with_snapshot(folder: Path, document: Document, name: str, notes: Notes) -> Instance:
    """Return an instance from its snapshot; the topology file takes precedence."""
    stated, named = document.instances[name], document.snapshots.get(name)
    if named is None:
        return stated
    try:
        snapshot = read_instance(folder / named.name, name)
    except (UsageError, ValueError) as error:  # the name has a null character
        raise InputError(
            f"there is no snapshot of one instance at {folder / named.name}",
            file=named.source.file, line=named.source.line, column=named.source.column,
            remedy=f"Names are relative to the folder {folder}.",
        ) from error  # fmt: skip
    notes.findings.extend(snapshot.topology.findings)
    for view, count in snapshot.live[name].rows.items():
        notes.understood[name, f"sys.{view}"] += count
    for file in files_of(folder / named.name):
        notes.encodings[str(file)] = decode(file.read_bytes())[1]
    return over(stated, snapshot.topology.instances[name])


def _named(folder: Path, name: str, at: Source) -> Path:
    """Return a file named in the topology at ``at``; raise InputError if it does not exist."""
    path = folder / name
    try:
        if path.is_file():
            return path
    except ValueError:  # the name has a null character, before Python 3.14
        pass
    raise InputError(
        f"there is no file {path}",
        file=at.file, line=at.line, column=at.column,
        remedy=f"Names are relative to the folder {folder}.",
    )  # fmt: skip


def _from_scripts(scripts: list[Path], now: float, notes: Notes) -> Topology:
    instances: dict[str, Instance] = {}
    for path in scripts:
        check_name(path)
        name = path.stem
        source = Source(str(path), 1, 1)
        draft = InstanceDraft(Instance(name, empty_database(name, MSDB, source), source=source))
        apply_script(draft, None, ScriptText(_text(path), str(path)), now, notes)
        find_missing_objects(draft, notes)
        instances[name] = draft.build()
    return Topology(instances)


def _text(path: Path) -> str:
    """Return a file's text: UTF-8, or UTF-16 with a mark, as SQL Server's tools write it."""
    data = path.read_bytes()
    encoding = marked_encoding(data) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        raise InputError(
            f"the file is not {encoding}: byte {data[error.start]:#04x}",
            file=str(path), line=line, column=len(before) - before.rfind(b"\n"),
            remedy="Save the file as UTF-8.",
        ) from error  # fmt: skip


def _text_as_found(path: Path, notes: Notes) -> str:
    """Return a script's text in its most likely encoding, and note the encoding."""
    text, encoding = decode(path.read_bytes())
    notes.encodings[str(path)] = encoding
    return text
