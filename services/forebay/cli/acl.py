"""forebay acl: the rights on the broker that a service needs."""

from __future__ import annotations

import shlex
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.names import rename_topics, service_argument, topics_option
from forebay.kafka.acl_admin import AclAdmin
from forebay.kafka.acls import Right, Role, as_commands, rights

_ANSWER_SECONDS = 30.0
_ANY_BROKER = "localhost:9092"


def _principal(_context: click.Context, parameter: click.Parameter, text: str) -> str:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise click.BadParameter(
            f"{text!r}: specify TYPE:NAME, such as User:sessions or 'User:CN=sessions'", None, parameter
        )
    return text


@click.command(
    epilog="""\b
Examples:
  forebay acl user-sessions                                        the rights its job needs, as a table
  forebay acl user-sessions --principal User:sessions --print      as kafka-acls commands
  forebay acl user-sessions --principal User:sessions --apply      grant them; needs an administrator's settings
  forebay acl user-sessions --role produce --principal User:shop --apply

Roles: run (the job), restore (`forebay standby`), produce (write its inputs),
consume (`forebay tail` of its results), operate (topics, reset, store upgrade), query (`forebay queries`),
console (`forebay console`), replay (`forebay errors replay`). See docs/security.md."""
)
@service_argument
@click.option(
    "--principal", callback=_principal, default="User:PRINCIPAL", help="Principal that gets the rights: TYPE:NAME."
)
@click.option("--application", default="", help="Application id of the job. Default: SERVICE.")
@click.option(
    "--role",
    "roles",
    type=click.Choice([role.value for role in Role]),
    multiple=True,
    default=[Role.RUN.value],
    help="The role of the principal. Repeatable.",
)
@topics_option
@click.option("--print", "commands", is_flag=True, help="Print kafka-acls commands instead of a table.")
@click.option("--apply", is_flag=True, help="Grant the rights now. Existing rights are kept.")
@connection_options
def acl(
    service: Service,
    principal: str,
    application: str,
    roles: tuple[str, ...],
    topics: dict[str, str],
    commands: bool,
    apply: bool,
    **connection: Any,
) -> None:
    """Show the rights on the broker (ACLs) that a role of SERVICE needs, or grant them. No right is ever revoked."""
    own = application or service.name
    (service,) = rename_topics((service,), topics)
    needed = list(dict.fromkeys(right for role in roles for right in rights(service, own, Role(role))))
    if apply:
        if principal.endswith(":PRINCIPAL"):
            raise click.UsageError("--apply needs --principal, the user that gets the rights")
        AclAdmin(connect(**connection), _ANSWER_SECONDS).grant(needed, principal)
        click.echo(f"granted to {principal}:")
    if commands:
        servers = shlex.quote(connection["bootstrap_servers"] or _ANY_BROKER)
        reach = f"--bootstrap-server {servers} --command-config admin.properties"
        click.echo("\n".join(as_commands(needed, principal, reach)))
    else:
        click.echo("\n".join(_table(needed)))


def _table(needed: list[Right]) -> list[str]:
    rows = [(r.operation.value, r.resource.words, f"{r.name}{'*' if r.prefixed else ''}", r.why) for r in needed]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3])) for row in rows]
