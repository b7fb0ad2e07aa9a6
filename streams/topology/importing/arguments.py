"""The arguments of ``hopline import``: instances and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from streams.errors import UsageError
from streams.topology.decode import check_name
from streams.topology.load import SCRIPT
from streams.topology.snapshot import files_of, sources_at

_FORM = (
    "Write NAME=script.sql, NAME=FOLDER, NAME/DATABASE=FOLDER or FOLDER; NAME is the instance's "
    "host name."
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of one instance; ``name`` is its relative path in the output folder.

    ``database``: the database in which a script begins, if the argument states one.
    """

    path: Path
    name: Path
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """An instance and its scripts, in order.

    ``snapshot``: the files of a live server's snapshot, which come before the scripts.
    """

    instance: str
    scripts: tuple[SourceFile, ...]
    snapshot: tuple[SourceFile, ...] = ()


def imported_instances(arguments: Iterable[str]) -> tuple[Imported, ...]:
    """Return the instances that the arguments name; scripts of a repeated instance are combined.

    Raises UsageError for missing or unreadable files.
    """
    return combined(imported for argument in arguments for imported in _read_argument(argument))


def combined(instances: Iterable[Imported]) -> tuple[Imported, ...]:
    """Return one entry for each instance; raises UsageError for two snapshots of one."""
    found: dict[str, Imported] = {}
    for imported in instances:
        key = imported.instance.casefold()
        known = found.get(key, Imported(imported.instance, ()))
        found[key] = _both(known, imported)
    return tuple(found.values())


def _both(known: Imported, more: Imported) -> Imported:
    if known.snapshot and more.snapshot:
        raise UsageError(f"{known.instance} has two snapshots.", "Give one of them.")
    scripts = (*known.scripts, *more.scripts)
    return Imported(known.instance, scripts, known.snapshot or more.snapshot)


def _read_argument(argument: str) -> tuple[Imported, ...]:
    """Parse NAME=PATH, NAME/DATABASE=PATH or a folder; an existing path may contain '='."""
    check_name(Path(argument))
    if _exists(Path(argument)):
        return _unnamed(Path(argument), argument)
    name, equals, rest = argument.partition("=")
    if not equals:
        raise UsageError(f"There is no folder {argument}.", _FORM)
    if not name.strip() or not rest:
        missing = "No script follows" if name.strip() else "No name precedes"
        raise UsageError(f"{missing} '=' in '{argument}'.", _FORM)
    instance, slash, database = (part.strip() for part in name.partition("/"))
    found = _named(instance, Path(rest))
    if not slash:
        return (found,)
    if not instance or not database:
        missing = "database" if instance else "instance"
        raise UsageError(f"The {missing}'s name is missing in '{argument}'.", _FORM)
    if found.snapshot:
        raise UsageError(f"{rest} is a snapshot, which contains its databases.", _FORM)
    return (replace(found, scripts=tuple(replace(s, database=database) for s in found.scripts)),)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the path is too long, or has a null character
        return False


def _unnamed(path: Path, argument: str) -> tuple[Imported, ...]:
    """Return one instance for each script, snapshot or folder in a folder."""
    if not path.is_dir():
        raise UsageError(f"The instance name of {argument} is missing.", _FORM)
    found = [
        Imported(source.stem if source.is_file() else source.resolve().name, (), _snapshot(source))
        for source in sources_at(path)
    ]
    for entry in sorted(path.iterdir()):
        if entry.is_dir():
            scripts = _of_folder(entry)
            found += [Imported(entry.name, scripts)] if scripts else []
        elif _is_script(entry):
            found.append(Imported(entry.stem, (SourceFile(entry, Path(entry.name)),)))
    if not found:
        raise UsageError(f"The folder {path} has no scripts.", f"Scripts end in {SCRIPT}.")
    for imported in found:
        check_name(Path(imported.instance))
    return tuple(found)


def _named(name: str, path: Path) -> Imported:
    """Return one instance from a path; each kind of source is a row of the table."""
    if not _exists(path):
        raise UsageError(f"There is no file {path}.", _FORM)
    if len(sources_at(path)) == 1:
        return Imported(name, (), _snapshot(path))
    for applies, read in _SOURCES.items():
        if applies(path):
            return Imported(name, read(path))
    raise UsageError(f"{path} is neither a file nor a folder.", _FORM)


def _snapshot(source: Path) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(file, Path(file.name)) for file in files_of(source))


def _of_file(path: Path) -> tuple[SourceFile, ...]:
    return (SourceFile(path, Path(path.name)),)


def _of_folder(path: Path) -> tuple[SourceFile, ...]:
    """Return all scripts of a folder and its subfolders, sorted by path."""
    scripts = sorted(entry for entry in path.rglob("*") if _is_script(entry))
    return tuple(SourceFile(script, script.relative_to(path)) for script in scripts)


def _scripts_of_folder(path: Path) -> tuple[SourceFile, ...]:
    scripts = _of_folder(path)
    if not scripts:
        raise UsageError(f"The folder {path} has no scripts.", f"Scripts end in {SCRIPT}.")
    return scripts


def _is_script(path: Path) -> bool:
    return path.is_file() and path.suffix.casefold() == SCRIPT


_SOURCES: Mapping[Callable[[Path], bool], Callable[[Path], tuple[SourceFile, ...]]] = {
    Path.is_dir: _scripts_of_folder,
    Path.is_file: _of_file,
}
"""Possible inputs after ``NAME=``; the first kind that applies is used."""
