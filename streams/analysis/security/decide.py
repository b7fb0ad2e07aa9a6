"""Decide the security of a dialog, and whether it lets the dialog's messages through.

The rules are those of "Determining the Dialog Security Type" (:func:`_mode_of`), "Service Broker
Dialog Security" and "CREATE REMOTE SERVICE BINDING" in Microsoft's documentation; see reference 8.2
for the same checks of ``ssbdiagnose``. An obstacle is only reported if the topology shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streams.analysis.security.certificates import (
    bound_certificate,
    master_keys,
    owners_certificate,
)
from streams.analysis.security.permissions import public_is_denied, public_may_send, user_may_send
from streams.analysis.security.values import (
    Dialog,
    DialogSecurity,
    Mode,
    Obstacle,
    Rule,
    SecurityError,
)
from streams.routing import CONFIGURATION_SERVICE
from streams.topology import Binding


def decide_security(dialog: Dialog, now: float) -> DialogSecurity:
    """Return the security of a dialog that begins at ``now``."""
    bindings = dialog.begins.database.bindings
    binding = next((b for b in bindings if b.service == dialog.to), None)
    mode = _mode_of(dialog, binding)
    found = (rule(dialog, binding, now) for rule in _RULES[mode])
    return DialogSecurity(dialog, mode, binding, tuple(one for each in found for one in each))


def _mode_of(dialog: Dialog, binding: Binding | None) -> Mode:
    """Return the type of security; a binding is used regardless of ENCRYPTION."""
    if dialog.local:
        return Mode.LOCAL
    if binding is not None:
        return Mode.ANONYMOUS if binding.anonymous else Mode.FULL
    if dialog.encryption is None:
        return Mode.UNKNOWN
    if not dialog.encryption:
        return Mode.NONE
    # A broker configuration service is asked for the missing binding.
    routes = dialog.begins.database.routes
    asked = any(route.service == CONFIGURATION_SERVICE for route in routes)
    return Mode.UNKNOWN if asked else Mode.UNAVAILABLE


def _no_binding(dialog: Dialog, binding: Binding | None, now: float) -> Iterator[Obstacle]:
    yield Obstacle(
        SecurityError.NO_BINDING, dialog.begins, dialog.source,
        f"{dialog.service} begins dialogs with {dialog.to} WITH ENCRYPTION = ON, which is the "
        "default, and no remote service binding exists for this service of another instance",
        "CREATE REMOTE SERVICE BINDING for the service, or BEGIN DIALOG ... WITH ENCRYPTION = OFF.",
    )  # fmt: skip


_RULES: Mapping[Mode, tuple[Rule, ...]] = {
    Mode.LOCAL: (master_keys,),
    Mode.NONE: (public_may_send,),
    Mode.ANONYMOUS: (bound_certificate, master_keys, public_may_send),
    Mode.FULL: (bound_certificate, owners_certificate, master_keys, user_may_send),
    Mode.UNAVAILABLE: (_no_binding,),
    Mode.UNKNOWN: (public_is_denied,),
}
"""What each type of security needs."""
