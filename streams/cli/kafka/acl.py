"""``hopline acl``: the minimal Kafka rights for each role of a topology."""

from __future__ import annotations

import fnmatch
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import Changes, confirm, step, yes_option
from streams.cli.options.parts import clusters_of_parts, part_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.terminal import write
from streams.errors import UsageError
from streams.kafka import Cluster, create_acls, set_passwords
from streams.live.parts import Part, parts_of
from streams.prose import counted, one_line
from streams.settings import Sourced, read_secret
from streams.topology import Topology
from streams.wire import Topics
from streams.wire.acl import Granted, Resource, Role, roles_of

_HEAD = '# Set first: AT="--bootstrap-server HOST:PORT --command-config admin.properties"'


@click.command()
@click.argument("topology", type=TopologyArgument())
@part_option
@click.option(
    "--role",
    "chosen_roles",
    multiple=True,
    metavar="PATTERN",
    help="Only roles with matching names, such as 'forwarder.*'. May be repeated.",
)
@click.option(
    "--principal",
    default="User:{role}",
    show_default=True,
    metavar="TEXT",
    help="Kafka principal of a role: {role} is replaced with its name, {kind} with the part "
    "before the dot. Without a placeholder, all roles that --role selects share this user.",
)
@click.option("--apply", "wanted", is_flag=True, help="Create the ACLs on the cluster.")
@click.option(
    "--passwords",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="With --apply: create SCRAM-SHA-512 logins; FOLDER/USER contains the password.",
)
@yes_option
@timeout_option()
@format_option()
@cluster_options
def acl(
    topology: Topology,
    chosen: str | None,
    chosen_roles: tuple[str, ...],
    principal: str,
    wanted: bool,
    passwords: Path | None,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Print the minimal Kafka ACLs for every role of TOPOLOGY.

    Roles are the forwarder and endpoint worker of each instance, an application of each service,
    the topology's agents, apply, monitor, verify and other readers, and the forwarders of other
    clusters. The text output consists of kafka-acls.sh commands. Without --apply the command does
    not connect to Kafka. --apply creates the ACLs (this needs the Alter permission on the cluster)
    but does not remove any. At a terminal the command asks for confirmation.

    \b
    hopline acl hub --role 'forwarder.*'
    hopline acl hub --apply --bootstrap localhost:9093
    """
    if not chosen_roles and "{role}" not in principal and "{kind}" not in principal:
        raise UsageError(
            f"--principal '{principal}' gives all roles the same user.",
            "Use {role}, or {kind} for one user per kind of role; or select roles with --role.",
        )
    if passwords is not None and not wanted:
        raise UsageError("--passwords needs --apply.", "Add --apply.")
    found = [
        _Found(part, principal, _fitting(part, prefix, chosen_roles))
        for part in parts_of(topology, chosen)
    ]
    if not any(each.roles for each in found):
        raise UsageError(
            f"There is no role {chosen_roles[0]}.", "`hopline acl TOPOLOGY` lists them all."
        )
    if format_ == "json":
        click.echo(json.dumps(_as_json(found), indent=2))
    elif not wanted:
        commands = [line for each in found for line in _lines(each)]
        write("\n".join([_HEAD, *commands, ""]))
    if not wanted:
        return
    known = {} if passwords is None else _passwords(passwords, found)
    parts = clusters_of_parts(topology, chosen, bootstrap, prefix)
    clusters = {part.name: cluster for part, cluster in parts}
    for cluster in clusters.values():
        cluster.wait(timeout, lambda text: click.echo(text, err=True))
    confirm(*(_changes(clusters[each.part.name], each, known) for each in found))
    for each in found:
        cluster = clusters[each.part.name]
        set_passwords(cluster, {user: known[user] for user in each.users if user in known})
        count = create_acls(cluster, [(each.user(r), g) for r in each.roles for g in r.grants])
        if format_ == "text":
            entries = counted(count, "entry", "entries")
            roles = counted(len(each.roles), "role")
            click.echo(f"{entries} for {roles} at {cluster.bootstrap}")


@dataclass(frozen=True, slots=True)
class _Found:
    """The selected roles of one cluster."""

    part: Part
    principal: str
    roles: tuple[Role, ...]

    def user(self, role: Role) -> str:
        """Return the Kafka principal of a role."""
        return self.principal.replace("{role}", role.name).replace("{kind}", role.kind)

    @property
    def users(self) -> set[str]:
        """Return the names of the roles' users."""
        return {self.user(role).removeprefix("User:") for role in self.roles}


def _changes(cluster: Cluster, each: _Found, known: Mapping[str, str]) -> Changes:
    grants = sum(len(role.grants) for role in each.roles)
    acls = f"create the ACLs of {counted(grants, 'grant')}, for roles"
    roles = step(acls, [role.name for role in each.roles])
    logins = step("set the passwords of users", sorted(each.users & known.keys()))
    return Changes(cluster, (roles, logins))


def _fitting(part: Part, prefix: str, patterns: Sequence[str]) -> tuple[Role, ...]:
    topics = Topics(part.stated.prefix or prefix)
    return tuple(
        role
        for role in roles_of(part.topology, topics)
        if not patterns or any(fnmatch.fnmatchcase(role.name, p) for p in patterns)
    )


def _passwords(folder: Path, found: Iterable[_Found]) -> dict[str, str]:
    """Return the passwords of users with a file in the folder; raises UsageError."""
    users = {user for each in found for user in each.users}
    files = {user: Sourced(folder / user, str(folder)) for user in sorted(users)
             if (folder / user).is_file()}  # fmt: skip
    if not files:
        raise UsageError(
            f"{folder} has no password file for any user: {', '.join(sorted(users)[:3])} ...",
            "Name each file after the user, without User:.",
        )
    return {user: str(read_secret(user, file).value) for user, file in files.items()}


def _lines(each: _Found) -> Iterator[str]:
    if each.part.name:
        yield _comment(f"cluster {each.part.name}")
    for role in each.roles:
        yield _comment(f"{role.name}: {role.says}")
        for grant in role.grants:
            yield _command(each.user(role), grant)


def _comment(text: str) -> str:
    """Return a comment on one line; text after a line break in a name would run as a command."""
    return "\n# " + one_line(text)


def _command(user: str, grant: Granted) -> str:
    words = ["--add", "--allow-principal", user]
    for operation in grant.operations:
        words += ["--operation", operation.value]
    words.append(f"--{grant.resource.value}")
    # there is only one cluster, and kafka-acls.sh accepts no name for it
    if grant.resource is not Resource.CLUSTER:
        words.append(grant.name)
    if grant.prefixed:
        words += ["--resource-pattern-type", "prefixed"]
    return f"kafka-acls.sh $AT {shlex.join(words)}"


def _as_json(found: list[_Found]) -> dict[str, object]:
    """Return the result of one cluster, or of several by name."""
    if not found[0].part.name:
        return {"roles": _roles_as_json(found[0])}
    return {"clusters": {each.part.name: {"roles": _roles_as_json(each)} for each in found}}


def _roles_as_json(each: _Found) -> list[dict[str, object]]:
    return [
        {
            "role": role.name,
            "kind": role.kind,
            "principal": each.user(role),
            "why": role.says,
            "grants": [
                {
                    "resource": grant.resource.value,
                    "name": grant.name,
                    "pattern": "prefixed" if grant.prefixed else "literal",
                    "operations": [operation.value for operation in grant.operations],
                    "why": grant.why,
                }
                for grant in role.grants
            ],
        }
        for role in each.roles
    ]
