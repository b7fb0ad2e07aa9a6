"""Export a database or an instance as T-SQL that recreates it on another server."""

from __future__ import annotations

from streams.topology.export.explicit import explicit_database, explicit_instance
from streams.topology.export.objects import write_objects, write_priorities
from streams.topology.export.quoting import bracket, literal
from streams.topology.export.routes import write_routes
from streams.topology.export.script import Script
from streams.topology.export.security import write_endpoint, write_security, write_users
from streams.topology.model import MSDB, Instance, default_broker_id, empty_database
from streams.topology.objects import Database

SYSTEM = frozenset({MSDB, "master", "model", "tempdb"})
"""Databases that every instance has."""


def database_script(instance: Instance, database: Database, now: float) -> Script:
    """Return the script for the content of an existing database; ``now`` is in epoch seconds."""
    script = Script(f"{instance.name}/{database.name}")
    _about(script)
    _database(script, instance, explicit_database(database), now)
    return script


def instance_script(instance: Instance, now: float) -> Script:
    """Return the script for an instance's databases, their content, and its endpoint."""
    whole = explicit_instance(instance)
    script = Script(instance.name)
    _about(script)
    _addresses(script, instance)
    for database in whole.databases.values():
        if database.name.casefold() in SYSTEM:
            _system_database(script, whole, database, now)
            continue
        name = database.name
        script.use("master")
        script.add(f"IF DB_ID({literal(name)}) IS NULL CREATE DATABASE {bracket(name)};")
        script.go()
        _database(script, whole, database, now)
    _system_database(script, whole, whole.msdb, now)
    script.use("master")
    script.subject = instance.name
    write_endpoint(script, whole)
    return script


def _about(script: Script) -> None:
    script.comment(f"{script.subject}, as T-SQL. A LIFETIME begins when the script runs.")


def _addresses(script: Script, instance: Instance) -> None:
    """Add comments with an instance's addresses and other settings that T-SQL cannot express."""
    for what, value in (
        ("address", instance.stated_address or ""),
        ("aliases", ", ".join(instance.aliases)),
        ("listeners", ", ".join(instance.listeners)),
        ("cluster", instance.cluster or ""),
        ("partitions", str(instance.partitions) if instance.partitions != 1 else ""),
    ):
        if value:
            script.note(what, value)


def _system_database(script: Script, instance: Instance, database: Database, now: float) -> None:
    """Write the content, if any, of a database that always exists."""
    before = len(script.lines)
    _database(script, instance, database, now)
    if len(script.lines) == before + 2:  # USE and GO
        del script.lines[before:]


def _database(script: Script, instance: Instance, database: Database, now: float) -> None:
    script.subject = f"{instance.name}/{database.name}"
    script.use(database.name)
    _identity(script, instance, database)
    _options(script, database)
    write_users(script, database)
    write_objects(script, database)
    write_routes(script, database, now, empty_database(instance.name, database.name).routes)
    write_priorities(script, database)
    write_security(script, database)
    if database.procedures:
        script.note("procedures", "code is not exported; keep its scripts", lost=True)
    _access(script, database)


def _access(script: Script, database: Database) -> None:
    """Write READ_ONLY and SINGLE_USER last: the other statements need access to the database."""
    stated = {"READ_ONLY": database.read_only, "SINGLE_USER": database.single_user}
    options = [option for option, on in stated.items() if on]
    for option in options:
        script.add(f"ALTER DATABASE {bracket(database.name)} SET {option};")
    if options:
        script.go()


def _identity(script: Script, instance: Instance, database: Database) -> None:
    if database.broker_id != default_broker_id(instance.name, database.name):
        script.note("broker id", f"{database.broker_id}; a server assigns another one")
    if database.mirror is not None:
        mirror = database.mirror
        script.note("mirrored pair", f"{mirror.pair}, as its {mirror.role.value}")


def _options(script: Script, database: Database) -> None:
    alter = f"ALTER DATABASE {bracket(database.name)} SET"
    if not database.enabled:
        script.add(f"{alter} DISABLE_BROKER WITH ROLLBACK IMMEDIATE;")
    if database.honor_priority:
        script.add(f"{alter} HONOR_BROKER_PRIORITY ON;")
    script.go()
