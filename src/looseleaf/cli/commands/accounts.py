"""`looseleaf users | grants | tokens | audit`: who may act here, and who did what."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from looseleaf.access.accounts import USER_STATUSES
from looseleaf.access.principals import CAPABILITIES, CREDENTIAL_RIGHTS, ROLES
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, take_stdin, with_shared_options
from looseleaf.cli.formats import format_actor, print_document, print_table
from looseleaf.cli.groups import Group, command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid, Unavailable
from looseleaf.memory.provenance import ACTOR_KINDS
from looseleaf.times import format_microseconds, format_minute, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.operations.users import GrantInfo, UserInfo

    Function = Callable[..., object]


can_option = click.option(
    "--can",
    "capabilities",
    multiple=True,
    type=click.Choice(CAPABILITIES),
    metavar="CAPABILITY",
    help=f"Once for each: {', '.join(CAPABILITIES)}.",
)
password_option = click.option(
    "--password-stdin", is_flag=True, help="Read a password to sign in with from standard input."
)
user_argument = click.argument("user", metavar="ID|LOGIN")
agent_argument = click.argument("agent", metavar="AGENT", shell_complete=complete_agents)


@command("list", "looseleaf users list", "looseleaf users list --format json")
@with_shared_options("format")
def list_users(options: SharedOptions) -> None:
    """List every user."""
    from looseleaf.operations import users as operations

    users = operations.list_users(options.open())
    if options.json:
        print_document({"users": to_json_value(users)})
        return
    rows = [
        (user.id, user.login, user.name, user.status, ", ".join(user.capabilities) or "-")
        for user in users
    ]
    print_table(("ID", "LOGIN", "NAME", "STATUS", "CAN"), rows, shrink="CAN")


@command("show", "looseleaf users show eve")
@user_argument
@with_shared_options("format")
def show_user(options: SharedOptions, user: str) -> None:
    """Show one user."""
    from looseleaf.operations import users as operations

    user_info = operations.show_user(options.open(), user)
    if options.json:
        print_document(to_json_value(user_info))
        return
    for name, field in (
        ("id", user_info.id),
        ("login", user_info.login),
        ("name", user_info.name),
        ("email", user_info.email or "-"),
        ("status", user_info.status),
        ("can", ", ".join(user_info.capabilities) or "-"),
        ("password", "yes" if user_info.password else "no"),
        ("created", format_minute(user_info.created)),
    ):
        say(f"{name:<8}  {field}")


@command(
    "create",
    "looseleaf users create eve --can chat",
    'looseleaf users create eve --name "Eve" --can manage_agents --can view_logs',
    "looseleaf users create eve --password-stdin < password.txt",
)
@click.argument("login")
@click.option("--name", default="", help="The name for people.")
@click.option("--email", default="", help="Their address.")
@can_option
@password_option
@with_shared_options("format", "reason")
def create_user(
    options: SharedOptions,
    *,
    login: str,
    name: str,
    email: str,
    capabilities: tuple[str, ...],
    password_stdin: bool,
) -> None:
    """Create a user.

    Without --can, a user may read shared pages, and use the agents that they own or have a role on.
    """
    from looseleaf.operations import users as operations

    password = _read_password() if password_stdin else None
    user_info = operations.create_user(
        options.open(),
        login,
        name=name,
        email=email,
        capabilities=capabilities,
        password=password,
    )
    _print_account(options, user_info, f"Created user {user_info.login} (id {user_info.id}).")


@command(
    "update",
    "looseleaf users update eve --status disabled",
    "looseleaf users update eve --can chat --can view_logs",
    "looseleaf users update eve --can-nothing",
)
@user_argument
@click.option("--name", help="The name for people.")
@click.option("--email", help="Their address.")
@click.option("--status", type=click.Choice(USER_STATUSES), help="A disabled user has no access.")
@can_option
@click.option("--can-nothing", is_flag=True, help="Take every capability away.")
@password_option
@with_shared_options("format", "reason")
def update_user(
    options: SharedOptions,
    *,
    user: str,
    name: str | None,
    email: str | None,
    status: str | None,
    capabilities: tuple[str, ...],
    can_nothing: bool,
    password_stdin: bool,
) -> None:
    """Change the fields of a user.

    --can names all capabilities that the user has from now on; any other is taken away.
    """
    from looseleaf.operations import users as operations

    if can_nothing and capabilities:
        raise click.UsageError("--can and --can-nothing exclude each other.")
    user_info = operations.update_user(
        options.open(),
        user,
        name=name,
        email=email,
        status=status,  # type: ignore[arg-type] # click has checked it
        capabilities=capabilities if capabilities or can_nothing else None,
        password=_read_password() if password_stdin else None,
    )
    _print_account(options, user_info, f"Updated user {user_info.login} (id {user_info.id}).")


@command("list", "looseleaf grants list", "looseleaf grants list --for eve --format json")
@click.argument("agent", required=False, shell_complete=complete_agents)
@click.option("--for", "user", metavar="ID|LOGIN", help="The roles of this user, on all agents.")
@with_shared_options("format")
def list_grants(options: SharedOptions, agent: str | None, user: str | None) -> None:
    """List who has which role on an agent."""
    from looseleaf.operations import users as operations

    grants = operations.list_grants(options.open(), agent, user=user)
    if options.json:
        print_document({"grants": to_json_value(grants)})
        return
    rows = [
        (grant.agent, grant.user_id, grant.user or "(not known yet)", grant.role)
        for grant in grants
    ]
    print_table(("AGENT", "USER", "LOGIN", "ROLE"), rows)


@command("give", "looseleaf grants give ada eve operator")
@agent_argument
@user_argument
@click.argument("role", type=click.Choice(ROLES))
@with_shared_options("format", "reason")
def give_role(options: SharedOptions, agent: str, user: str, role: str) -> None:
    """Grant a user a role on an agent.

    A viewer reads the agent's pages, an operator also writes them, an admin also changes the
    agent's identity.
    """
    from looseleaf.operations import users as operations

    grant = operations.grant_role(options.open(), agent, user, role)
    _print_account(options, grant, f"{grant.user} is now {grant.role} of agent {grant.agent}.")


@command("take", "looseleaf grants take ada eve")
@agent_argument
@user_argument
@with_shared_options("format", "reason")
def take_role(options: SharedOptions, agent: str, user: str) -> None:
    """Remove a user's role on an agent."""
    from looseleaf.operations import users as operations

    grant = operations.revoke_role(options.open(), agent, user)
    _print_account(options, grant, f"{grant.user} has no role on agent {grant.agent} any more.")


