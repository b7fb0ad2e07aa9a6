"""The output folder of an import: ``topology.yaml`` and byte-identical scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from streams.errors import InputError
from streams.topology.decode import marked_encoding
from streams.topology.importing.arguments import Imported
from streams.topology.importing.merge import Merged, Written, folders_of_others, merge
from streams.topology.load import FILE
from streams.topology.tsql import NO_VARIABLES, Reading

_HEAD = "# Written by hopline import. The scripts are unchanged.\n"
_SNAPSHOT = "snapshot"
_DATABASE = "DatabaseName"
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\ud800-\udfff]')


def write_folder(
    output: Path,
    imported: Iterable[Imported],
    database: str | None = None,
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Merged:
    """Write the topology of some instances.

    ``database``: the default for scripts without USE. ``variables``: their sqlcmd variables.

    ``topology.yaml`` is written last, so a folder without it is from a failed import. If there is
    one already, only the instances' scripts and snapshots change in it.
    """
    imported = tuple(imported)
    file = output / FILE
    existing = _existing(file) if file.exists() else ""
    instances: dict[str, Written] = {}
    taken = folders_of_others(existing, str(file), (one.instance for one in imported))
    contents: dict[str, bytes] = {}
    for one in imported:
        folder = _free(_safe(one.instance), taken)
        scripts: list[str | dict[str, Any]] = []
        for script in one.scripts:
            place = "/".join((folder, *(_safe(part) for part in script.name.parts)))
            name = _free(place, taken)
            contents[name] = script.path.read_bytes()
            scripts.append(_script(name, script.database or database, variables))
        places = {
            f"{folder}/{_SNAPSHOT}/{_safe(file.name.name)}": file.path for file in one.snapshot
        }
        contents |= {place: path.read_bytes() for place, path in places.items()}
        values: dict[str, Any] = {"sql": scripts, "scripts": Reading.AS_FOUND.value}
        if places:
            only = len(places) == 1
            values["snapshot"] = next(iter(places)) if only else f"{folder}/{_SNAPSHOT}"
        instances[one.instance] = Written(folder, values)
    merged = merge(existing or _HEAD, str(file), instances)
    # Read all files before writing any file, because the output may be the scripts' folder.
    for name, data in contents.items():
        target = output / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    file.write_bytes(merged.text.encode())
    return merged


def _existing(file: Path) -> str:
    """Return the text of a topology; its line ends stay as they are."""
    data = file.read_bytes()
    encoding = marked_encoding(data) or "utf-8"
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message, remedy = f"the file is not {encoding}", "Save the file as UTF-8."
        raise InputError(message, file=str(file), remedy=remedy) from error


def _script(name: str, database: str | None, variables: Mapping[str, str]) -> str | dict[str, Any]:
    """Return an item of ``sql:``; DatabaseName is a database project's name of its database."""
    given = dict(variables)
    if database is not None and not any(v.casefold() == _DATABASE.casefold() for v in given):
        given[_DATABASE] = database
    if not given:
        return name
    return {"file": name, **({"database": database} if database else {}), "variables": given}


def _safe(name: str) -> str:
    """Return a portable file name."""
    return _UNSAFE.sub("_", name).strip(". ") or "_"


def _free(name: str, taken: set[str]) -> str:
    """Return a name that is unique regardless of case, with a number if needed."""
    stem, dot, suffix = name.rpartition(".")
    if not stem or "/" in suffix:
        stem, dot, suffix = name, "", ""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        found = f"{stem}-{number}{dot}{suffix}"
    taken.add(found.casefold())
    return found
