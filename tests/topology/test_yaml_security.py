"""topology.yaml about what only `check` looks at: security, and the dialogs of procedures."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError
from streams.topology import (
    BeginDialog,
    Certificate,
    Encryption,
    Grant,
    PrivateKey,
    Procedure,
    Securable,
    flatten,
    load,
    unflatten,
)

from .build import NOW, write

TEXT = r"""
    instances:
      ServerA:
        endpoint: {encryption: supported, algorithms: [AES, RC4], authentication: CERTIFICATE Own}
        grants: [{endpoint: Broker, to: 'CORP\B'}, {permission: control, endpoint: Broker, to: x}]
        databases:
          DatabaseA:
            master_key: on
            services: {S: {owner: AUser}}
            certificates:
              Own: {subject: A, starts: 1970-01-02, expires: 1970-01-03T00:00:00Z, user: AUser,
                    private_key: master_key, active: off}
              Bare:
            grants: [{service: S, to: public}, {service: S, to: Guest, denied: on}]
            procedures:
              Place:
                begins:
                  - {service: S, to: T, broker: B, contract: C, related: yes, encryption: off}
                  - {service: S, unresolved: [TO SERVICE]}
                  - {service: S, to: T, encryption: on}
                calls: [Log]
              dbo.Handle: {receives: [Q], ends: 2}
"""


def test_everything(tmp_path: Path) -> None:
    """What is omitted has the engine's default; permissions are SEND and CONNECT."""
    a = load(write(tmp_path, TEXT), NOW).instances["ServerA"]
    endpoint, database = a.endpoint, a.databases["DatabaseA"]
    assert endpoint.encryption is Encryption.SUPPORTED
    assert endpoint.algorithms == ("AES", "RC4")
    assert endpoint.authentication == ("CERTIFICATE", "Own")
    assert a.grants == (
        Grant("CONNECT", Securable.ENDPOINT, "Broker", r"CORP\B"),
        Grant("CONTROL", Securable.ENDPOINT, "Broker", "x"),
    )
    day = 24 * 60 * 60.0
    assert database.certificates == {
        "Own": Certificate("Own", day, 2 * day, "A", "AUser", PrivateKey.MASTER_KEY, active=False),
        "Bare": Certificate("Bare"),
    }
    assert database.grants == (
        Grant("SEND", Securable.SERVICE, "S", "public"),
        Grant("SEND", Securable.SERVICE, "S", "Guest", denied=True),
    )
    assert database.master_key and database.services["S"].owner == "AUser"
    place = database.procedures["Place"]
    assert place.begins == (
        BeginDialog("S", "T", "B", "C", related=True, encryption=False),
        BeginDialog("S", None, unresolved=("TO SERVICE",)),
        BeginDialog("S", "T", asks_encryption=True),
    )
    assert (place.calls, place.ends) == (("Log",), ())
    handle = database.procedures["dbo.Handle"]
    assert handle == Procedure("dbo.Handle", (), (handle.source,) * 2, ("Q",))
    assert handle.source.line and all(begin.source.line for begin in place.begins)


def test_the_catalog_does_without(tmp_path: Path) -> None:
    """Workers need none of it."""
    a = unflatten(flatten(load(write(tmp_path, TEXT), NOW))).instances["ServerA"]
    database = a.databases["DatabaseA"]
    assert database.master_key is None and database.services["S"].owner is None
    assert not (a.grants or database.grants or database.certificates or database.procedures)


ERRORS = [
    ("endpoint: {encryption: sometimes}", "required, supported, disabled"),
    ("endpoint: {algorithms: [[AES]]}", "algorithms"),
    ("grants: [{to: public}]", "a grant without endpoint"),
    ("grants: [{service: S, to: public}]", "'service' is not a setting of a grant"),
    ("databases: {D: {grants: [{service: S}]}}", "a grant without to"),
    ("databases: {D: {grants: [{service: S, to: public, denied: 2}]}}", "on or off"),
    ("databases: {D: {certificates: {C: {expires: soon}}}}", "such as 2031-01-31"),
    ("databases: {D: {procedures: {P: {begin: []}}}}", "Did you mean 'begins'?"),
    ("databases: {D: {procedures: {P: {ends: yes}}}}", "a whole number"),
    ("databases: {D: {procedures: {P: {begins: [{contract: [C]}]}}}}", "contract"),
    ("databases: {D: {procedures: {P: {}, p: {}}}}", "only in case"),
]


@pytest.mark.parametrize(("yaml", "message"), ERRORS)
def test_errors_have_their_place(tmp_path: Path, yaml: str, message: str) -> None:
    (tmp_path / "topology.yaml").write_text(f"instances:\n  A: {{{yaml}}}", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(tmp_path, NOW)
    error = caught.value
    assert message in f"{error.message} {error.remedy}"
    assert error.line == 2 and error.column > 6