def _read_password() -> str:
    take_stdin("password")
    if sys.stdin.isatty():
        password: str = click.prompt(
            "Password", hide_input=True, confirmation_prompt=True, err=True
        )
        return password
    return sys.stdin.readline().rstrip("\r\n")


def _print_account(options: SharedOptions, result: UserInfo | GrantInfo, sentence: str) -> None:
    if options.json:
        print_document(to_json_value(result))
    else:
        say(sentence)


agent_option = click.option(
    "--agent", metavar="ID|SLUG", help="The agent.", shell_complete=complete_agents
)
user_option = click.option("--user", metavar="ID|LOGIN", help="The user that it acts as.")


def with_credential_options(function: Function) -> Function:
    """Add the options that define a credential and its rights."""
    for option in (
        click.option("--expires", metavar="TIME", help="When it ends: 90d, 12h, 30m; else never."),
        click.option(
            "--can",
            "capabilities",
            multiple=True,
            type=click.Choice(CREDENTIAL_RIGHTS),
            metavar="CAPABILITY",
            help="Only these capabilities of the user; repeat.",
        ),
        click.option("--role", type=click.Choice(ROLES), help="No higher role on any agent."),
        click.option("--label", default="", help="The purpose, for people."),
        user_option,
    ):
        function = option(function)
    return function


