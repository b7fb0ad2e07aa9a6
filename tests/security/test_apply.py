"""`hopline acl --apply`: what one user has by several roles, and the password to log in with."""

from __future__ import annotations

import uuid
from pathlib import Path

from click.testing import CliRunner

from streams.cli import main
from streams.kafka import Cluster, create, specs_of
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from tests.security.secured import Secured, password_of

ROLES = ("--role", "application.*", "--role", "observer", "--role", "verify", "--role", "replay")


def test_one_user_may_have_several_roles(secured: Secured, tmp_path: Path) -> None:
    """As in deploy/containers: whoever sends the load also reads everything."""
    user, prefix = f"load{uuid.uuid4().hex[:8]}", f"t{uuid.uuid4().hex[:12]}."
    topics = Topics(prefix)
    create(Cluster(secured.plain, topics), specs_of(load(topologies_dir() / "local", 0), topics))
    (tmp_path / user).write_text(password_of(user))
    words = ("acl", "local", "--apply", "--passwords", str(tmp_path), *ROLES)
    where = ("--principal", f"User:{user}", "--bootstrap", secured.plain, "--prefix", prefix)
    for _ in range(2):  # again with every `docker compose up`
        done = CliRunner().invoke(main, (*words, *where))
        assert done.exit_code == 0, done.output
        assert " entries for " in done.stdout
    found = secured.as_user(user, prefix).admin().list_topics(timeout=30).topics
    assert topics.event in found and any(name.startswith(f"{prefix}cmd.") for name in found)
