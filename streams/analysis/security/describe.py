"""Describe the security of a dialog in one line."""

from __future__ import annotations

from streams.analysis.security.values import DialogSecurity, Mode

_TEXTS = {
    Mode.NONE: "not encrypted, so public needs SEND",
    Mode.ANONYMOUS: "anonymous, by {binding}, so public needs SEND",
    Mode.FULL: "full, by {binding} and the certificate of the service's owner",
    Mode.UNAVAILABLE: "ENCRYPTION = ON, but no remote service binding",
}


def describe_security(judged: DialogSecurity) -> str | None:
    """Return the type of security; ``None`` if the topology does not show it."""
    binding = judged.binding
    named = (
        "" if binding is None else f"remote service binding {binding.name} (user {binding.user})"
    )
    if judged.mode is Mode.LOCAL and judged.dialog.encryption is not None:
        return f"none needed inside {judged.dialog.begins.instance.name}"
    text = _TEXTS.get(judged.mode)
    return None if text is None else text.format(binding=named)