@command(
    "create",
    "looseleaf tokens create --agent ada --label laptop",
    "looseleaf tokens create --agent ada --role viewer --expires 90d",
    "looseleaf tokens create --user eve --can chat",
)
@agent_option
@with_credential_options
@with_shared_options("format", "reason")
def create_token(
    options: SharedOptions,
    *,
    agent: str | None,
    user: str | None,
    label: str,
    role: str | None,
    capabilities: tuple[str, ...],
    expires: str | None,
) -> None:
    """Create a token for an agent or a user.

    The token is shown once. An agent's token reaches only that agent, with the role operator
    unless --role names another.
    """
    from looseleaf.operations import tokens as operations

    token = operations.create_token(
        options.open(),
        agent=agent,
        user=user,
        label=label,
        role=role,
        capabilities=capabilities or None,
        expires_in=parse_seconds(expires),
    )
    _print_secret(options, token, "token")


@command("password", "looseleaf tokens password --user eve --label backup")
@with_credential_options
@with_shared_options("format", "reason")
def create_password(
    options: SharedOptions,
    *,
    user: str | None,
    label: str,
    role: str | None,
    capabilities: tuple[str, ...],
    expires: str | None,
) -> None:
    """Create a password for a program.

    The program signs in as the user by HTTP Basic; the password is shown once.
    """
    from looseleaf.operations import tokens as operations

    token = operations.create_application_password(
        options.open(),
        user=user,
        label=label,
        role=role,
        capabilities=capabilities or None,
        expires_in=parse_seconds(expires),
    )
    _print_secret(options, token, "application password")


@command("login", "looseleaf tokens login", "looseleaf tokens login eve")
@click.argument("user", required=False, metavar="[ID|LOGIN]")
@with_shared_options("format", "reason")
def create_login(options: SharedOptions, user: str | None) -> None:
    """Create a code to sign in with once.

    The code is for the browser, is valid for an hour, and is shown once.
    """
    from looseleaf.operations import tokens as operations

    _print_secret(options, operations.create_login_link(options.open(), user), "login code")


@command("list", "looseleaf tokens list", "looseleaf tokens list --agent ada --format json")
@agent_option
@user_option
@click.option("--ended", "include_ended", is_flag=True, help="Include revoked and expired ones.")
@with_shared_options("format")
def list_tokens(
    options: SharedOptions, *, agent: str | None, user: str | None, include_ended: bool
) -> None:
    """List tokens, application passwords and sessions.

    Of an agent, of a user, or all. Secrets are never shown.
    """
    from looseleaf.operations import tokens as operations

    context = options.open()
    now = context.clock()
    tokens = [
        token
        for token in operations.list_tokens(context, agent=agent, user=user)
        if include_ended or not (token.ended or 0 < token.expires <= now)
    ]
    if options.json:
        print_document({"tokens": to_json_value(tokens)})
    elif tokens:
        rows = [
            (
                token.id,
                token.kind.replace("_", " "),
                token.user_id,
                token.agent_id or "-",
                token.role,
                "all" if token.capabilities is None else ", ".join(token.capabilities) or "-",
                _format_time(token.ended or token.expires),
                _format_time(token.last_used),
                token.label,
            )
            for token in tokens
        ]
        headers = ("ID", "KIND", "USER", "AGENT", "ROLE", "CAN", "ENDS", "LAST USED", "LABEL")
        print_table(headers, rows, shrink="LABEL")
    else:
        say("There are none. Make one: looseleaf tokens create --agent SLUG")


@command("revoke", "looseleaf tokens revoke 1f0a9c2b7d3e4f50")
@click.argument("identity", metavar="ID")
@with_shared_options("format", "reason")
def revoke_token(options: SharedOptions, identity: str) -> None:
    """Revoke a token, password or session at once."""
    from looseleaf.operations import tokens as operations

    token = operations.revoke_token(options.open(), identity)
    if options.json:
        print_document(to_json_value(token))
    else:
        say(f"Revoked {token.kind.replace('_', ' ')} {token.id}.")


