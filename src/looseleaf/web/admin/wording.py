"""Rights, and the reasons for blocks of a prompt, in words for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from looseleaf.access.principals import CAPABILITIES, EVERYTHING, ROLES, WRITE_USER_PAGES
from looseleaf.errors import Conflicted, InvalidArgument, LooseleafError
from looseleaf.errors.pages import DailyMemoryOff, LossRefused, NotEditable

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


# Errors, as people in a browser read them: no commands, arguments, headers and hashes.


_MEANING = 10  # characters of the part before a colon, if it says something by itself
_HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,}\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
# What only programs and terminals have; a sentence that names it is no way out in a browser.
_ELSEWHERE = re.compile(
    r"\blooseleaf [a-z]|(?<!\w)--[a-z]|\bLOOSELEAF_|\bIf-(None-)?Match\b|\bETag\b"
    r"|\b(?:allow|if|dry|as|dest)_[a-z_]+\b|\bpip install\b|\bRead it again\b|\bexpected version\b"
)
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)")
# Where people find what was not there, by the code of the error.
_WAYS_OUT = {
    "job": ("Show all jobs", "/admin/jobs"),
    "artifact": ("Show all jobs", "/admin/jobs"),
    "schedule": ("Show all schedules", "/admin/schedules"),
    "user": ("Show all people", "/admin/people"),
    "backup": ("Show all backups", "/admin/backups"),
    "bundle": ("Show all bundles", "/admin/bundles"),
    "upgrade": ("Show all bundles", "/admin/bundles"),
    "task": ("Show the upkeep", "/admin/upkeep"),
}


def describe_for_browser(error: Exception) -> str:
    """Return what an error says to people on a page, where a button or link is the way out."""
    if isinstance(error, Conflicted):
        return (
            f"{error.filename} was changed elsewhere since you opened this page. Nothing was "
            "saved; load the page again to see it as it is now."
        )
    if isinstance(error, LossRefused):
        return f"{error.filename} was not changed: {error.why}."
    if isinstance(error, NotEditable):
        return f"{error.filename} is made from other pages and from the settings. Change those."
    if isinstance(error, InvalidArgument):
        return f"{str(error.name).capitalize().replace('_', ' ')} cannot be used: {error.why}."
    if isinstance(error, DailyMemoryOff):
        return (
            "Agents may not write journals here. An administrator can switch that on in Settings."
        )
    return remove_commands(str(error))


def remove_commands(message: str) -> str:
    """Return a message without its sentences for terminals and programs, and with short hashes."""
    sentences = []
    for sentence in _SENTENCE.split(_HASH.sub(r"\1", message)):
        plain = sentence
        if _ELSEWHERE.search(plain):
            plain = _IN_BRACKETS.sub("", plain)
        if _ELSEWHERE.search(plain):
            head, colon, tail = plain.partition(": ")
            plain = (
                f"{head}." if colon and _ELSEWHERE.search(tail) and len(head) > _MEANING else plain
            )
        if not _ELSEWHERE.search(plain):
            sentences.append(plain)
    return " ".join(sentences) or "This cannot be done here."


def find_way_out(error: Exception) -> tuple[str, str]:
    """Return the link of an error's page: its words and its address."""
    noun = error.code.partition("_")[0] if isinstance(error, LooseleafError) else ""
    return _WAYS_OUT.get(noun, ("Show the agents", "/admin"))
