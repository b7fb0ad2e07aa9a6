"""Causes at the sender: its database, its broker, and the dialog itself."""

from __future__ import annotations

from streams.analysis.diagnose.case import Case, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.meanings import meaning
from streams.topology.snapshot import DialogState


def by_status(
    code: str, stage: Stage, title: str, numbers: tuple[int, ...], rule: str, remedy: str
) -> Cause[Case]:
    """Return a cause that transmission_status alone identifies."""
    return Cause(code, stage, title, numbers, rule, remedy, lambda c: status_of(c, numbers))


def status_of(case: Case, numbers: tuple[int, ...]) -> Evidence | None:
    """Return the status as evidence, if its number is one of these."""
    if case.status.number not in numbers:
        return None
    number = case.status.number
    return (f"transmission_status reports {number}: {meaning(number)}", f'"{case.status.text}"')


# --- The database and the dialog -----------------------------------------------------------------


def _delivery_off(case: Case) -> Evidence | None:
    if not case.database.enabled:
        return (placed(f"is_broker_enabled is 0 for {case.at}", case.database.source),)
    return status_of(case, (9791,)) if "databases" in case.live.missing else None


def _closed(case: Case) -> Evidence | None:
    why = case.live.closed.get(case.database.name)
    if why is not None:
        return (placed(f"{case.at} is {why}", case.database.source),)
    return status_of(case, (9771, 28075))


def _ended(case: Case) -> Evidence | None:
    return _in_state(case, DialogState.DISCONNECTED_INBOUND) or status_of(case, (9779,))


def _erred(case: Case) -> Evidence | None:
    return _in_state(case, DialogState.ERROR) or status_of(case, (9784,))


def _in_state(case: Case, state: DialogState) -> Evidence | None:
    endpoint = case.endpoint
    if endpoint is None or endpoint.state is not state:
        return None
    return (placed(f"the dialog's state at {case.at} is {state.value}", endpoint.source),)


def _expired(case: Case) -> Evidence | None:
    endpoint = case.endpoint
    taken = case.live.taken_at
    if endpoint is None or endpoint.expires is None or taken is None or endpoint.expires > taken:
        return None
    return (
        placed("the dialog's lifetime had expired at the time of the snapshot", endpoint.source),
    )


CAUSES: tuple[Cause[Case], ...] = (
    Cause(
        "delivery-off", Stage.SENDER, "Message delivery is off in the sender's database",
        (9791,), "reference 1.5, 4.6",
        "ALTER DATABASE ... SET ENABLE_BROKER; it needs exclusive access to the database, which "
        "WITH ROLLBACK IMMEDIATE gives it. After a restore or an attach, delivery is off on "
        "purpose: first check that no other copy with the same broker id is active.",
        _delivery_off,
    ),
    Cause(
        "database-closed", Stage.SENDER, "The sender's database cannot take part in dialogs",
        (9771, 28075), "reference 1.5",
        "Bring it online, READ_WRITE and MULTI_USER. In a mirrored pair or an availability group, "
        "only the principal sends.",
        _closed,
    ),
    by_status(
        "manager-not-ready", Stage.SENDER, "The broker of the instance is starting or stopping",
        (9780, 9781, 9794, 9797), "reference 4.6",
        "Wait a minute and take another snapshot. If the status is unchanged, read the error log.",
    ),
    by_status(
        "engine-trouble", Stage.SENDER, "The transmitter of the sender's instance failed",
        (9642, 9736, 9756, 9782, 28069, 28072, 28073, 28090), "reference 4.6",
        "Search the server's error log around the enqueue time for memory shortages, locks on the "
        "transmission queue, or an unavailable database. The transmitter resumes on its own.",
    ),
    Cause(
        "peer-ended", Stage.DIALOG, "The other side has ended the dialog",
        (9779,), "reference 4.7, 4.8",
        "The message will never be sent. The application should RECEIVE the EndDialog message and "
        "END CONVERSATION, which removes the rows. The side that sends last should end the dialog "
        "first.",
        _ended,
    ),
    Cause(
        "dialog-in-error", Stage.DIALOG, "The dialog has an error",
        (9784,), "reference 4.7, 4.8",
        "The message will never be sent. RECEIVE the Error message: its Code is the reason (a "
        "negative number is the broker's own). Then END CONVERSATION.",
        _erred,
    ),
    Cause(
        "lifetime-over", Stage.DIALOG, "The dialog's lifetime has expired",
        (), "reference 4.8 (8489)",
        "END CONVERSATION on both sides; begin dialogs with a longer LIFETIME, or without one.",
        _expired,
    ),
)  # fmt: skip
