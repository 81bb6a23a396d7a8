"""`looseleaf tokens …`: the credentials of remote agents, programs and people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.access.principals import CREDENTIAL_RIGHTS, ROLES
from looseleaf.catalog.schemas.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, with_shared_options
from looseleaf.cli.formats import print_document, print_table
from looseleaf.cli.groups import command
from looseleaf.cli.output import say
from looseleaf.errors import Invalid
from looseleaf.operations import tokens as operations
from looseleaf.times import format_minute, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.operations.tokens import TokenInfo

    Function = Callable[..., object]

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
def create(
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
def password(
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
def login(options: SharedOptions, user: str | None) -> None:
    """Create a code to sign in with once.

    The code is for the browser, is valid for an hour, and is shown once.
    """
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
def revoke(options: SharedOptions, identity: str) -> None:
    """End a token, password or session at once."""
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
