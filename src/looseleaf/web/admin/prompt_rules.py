"""The reasons why blocks stand in a prompt or are left out, and their names, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from looseleaf.prompt.reports import Candidate

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
