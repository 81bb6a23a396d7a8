"""Calls of tools by models: whose memory is meant, names of arguments, how much is given."""

from __future__ import annotations

from looseleaf.errors import InvalidArgument
from looseleaf.operations.door import invoke
from looseleaf.operations.schema import meant_by, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.operations.context import Context
    from looseleaf.operations.tools import OperationTool

MOST_CHARACTERS = 100_000  # of one text that a tool gives; a context window is no archive
# What models call an argument before they have read the schema.
_GUESSES = {
    "heading": "section",
    "new_content": "content",
    "page": "file",
    "page_size": "limit",
    "path": "file",
    "q": "query",
    "query": "words",
    "question": "words",
    "replacement": "content",
    "text": "content",
}


def call_tool(context: Context, tool: OperationTool, given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Run a tool for a model as the one who acts; whose memory is meant is never its choice.

    Unless the one who acts is bound to no agent: then it may name one that it may reach.
    """
    bound = context.principal.agent_id
    taken = set(schema(tool.operation)["properties"])
    chosen = {_told(name, taken): one for name, one in given.items() if one is not None}
    if bound:
        _refuse_other_scope(context, chosen)
        if "agent" in taken:
            chosen["agent"] = bound
    for name in {*tool.fixed, *tool.hidden} & chosen.keys():
        raise InvalidArgument(name, f"{tool.name} does not take it")
    for name in chosen:
        if meant_by(name, taken) not in taken:
            offered = tool.parameters(scoped=bool(bound))["properties"]
            raise InvalidArgument(name, f"{tool.name} takes {', '.join(offered) or 'none'}")
    arguments = {**tool.defaults, **chosen, **tool.fixed}
    return bounded(invoke(context, tool.operation.name, arguments))


def bounded(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Cut a text that would fill a model's context, and say so."""
    if not isinstance(result, dict) or len(str(result.get("content", ""))) <= MOST_CHARACTERS:
        return result
    text = result["content"]
    cut = {"content": text[:MOST_CHARACTERS], "truncated": True, "content_length": len(text)}
    return {**result, **cut, "hint": "Read one section of it, or search in it."}


def _told(name: str, taken: set[str]) -> str:
    guess = _GUESSES.get(name)
    return guess if guess in taken and name not in taken else name


def _refuse_other_scope(context: Context, chosen: dict[str, Any]) -> None:
    """Take out an agent or user that is the one meant anyway; refuse any other."""
    bound, user = context.principal.agent_id, context.principal.user_id
    own_agent = (bound, str(bound), context.agents.resolve(bound).slug)
    for name in ("agent", "agent_id", "agent_slug", "user", "user_id"):
        if name not in chosen:
            continue
        own = own_agent if name.startswith("agent") else (user, str(user))
        if chosen.pop(name) not in (*own, 0, ""):
            raise InvalidArgument(name, "this server was started for one agent and one user")
