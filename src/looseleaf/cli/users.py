"""`looseleaf users …` and `looseleaf grants …`: who may act here, and on which agents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from looseleaf.agents.access import CAPABILITIES, ROLES
from looseleaf.agents.accounts import USER_STATUSES
from looseleaf.cli.arguments import Asked, complete_agents, shared, take_stdin
from looseleaf.cli.formats import minute, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.operations import users as operations
from looseleaf.operations.schema import plain

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
    "--password-stdin", is_flag=True, help="Take a password to sign in with from standard input."
)
user_argument = click.argument("user", metavar="ID|LOGIN")
agent_argument = click.argument("agent", metavar="AGENT", shell_complete=complete_agents)


@command("list", "looseleaf users list", "looseleaf users list --format json")
@shared("format")
def list_users(asked: Asked) -> None:
    """List every user."""
    found = operations.list_users(asked.open())
    if asked.json:
        print_document({"users": plain(found)})
        return
    rows = [
        (one.id, one.login, one.name, one.status, ", ".join(one.capabilities) or "-")
        for one in found
    ]
    print_table(("ID", "LOGIN", "NAME", "STATUS", "CAN"), rows, shrink="CAN")


@command("show", "looseleaf users show eve")
@user_argument
@shared("format")
def show(asked: Asked, user: str) -> None:
    """Show one user."""
    found = operations.show_user(asked.open(), user)
    if asked.json:
        print_document(plain(found))
        return
    for name, known in (
        ("id", found.id),
        ("login", found.login),
        ("name", found.name),
        ("email", found.email or "-"),
        ("status", found.status),
        ("can", ", ".join(found.capabilities) or "-"),
        ("password", "yes" if found.password else "no"),
        ("created", minute(found.created)),
    ):
        say(f"{name:<8}  {known}")


@command(
    "create",
    "looseleaf users create eve --can chat",
    'looseleaf users create eve --name "Eve" --can manage_agents --can view_logs',
    "looseleaf users create eve --password-stdin < password.txt",
)
@click.argument("login")
@click.option("--name", default="", help="What people call them.")
@click.option("--email", default="", help="Their address.")
@can_option
@password_option
@shared("format", "reason")
def create(
    asked: Asked,
    *,
    login: str,
    name: str,
    email: str,
    capabilities: tuple[str, ...],
    password_stdin: bool,
) -> None:
    """Create a user.

    Without --can they may read shared pages, and what they own or are granted.
    """
    password = _password() if password_stdin else None
    made = operations.create_user(
        asked.open(),
        login,
        name=name,
        email=email,
        capabilities=capabilities,
        password=password,
    )
    _tell(asked, made, f"Created user {made.login} (id {made.id}).")


@command(
    "update",
    "looseleaf users update eve --status disabled",
    "looseleaf users update eve --can chat --can view_logs",
    "looseleaf users update eve --can-nothing",
)
@user_argument
@click.option("--name", help="What people call them.")
@click.option("--email", help="Their address.")
@click.option("--status", type=click.Choice(USER_STATUSES), help="Disabled ends all access.")
@can_option
@click.option("--can-nothing", is_flag=True, help="Take every capability away.")
@password_option
@shared("format", "reason")
def update(
    asked: Asked,
    *,
    user: str,
    name: str | None,
    email: str | None,
    status: str | None,
    capabilities: tuple[str, ...],
    can_nothing: bool,
    password_stdin: bool,
) -> None:
    """Change what is known of a user.

    --can names all that they may do from now on; what is not named is taken away.
    """
    if can_nothing and capabilities:
        raise click.UsageError("--can and --can-nothing say different things.")
    made = operations.update_user(
        asked.open(),
        user,
        name=name,
        email=email,
        status=status,  # type: ignore[arg-type] # click has checked it
        capabilities=capabilities if capabilities or can_nothing else None,
        password=_password() if password_stdin else None,
    )
    _tell(asked, made, f"Updated user {made.login} (id {made.id}).")


@command("list", "looseleaf grants list", "looseleaf grants list ada --format json")
@click.argument("agent", required=False, shell_complete=complete_agents)
@shared("format")
def list_grants(asked: Asked, agent: str | None) -> None:
    """List who has which role on an agent."""
    found = operations.list_grants(asked.open(), agent)
    if asked.json:
        print_document({"grants": plain(found)})
        return
    rows = [(one.agent, one.user_id, one.user or "(not known yet)", one.role) for one in found]
    print_table(("AGENT", "USER", "LOGIN", "ROLE"), rows)


@command("give", "looseleaf grants give ada eve operator")
@agent_argument
@user_argument
@click.argument("role", type=click.Choice(ROLES))
@shared("format", "reason")
def give(asked: Asked, agent: str, user: str, role: str) -> None:
    """Give a user a role on an agent.

    A viewer reads its pages, an operator writes them too, an admin changes who it is.
    """
    made = operations.grant_role(asked.open(), agent, user, role)
    _tell(asked, made, f"{made.user} is now {made.role} of agent {made.agent}.")


@command("take", "looseleaf grants take ada eve")
@agent_argument
@user_argument
@shared("format", "reason")
def take(asked: Asked, agent: str, user: str) -> None:
    """Take a user's role on an agent away."""
    gone = operations.revoke_role(asked.open(), agent, user)
    _tell(asked, gone, f"{gone.user} has no role on agent {gone.agent} any more.")


def _password() -> str:
    take_stdin("password")
    if sys.stdin.isatty():
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    return sys.stdin.readline().rstrip("\r\n")


def _tell(asked: Asked, made: UserInfo | GrantInfo, sentence: str) -> None:
    if asked.json:
        print_document(plain(made))
    else:
        say(sentence)
