"""`looseleaf users …` and `looseleaf grants …`: users, and their roles on agents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from looseleaf.access.accounts import USER_STATUSES
from looseleaf.access.principals import CAPABILITIES, ROLES
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.cli.stdin import take_stdin
from looseleaf.operations import users as operations
from looseleaf.times import format_minute

if TYPE_CHECKING:
    from looseleaf.operations.users import GrantInfo, UserInfo

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
def show(options: SharedOptions, user: str) -> None:
    """Show one user."""
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
def create(
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
    password = _read_password() if password_stdin else None
    user_info = operations.create_user(
        options.open(),
        login,
        name=name,
        email=email,
        capabilities=capabilities,
        password=password,
    )
    _print_result(options, user_info, f"Created user {user_info.login} (id {user_info.id}).")


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
def update(
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
    _print_result(options, user_info, f"Updated user {user_info.login} (id {user_info.id}).")


@command("list", "looseleaf grants list", "looseleaf grants list --for eve --format json")
@click.argument("agent", required=False, shell_complete=complete_agents)
@click.option("--for", "user", metavar="ID|LOGIN", help="The roles of this user, on all agents.")
@with_shared_options("format")
def list_grants(options: SharedOptions, agent: str | None, user: str | None) -> None:
    """List who has which role on an agent."""
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
def give(options: SharedOptions, agent: str, user: str, role: str) -> None:
    """Give a user a role on an agent.

    A viewer reads the agent's pages, an operator also writes them, an admin also changes the
    agent's identity.
    """
    grant = operations.grant_role(options.open(), agent, user, role)
    _print_result(options, grant, f"{grant.user} is now {grant.role} of agent {grant.agent}.")


@command("take", "looseleaf grants take ada eve")
@agent_argument
@user_argument
@with_shared_options("format", "reason")
def take(options: SharedOptions, agent: str, user: str) -> None:
    """Remove a user's role on an agent."""
    grant = operations.revoke_role(options.open(), agent, user)
    _print_result(options, grant, f"{grant.user} has no role on agent {grant.agent} any more.")


def _read_password() -> str:
    take_stdin("password")
    if sys.stdin.isatty():
        password: str = click.prompt(
            "Password", hide_input=True, confirmation_prompt=True, err=True
        )
        return password
    return sys.stdin.readline().rstrip("\r\n")


def _print_result(options: SharedOptions, result: UserInfo | GrantInfo, sentence: str) -> None:
    if options.json:
        print_document(to_json_value(result))
    else:
        say(sentence)
