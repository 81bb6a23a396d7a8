"""`looseleaf users | grants | tokens | audit`: who may act here, and who did what."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from looseleaf.access.principals import CAPABILITIES, CREDENTIAL_RIGHTS, ROLES
from looseleaf.catalog.json_values import to_json_value
from looseleaf.cli.arguments import SharedOptions, complete_agents, take_stdin, with_shared_options
from looseleaf.cli.command_line import Group, command
from looseleaf.cli.derived_commands import Derivation, Fields, ResultTable
from looseleaf.cli.formats import format_actor, print_document, print_table
from looseleaf.cli.output import say
from looseleaf.errors import Invalid, Unavailable
from looseleaf.memory.provenance import ACTOR_KINDS
from looseleaf.times import format_microseconds, format_minute, parse_duration

if TYPE_CHECKING:
    from typing import Any

    from looseleaf.access.audit import AuditEntry
    from looseleaf.operations.tokens import TokenInfo

_users = Derivation("users", "looseleaf.operations.users")
_grants = Derivation("grants", "looseleaf.operations.users")
_audit = Derivation("audit", "looseleaf.operations.audit")
_tokens = Derivation("tokens", "looseleaf.operations.tokens")


def _read_password(
    _ctx: click.Context,
    _param: click.Parameter,
    is_wanted: bool,  # noqa: FBT001 - as click calls it
) -> str | None:
    if not is_wanted:
        return None
    take_stdin("password")
    if sys.stdin.isatty():
        password: str = click.prompt(
            "Password", hide_input=True, confirmation_prompt=True, err=True
        )
        return password
    return sys.stdin.readline().rstrip("\r\n")


_ACCOUNT = {
    "capabilities": click.Option(
        ["--can", "capabilities"],
        multiple=True,
        type=click.Choice(CAPABILITIES),
        metavar="CAPABILITY",
        help=f"Once for each: {', '.join(CAPABILITIES)}.",
    ),
    "password": click.Option(
        ["--password-stdin", "password"],
        is_flag=True,
        callback=_read_password,
        help="Read a password to sign in with from standard input.",
    ),
}

list_users = _users.derive(
    "list",
    "list_users",
    "",
    "--format json",
    key="users",
    show=ResultTable("id login name status can=capabilities", shrink="CAN"),
)
show_user = _users.derive(
    "show",
    "show_user",
    "eve",
    show=Fields(
        "id login name email status can=capabilities password created",
        cells={"created": lambda user: format_minute(user.created)},
    ),
)
create_user = _users.derive(
    "create",
    "create_user",
    "eve --can chat",
    'eve --name "Eve" --can manage_agents --can view_logs',
    "eve --password-stdin < password.txt",
    help="""Create a user.

    Without --can, a user may read shared pages, and use the agents that they own or have a role on.
    """,
    parameters=_ACCOUNT,
    show="Created user {login} (id {id}).",
)


def _take_capabilities_away(arguments: dict[str, Any], given: dict[str, Any]) -> None:
    if given["can_nothing"] and "capabilities" in arguments:
        raise click.UsageError("--can and --can-nothing exclude each other.")
    if given["can_nothing"]:
        arguments["capabilities"] = []


update_user = _users.derive(
    "update",
    "update_user",
    "eve --status disabled",
    "eve --can chat --can view_logs",
    "eve --can-nothing",
    help="""Change the fields of a user.

    --can names all capabilities that the user has from now on; any other is taken away.
    """,
    parameters={
        **_ACCOUNT,
        "can_nothing": click.Option(
            ["--can-nothing"], is_flag=True, help="Take every capability away."
        ),
    },
    prepare=_take_capabilities_away,
    show="Updated user {login} (id {id}).",
)
list_grants = _grants.derive(
    "list",
    "list_grants",
    "",
    "--for eve --format json",
    parameters={"user": "--for ID|LOGIN: The roles of this user, on all agents."},
    key="grants",
    show=ResultTable(
        "agent user=user_id login role",
        cells={"login": lambda grant: grant.user or "(not known yet)"},
    ),
)
give_role = _grants.derive(
    "give",
    "grant_role",
    "ada eve operator",
    parameters={"role": click.Argument(["role"], type=click.Choice(ROLES))},
    show="{user} is now {role} of agent {agent}.",
)
take_role = _grants.derive(
    "take", "revoke_role", "ada eve", ask="", show="{user} has no role on agent {agent} any more."
)


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


def _print_secret(token: TokenInfo) -> None:
    kind = {"application": "application password", "login_link": "login code"}.get(
        token.kind, token.kind
    )
    ends = f", until {format_minute(token.expires)}" if token.expires else ""
    say(f"Made {kind} {token.id} for user {token.user_id}{ends}. It is shown this once:")
    say(token.token)


_CREDENTIAL = {
    "role": click.Option(["--role"], type=click.Choice(ROLES), help="No higher role on any agent."),
    "capabilities": click.Option(
        ["--can", "capabilities"],
        multiple=True,
        type=click.Choice(CREDENTIAL_RIGHTS),
        metavar="CAPABILITY",
        help="Only these capabilities of the user; repeat.",
    ),
    "expires_in": click.Option(
        ["--expires", "expires_in"],
        metavar="TIME",
        callback=lambda _ctx, _param, text: parse_seconds(text),
        help="When it ends: 90d, 12h, 30m; else never.",
    ),
}

create_token = _tokens.derive(
    "create",
    "create_token",
    "--agent ada --label laptop",
    "--agent ada --role viewer --expires 90d",
    "--user eve --can chat",
    help="""Create a token for an agent or a user.

    The token is shown once. An agent's token reaches only that agent, with the role operator
    unless --role names another.
    """,
    parameters=_CREDENTIAL,
    show=_print_secret,
)
create_password = _tokens.derive(
    "password",
    "create_application_password",
    "--user eve --label backup",
    parameters=_CREDENTIAL,
    show=_print_secret,
)
create_login = _tokens.derive(
    "login",
    "create_login_link",
    "",
    "eve",
    help="""Create a code to sign in with once.

    The code is for the browser, is valid for an hour, and is shown once.
    """,
    show=_print_secret,
)


@command("list", "looseleaf tokens list", "looseleaf tokens list --agent ada --format json")
@click.option("--agent", metavar="ID|SLUG", help="The agent.", shell_complete=complete_agents)
@click.option("--user", metavar="ID|LOGIN", help="The user that it acts as.")
@click.option("--ended", "include_ended", is_flag=True, help="Include revoked and expired ones.")
@with_shared_options("format")
def list_tokens(
    options: SharedOptions, *, agent: str | None, user: str | None, include_ended: bool
) -> None:
    """List tokens, application passwords and sessions.

    Of an agent, of a user, or all. Secrets are never shown.
    """
    from looseleaf.operations import tokens as audit

    context = options.open()
    now = context.clock()
    tokens = [
        token
        for token in audit.list_tokens(context, agent=agent, user=user)
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


revoke_token = _tokens.derive(
    "revoke",
    "revoke_token",
    "1f0a9c2b7d3e4f50",
    ask="",
    show=lambda token: say(f"Revoked {token.kind.replace('_', ' ')} {token.id}."),
)


def _build_audit(entries: list[AuditEntry]) -> dict[str, object]:
    documents = [
        {
            "number": entry.number,
            "time": format_microseconds(entry.time),
            **to_json_value(entry.event),
            "hash": entry.hash,
        }
        for entry in entries
    ]
    return {"entries": documents}


list_audit = _audit.derive(
    "list",
    "list_audit",
    "",
    "--limit 200 --format json",
    help="""List the entries of the audit, newest first.

    The audit records the acts of people and agents on the network, and every change of accounts.
    Times are UTC.
    """,
    parameters={
        "number": "--before N: Entries of lower numbers.",
        "actor": "--by NAME: Only this actor.",
        "actor_kind": click.Option(
            ["--actor-kind"], type=click.Choice(ACTOR_KINDS), help="Only actors of this kind."
        ),
        "since": "--since TIME",
        "until": "--until TIME",
    },
    document=_build_audit,
    show=ResultTable(
        "number time by through what outcome of",
        cells={
            "time": lambda entry: format_minute(entry.time),
            "by": lambda entry: format_actor(entry.event.actor or "-", entry.event.actor_kind),
            "through": lambda entry: entry.event.surface,
            "what": lambda entry: entry.event.action.partition("/")[2] or entry.event.action,
            "outcome": lambda entry: entry.event.outcome,
            "of": lambda entry: entry.event.target,
        },
        shrink="OF",
    ),
)


@command("verify", "looseleaf audit verify")
@with_shared_options("format")
def verify_audit(options: SharedOptions) -> None:
    """Check that nothing in the audit was changed.

    Each entry holds the hash of the entry before; the check finds a change, a gap or a lost end.
    """
    from looseleaf.operations import audit

    result = audit.verify_audit(options.open())
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
