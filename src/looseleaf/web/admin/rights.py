"""Rights as sentences: what roles, capabilities and tokens allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.access.principals import CAPABILITIES, EVERYTHING, ROLES, WRITE_USER_PAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.operations.users import GrantInfo, UserInfo

ROLE_WORDS = {
    "viewer": "reads its pages, journal, history and prompts",
    "operator": "reads and writes its pages and journal",
    "admin": "reads and writes everything of it, configures it, and gives roles and tokens",
}
CAPABILITY_WORDS = {
    "manage_options": "everything: users, settings, shared pages, and all below",
    "manage_agents": "create agents, and be admin of every agent",
    "manage_flows": "manage workflows",
    "manage_settings": "change settings",
    "chat": "talk to agents",
    "view_logs": "read the audit and the request log",
}
KIND_WORDS = {
    "token": "token",
    "application": "application password",
    "session": "sign-in",
    "login_link": "login link",
}
MOST_NAMED = 5  # agents in one sentence


def describe_user(user: UserInfo, grants: Iterable[GrantInfo]) -> str:
    """Describe in a sentence what a user may do."""
    user_name = user.name or user.login
    if user.status != "active":
        return f"{user_name} is disabled and may do nothing."
    if EVERYTHING in user.capabilities:
        return f"{user_name} may do everything in this workspace."
    parts = [CAPABILITY_WORDS[name] for name in CAPABILITIES if name in user.capabilities]
    by_role = {role: [grant.agent for grant in grants if grant.role == role] for role in ROLES}
    parts += [
        f"be {role} of {_join_names(agents)}"
        for role, agents in reversed(by_role.items())
        if agents
    ]
    if not parts:
        return f"{user_name} may read shared pages, and keep pages of their own."
    return f"{user_name} may {_join(parts)}."


def describe_token(token: TokenInfo) -> str:
    """Describe in a sentence what a credential lets its holder do, on an agent or as its user."""
    limits = {
        "viewer": "reads",
        "operator": "reads and writes",
        "admin": "reads, writes, configures",
    }
    verbs = limits.get(token.role, token.role)
    if token.capabilities is None:
        return f"{verbs}, with all rights of its user"
    names = [name for name in token.capabilities if name != WRITE_USER_PAGES]
    rights = [CAPABILITY_WORDS[name] for name in names if name in CAPABILITY_WORDS]
    sentence = f"{verbs}; may {_join(rights)}" if rights else verbs
    if WRITE_USER_PAGES in token.capabilities:
        sentence += "; adds to the pages about its user"
    return sentence


def _join_names(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return _join(names)
    return _join([*names[:MOST_NAMED], f"{len(names) - MOST_NAMED:,} more"])


def _join(parts: list[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
