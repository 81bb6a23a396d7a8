"""`looseleaf tokens …`: what remote agents, programs and people show to act here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.agents.access import CREDENTIAL_RIGHTS, ROLES
from looseleaf.cli.arguments import Asked, complete_agents, shared
from looseleaf.cli.formats import minute, print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.operations import tokens as operations
from looseleaf.operations.schema import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.tokens import TokenInfo

    Function = Callable[..., object]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}

agent_option = click.option(
    "--agent", metavar="ID|SLUG", help="The agent.", shell_complete=complete_agents
)
user_option = click.option("--user", metavar="ID|LOGIN", help="The user it acts as.")


def described(function: Function) -> Function:
    """Give a command the options that say what a credential is and how far it reaches."""
    for option in (
        click.option("--expires", metavar="TIME", help="When it ends: 90d, 12h, 30m; else never."),
        click.option(
            "--can",
            "capabilities",
            multiple=True,
            type=click.Choice(CREDENTIAL_RIGHTS),
            metavar="CAPABILITY",
            help="No capability but these, of those the user has; once for each.",
        ),
        click.option("--role", type=click.Choice(ROLES), help="No higher role on any agent."),
        click.option("--label", default="", help="What it is for."),
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
@described
@shared("format", "reason")
def create(
    asked: Asked,
    *,
    agent: str | None,
    user: str | None,
    label: str,
    role: str | None,
    capabilities: tuple[str, ...],
    expires: str | None,
) -> None:
    """Make a token for an agent or a user.

    It is shown once. An agent's token reaches that agent only, as operator unless told otherwise.
    """
    made = operations.create_token(
        asked.open(),
        agent=agent,
        user=user,
        label=label,
        role=role,
        capabilities=capabilities or None,
        expires_in=seconds(expires),
    )
    _tell_secret(asked, made, "token")


@command("password", "looseleaf tokens password --user eve --label backup")
@described
@shared("format", "reason")
def password(
    asked: Asked,
    *,
    user: str | None,
    label: str,
    role: str | None,
    capabilities: tuple[str, ...],
    expires: str | None,
) -> None:
    """Make a password for a program.

    The program signs in as the user by HTTP Basic; the password is shown once.
    """
    made = operations.create_application_password(
        asked.open(),
        user=user,
        label=label,
        role=role,
        capabilities=capabilities or None,
        expires_in=seconds(expires),
    )
    _tell_secret(asked, made, "application password")


@command("login", "looseleaf tokens login", "looseleaf tokens login eve")
@click.argument("user", required=False, metavar="[ID|LOGIN]")
@shared("format", "reason")
def login(asked: Asked, user: str | None) -> None:
    """Make a code to sign in with once.

    It works within the hour, in the browser, and is shown once.
    """
    _tell_secret(asked, operations.create_login_link(asked.open(), user), "login code")


@command("list", "looseleaf tokens list", "looseleaf tokens list --agent ada --format json")
@agent_option
@user_option
@click.option("--ended", is_flag=True, help="Those that were revoked or have expired, too.")
@shared("format")
def list_tokens(asked: Asked, *, agent: str | None, user: str | None, ended: bool) -> None:
    """List tokens, application passwords and sessions.

    Of an agent, of a user, or all; never a secret.
    """
    context = asked.open()
    now = context.clock()
    found = [
        one
        for one in operations.list_tokens(context, agent=agent, user=user)
        if ended or not (one.ended or 0 < one.expires <= now)
    ]
    if asked.json:
        print_document({"tokens": plain(found)})
    elif found:
        rows = [
            (
                one.id,
                one.kind.replace("_", " "),
                one.user_id,
                one.agent_id or "-",
                one.role,
                "all" if one.capabilities is None else ", ".join(one.capabilities) or "-",
                _time(one.ended or one.expires),
                _time(one.last_used),
                one.label,
            )
            for one in found
        ]
        headers = ("ID", "KIND", "USER", "AGENT", "ROLE", "CAN", "ENDS", "LAST USED", "LABEL")
        print_table(headers, rows, shrink="LABEL")
    else:
        say("There are none. Make one: looseleaf tokens create --agent SLUG")


@command("revoke", "looseleaf tokens revoke 1f0a9c2b7d3e4f50")
@click.argument("identity", metavar="ID")
@shared("format", "reason")
def revoke(asked: Asked, identity: str) -> None:
    """End a token, password or session at once."""
    gone = operations.revoke_token(asked.open(), identity)
    if asked.json:
        print_document(plain(gone))
    else:
        say(f"Revoked {gone.kind.replace('_', ' ')} {gone.id}.")


def seconds(text: str | None) -> float | None:
    """Read a time such as 90d, 12h or 30m."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit()):
        raise Invalid(f"{text!r} is not a time such as 90d, 12h or 30m.")
    return float(int(number) * _UNITS[unit])


def _time(moment: float) -> str:
    return minute(moment) if moment else "-"


def _tell_secret(asked: Asked, made: TokenInfo, what: str) -> None:
    if asked.json:
        print_document(plain(made))
        return
    ends = f", until {minute(made.expires)}" if made.expires else ""
    say(f"Made {what} {made.id} for user {made.user_id}{ends}. It is shown this once:")
    say(made.token)
