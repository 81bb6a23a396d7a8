"""Calls of tools by models: whose memory is meant, and the names of arguments."""

from __future__ import annotations

from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.schemas.arguments import list_argument_names, resolve_synonym
from looseleaf.catalog.stated_origin import ORIGIN, takes_origin, with_origin
from looseleaf.catalog.tools.outputs import cut_long_text
from looseleaf.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.tools.operation_tools import OperationTool

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


def call_tool(context: Context, tool: OperationTool, json_arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Run a tool for a model as the principal; the model does not choose whose memory it is.

    A principal that is bound to no agent may name an agent that it may reach.
    """
    agent_id = context.principal.agent_id
    parameters = set(list_argument_names(tool.operation))
    model_arguments = {
        _resolve_guess(name, parameters): argument
        for name, argument in json_arguments.items()
        if argument is not None
    }
    if agent_id:
        _refuse_other_scope(context, model_arguments)
        if "agent" in parameters:
            model_arguments["agent"] = agent_id
    if takes_origin(tool.operation):
        context = with_origin(context, model_arguments.pop(ORIGIN, None))
    for name in {*tool.fixed_arguments, *tool.hidden_arguments} & model_arguments.keys():
        raise InvalidArgument(name, f"{tool.name} does not take it")
    for name in model_arguments:
        if resolve_synonym(name, parameters) not in parameters:
            properties = tool.parameters(is_scoped=bool(agent_id))["properties"]
            raise InvalidArgument(name, f"{tool.name} takes {', '.join(properties) or 'none'}")
    arguments = {**tool.defaults, **model_arguments, **tool.fixed_arguments}
    return cut_long_text(invoke(context, tool.operation, arguments))


def _resolve_guess(name: str, parameters: set[str]) -> str:
    guess = _GUESSES.get(name)
    return guess if guess in parameters and name not in parameters else name


def _refuse_other_scope(context: Context, model_arguments: dict[str, Any]) -> None:
    """Remove an argument that names the principal's own agent or user; refuse any other."""
    agent_id, user_id = context.principal.agent_id, context.principal.user_id
    own_agent = (agent_id, str(agent_id), context.parts.agents.resolve(agent_id).slug)
    for name in ("agent", "agent_id", "agent_slug", "user", "user_id"):
        if name not in model_arguments:
            continue
        own_names = own_agent if name.startswith("agent") else (user_id, str(user_id))
        if model_arguments.pop(name) not in (*own_names, 0, ""):
            raise InvalidArgument(name, "this server was started for one agent and one user")
