"""The time at which a missing message was first known to be acknowledged.

A dialog that goes on keeps only the time of its last progress, which never stops growing.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from streams.store.message_tables import ACKNOWLEDGED, MISSING
from streams.store.state_tables import DIALOGS


def note_acknowledged(dialect: str) -> sa.Executable:
    """Return the statement that dates the missing messages that are acknowledged by now.

    The time is that of the sender's last progress, which is at or after the acknowledgement. A time
    that is already stored stays.
    """
    sender = (
        (DIALOGS.c.conversation == MISSING.c.conversation)
        & (DIALOGS.c.is_initiator == MISSING.c.from_initiator)
        & (DIALOGS.c.acknowledged > MISSING.c.sequence)
    )
    noted = sa.exists().where(ACKNOWLEDGED.c.key == MISSING.c.key)
    found = (
        sa.select(MISSING.c.key, sa.func.min(DIALOGS.c.progress_at))
        .join(DIALOGS, sender)
        .where(~noted)
        .group_by(MISSING.c.key)
    )
    insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return insert(ACKNOWLEDGED).from_select(["key", "at"], found).on_conflict_do_nothing()
