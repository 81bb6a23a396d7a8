"""Rights, and the reasons for blocks of a prompt, in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.access.principals import CAPABILITIES, EVERYTHING, ROLES, WRITE_USER_PAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from looseleaf.operations.tokens import TokenInfo
    from looseleaf.operations.users import GrantInfo, UserInfo
    from looseleaf.prompt.reports import Candidate


# Rights as sentences: what roles, capabilities and tokens allow.


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


# The reasons why blocks stand in a prompt or are left out, and their names, for people.


INJECTED = "injected"
# A phrase for each rule of `explain-prompt`, which follows "Left out: ".
REASONS = {
    "call_deny": "denied for this request alone",
    "policy_deny": "denied by this agent's policy",
    "policy_allow_only": "this agent's policy allows other pages only",
    "call_allow_only": "this request asks for other pages only",
    "mode": "it belongs to another mode",
    "filtered": "a plugin filtered its text away",
    "missing": "the page is not written yet",
    "empty": "the page is empty",
    "starter": "nobody has filled in its template yet",
    "not_text": "the page is not text",
    "unreadable": "the page could not be read",
    "off": "it is switched off for this agent",
    "repeated": "an earlier block gives it already",
    "over_budget": "it does not fit into the budget",
    "nothing": "there is nothing to say in this request",
    "failed": "the plugin that makes it failed",
}
# The same for tools; every other rule has the phrase above.
_TOOL_REASONS = {
    "given": "",
    "mode": "the system's own tasks get no tools",
    "daily_memory_disabled": "agents may not write the journal here",
    "policy_allow_only": "this agent's policy allows other tools only",
    "call_allow_only": "this request asks for other tools only",
}
# Rules that leave out a block because it does not apply, not because someone decided so.
ORDINARY = frozenset({"mode", "nothing", "repeated"})
# Blocks that come from no page, by their directive.
NAMES = {
    "core-text": "Instructions of Looseleaf",
    "daily-memory": "The last days of the journal",
    "pipeline-memory-files": "Pages of the pipeline",
    "flow-memory-files": "Pages of the flow",
    "pipeline-system-prompt": "The pipeline's task",
    "pipeline-context-files": "Reference material of the pipeline",
    "tool-definitions": "Descriptions of tools",
    "site-context": "Who, where and which day",
}
_SOURCES = {
    "core-text": "how the agent is to use its memory",
    "core-memory-files": "a page that is given in this mode",
    "daily-memory": "recent days, since the journal is on for this agent",
    "site-context": "facts about the workspace, and the date",
}


def name_candidate(candidate: Candidate) -> str:
    """Name a candidate for people: a page by its file, any other by its directive."""
    return candidate.name if candidate.layer else NAMES.get(candidate.directive, candidate.name)


def describe_rule(rule: str) -> str:
    """Return why a candidate is left out; the name of a plugin's rule becomes words."""
    return REASONS.get(rule, rule.replace("_", " "))


def describe_tool_rule(rule: str) -> str:
    """Return why a conversation does not get a tool, or "" if it does."""
    return _TOOL_REASONS.get(rule, describe_rule(rule))


def describe_source(directive: str, *, is_page: bool) -> str:
    """Return why a block stands in the prompt."""
    if directive in _SOURCES:
        return _SOURCES[directive]
    return f"{'a page' if is_page else 'a text'} that {directive.replace('-', ' ')} gives"