def parse_seconds(text: str | None) -> float | None:
    """Parse a duration such as 90d, 12h or 30m."""
    if text is None:
        return None
    duration = parse_duration(text)
    if not duration:
        raise Invalid(f"{text!r} is not a time such as 90d, 12h or 30m.")
    return float(duration)


def _format_time(timestamp: float) -> str:
    return format_minute(timestamp) if timestamp else "-"


def _print_secret(options: SharedOptions, token: TokenInfo, kind: str) -> None:
    if options.json:
        print_document(to_json_value(token))
        return
    ends = f", until {format_minute(token.expires)}" if token.expires else ""
    say(f"Made {kind} {token.id} for user {token.user_id}{ends}. It is shown this once:")
    say(token.token)


@command("list", "looseleaf audit list", "looseleaf audit list --limit 200 --format json")
@click.option("--limit", type=int, default=50, metavar="N", help="At most so many entries; 50.")
@click.option("--before", type=int, default=0, metavar="N", help="Entries of lower numbers.")
@click.option("--actor-kind", type=click.Choice(ACTOR_KINDS), help="Only actors of this kind.")
@click.option("--by", "actor", default="", metavar="NAME", help="Only this actor.")
@click.option("--action", default="", metavar="TEXT", help="Only actions with this in the name.")
@click.option("--since", default="", metavar="TIME", help="From this day or time on.")
@click.option("--until", default="", metavar="TIME", help="Up to this time, or the day's end.")
@with_shared_options("format")
def list_audit(options: SharedOptions, limit: int, before: int, **only: str | None) -> None:
    """List the entries of the audit, newest first.

    The audit records the acts of people and agents on the network, and every change of accounts.
    Times are UTC.
    """
    from looseleaf.operations import audit as operations

    entries = operations.list_audit(
        options.open(),
        limit=limit,
        number=before,
        **{name: text or "" for name, text in only.items()},  # type: ignore[arg-type] # click knows
    )
    if options.json:
        documents = [
            {
                "number": entry.number,
                "time": format_microseconds(entry.time),
                **to_json_value(entry.event),
                "hash": entry.hash,
            }
            for entry in entries
        ]
        print_document({"entries": documents})
        return
    rows = [
        (
            entry.number,
            format_minute(entry.time),
            format_actor(entry.event.actor or "-", entry.event.actor_kind),
            entry.event.surface,
            entry.event.action.partition("/")[2] or entry.event.action,
            entry.event.outcome,
            entry.event.target,
        )
        for entry in entries
    ]
    headers = ("NUMBER", "TIME", "BY", "THROUGH", "WHAT", "OUTCOME", "OF")
    print_table(headers, rows, shrink="OF")


@command("verify", "looseleaf audit verify")
@with_shared_options("format")
def verify_audit(options: SharedOptions) -> None:
    """Check that nothing in the audit was changed.

    Each entry holds the hash of the entry before; the check finds a change, a gap or a lost end.
    """
    from looseleaf.operations import audit as operations

    result = operations.verify_audit(options.open())
    if result.fault:
        raise Unavailable("The audit", f"{result.fault} (checked {result.entries})")
    if options.json:
        print_document(to_json_value(result))
    else:
        first, last = result.removed + 1, result.removed + result.entries
        say(f"The audit is whole, from entry {first} to entry {last}.")
        if result.removed:
            say(f"Retention has removed entries 1 to {result.removed}, as the audit records.")


users_group = Group(
    "users",
    "The people who may act here, and what they may do.",
    *(list_users, show_user, create_user, update_user),
)
grants_group = Group("grants", "The roles of users on agents.", list_grants, give_role, take_role)
tokens_group = Group(
    "tokens",
    "The credentials of agents, programs and people.",
    *(create_token, create_password, create_login, list_tokens, revoke_token),
)
audit_group = Group(
    "audit",
    "The record of who did what, and a check that it is unchanged.",
    *(list_audit, verify_audit),
)
