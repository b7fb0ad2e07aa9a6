"""The kinds of rows, and the statements that write them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from streams.store.message_tables import MESSAGE_KINDS
from streams.store.state_tables import STATE_KINDS
from streams.store.tables import KINDS as FIGURES
from streams.store.tables import RowKind

KINDS: dict[type, RowKind] = {**FIGURES, **MESSAGE_KINDS, **STATE_KINDS}


def upsert(kind: RowKind, dialect: str) -> sa.Executable:
    """Return the statement that writes rows of a kind, unless the stored row's figure is larger."""
    if kind.forgets:
        return _forget(kind)
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    statement = insert(kind.table)
    new = {c.name: statement.excluded[c.name] for c in kind.table.columns if c.name != "key"}
    for name, unless in kind.kept.items():
        new[name] = _kept(kind.table, statement.excluded, name, unless)
    return statement.on_conflict_do_update(
        index_elements=["key"],
        set_=new,
        where=statement.excluded[kind.grows] >= kind.table.c[kind.grows],
    )


def _kept(table: sa.Table, new: Any, name: str, unless: tuple[str, ...]) -> Any:
    held = sa.func.coalesce(table.c[name], new[name])
    if not unless:
        return held
    same = sa.and_(*(table.c[other] == new[other] for other in unless))
    return sa.case((same, held), else_=new[name])


def _forget(kind: RowKind) -> sa.Executable:
    """Return the statement that marks rows as removed."""
    table = kind.table
    gone = sa.bindparam("b_gone_at", type_=table.c.gone_at.type)
    place = sa.bindparam("b_position", type_=table.c.position.type)
    return (
        table.update()
        .where(table.c.key == sa.bindparam("b_key"), table.c.position <= place)
        .values(
            state="CD",
            gone_at=sa.func.coalesce(table.c.gone_at, gone),
            ended_at=sa.func.coalesce(table.c.ended_at, gone),
            depth=0,
            parked=0,
            waiting_since=None,
            status=0,
            seen_at=gone,
            position=place,
        )
    )
