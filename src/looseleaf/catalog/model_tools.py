"""The tools of a model that talks for an agent: `agent_memory`, `agent_daily_memory` and others.

Two functions are enough to run a conversation: `list_model_tools` lists the tools of a request,
`run_tool` runs one call and gives an envelope, whatever happens.
"""

from __future__ import annotations

import json
from functools import cache

from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation_tools import (
    cut_long_text,
    list_operation_tools,
    pick_tool,
    shorten_versions,
    wrap_result,
)
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.schemas import list_argument_names, resolve_synonym
from looseleaf.catalog.signature import ORIGIN, takes_origin, with_origin
from looseleaf.catalog.tool_access import (
    DENIED,
    MODEL_TOOLS,
    ModelTool,
    choose_all_tools,
    choose_chat_tools,
    choose_settings,
    choose_tool,
    confine_to_agent,
    denies_operation,
    is_in_allow_list,
    list_policy_capabilities,
)
from looseleaf.errors import Invalid, InvalidArgument, LooseleafError
from looseleaf.errors.operations import ToolDenied
from looseleaf.memory.pages import MAIN
from looseleaf.prompt.request import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation_tools import OperationTool
    from looseleaf.catalog.tool_access import ToolChoice
    from looseleaf.prompt.request import Request


# Calls of tools by models: whose memory is meant, and the names of arguments.


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
    for name in {*tool.implied_arguments, *tool.hidden_arguments} & model_arguments.keys():
        raise InvalidArgument(name, f"{tool.name} does not take it")
    for name in model_arguments:
        if resolve_synonym(name, parameters) not in parameters:
            properties = tool.parameters(is_scoped=bool(agent_id))["properties"]
            raise InvalidArgument(name, f"{tool.name} takes {', '.join(properties) or 'none'}")
    arguments = {**tool.defaults, **model_arguments, **tool.implied_arguments}
    result = cut_long_text(invoke(context, tool.operation, arguments))
    return result if tool.operation.read_only else shorten_versions(result)


def _resolve_guess(name: str, parameters: set[str]) -> str:
    guess = _GUESSES.get(name)
    return guess if guess in parameters and name not in parameters else name


def _refuse_other_scope(context: Context, model_arguments: dict[str, Any]) -> None:
    """Remove an argument that names the principal's own agent or user; refuse any other."""
    agent_id, user_id = context.principal.agent_id, context.principal.user_id
    for name in _SCOPE:
        if name not in model_arguments:
            continue
        slug = context.parts.agents.resolve(agent_id).slug
        own_names = (agent_id, str(agent_id), slug)
        if name.startswith("user"):
            own_names = (user_id, str(user_id), f"user {user_id}")
        if model_arguments.pop(name) not in (*own_names, None, 0, ""):
            raise InvalidArgument(
                name, f"you act for {own_names[-1]} alone; call the tool without {name}"
            )


_SCOPE = ("agent", "agent_id", "agent_slug", "user", "user_id")


def list_model_tools(context: Context, request: Request) -> tuple[Tool, ...]:
    """List the tools of a request, as providers take them."""
    choices = choose_request_tools(context, request)
    return tuple(declare_tool(choice, is_scoped=True) for choice in choices if choice.is_given)


def choose_request_tools(context: Context, request: Request) -> tuple[ToolChoice, ...]:
    """Decide about the tools of a request, by the settings under which its agent acts."""
    is_open = choose_settings(context).daily_memory_enabled
    return choose_chat_tools(context, request, journal=is_open)


def declare_tool(choice: ToolChoice, *, is_scoped: bool) -> Tool:
    """Return a tool as providers take it; `is_scoped` leaves no choice of agent and user."""
    tool = choice.tool
    if isinstance(tool, ModelTool):
        schema = _encode_parameters(tool.name, choice.actions)
        return Tool(tool.name, tool.description, schema, tool.categories)
    schema = json.dumps(tool.parameters(is_scoped=is_scoped))
    return Tool(tool.name, tool.summary, schema, tool.categories)


@cache
def _encode_parameters(name: str, actions: tuple[str, ...]) -> str:
    """Encode the JSON schema of a tool with some of its actions, once for all turns."""
    return json.dumps(MODEL_TOOLS[name].parameters_with(actions))


def run_tool(
    context: Context, request: Request, name: str, json_arguments: Mapping[str, Any] | str
) -> dict[str, Any]:
    """Run one call of a model; an error comes back in the envelope, for the model to read."""
    try:
        arguments = _parse_arguments(json_arguments)
        tool = MODEL_TOOLS.get(name) or pick_tool(list_operation_tools(context), name)
        choice = choose_tool(context, request.agent, tool, request)
        if not choice.is_given:
            raise ToolDenied(name, choice.rule)
        # The operation itself refuses what the person may not do, and the audit keeps the refusal.
        if isinstance(tool, ModelTool):
            data = _act(confine_to_agent(context, request), request, tool, arguments)
        else:
            is_in_policy = is_in_allow_list(request.agent, tool)
            capabilities = list_policy_capabilities(tool.operation) if is_in_policy else frozenset()
            data = _call(confine_to_agent(context, request, capabilities), tool, arguments)
    except LooseleafError as error:
        return build_failure(name, error)
    envelope: dict[str, Any] = {"success": True, "data": data, "tool_name": name}
    if isinstance(tool, ModelTool) and arguments.get("action") == "read":
        envelope["runtime"] = {"completion_signal": "progress"}
    return envelope


def build_failure(name: str, error: LooseleafError) -> dict[str, Any]:
    """Return an error as a tool's result."""
    error_data = {
        key: field for key, field in vars(error).items() if isinstance(field, str | int | tuple)
    }
    report = {"error": str(error), "error_code": error.code, "error_data": error_data}
    return {"success": False, **report, "tool_name": name}


def _act(
    context: Context, request: Request, tool: ModelTool, model_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    model_arguments = dict(model_arguments)
    _refuse_other_scope(context, model_arguments)
    unknown_names = set(model_arguments) - {"action", *tool.properties}
    for name in sorted(unknown_names):
        raise InvalidArgument(name, f"{tool.name} takes action, {', '.join(tool.properties)}")
    action_name = model_arguments.get("action")
    action = tool.actions.get(action_name) if isinstance(action_name, str) else None
    if action is None:
        raise InvalidArgument(
            "action", f"it must be one of {', '.join(tool.actions)}, not {action_name!r}"
        )
    operation = find_operation(context, action.operation)
    if denies_operation(request.agent, operation):
        raise ToolDenied(f"{tool.name} ({action_name})", DENIED)
    if takes_origin(operation):
        context = with_origin(context, model_arguments.get(ORIGIN))
    for name in action.needs:
        if not model_arguments.get(name):
            raise InvalidArgument(name, f"{action_name} needs it")
    action_arguments = {
        name: model_arguments[name]
        for name in action.takes
        if model_arguments.get(name) not in (None, "")
    }
    arguments = {**action.defaults, **action_arguments, **action.fixed_arguments}
    result = cut_long_text(invoke(context, operation, arguments))
    if not action.result:
        return dict(result)
    place = {"file": action_arguments.get("file", MAIN)} if "file" in action.takes else {}
    return {action.result: result, **place}


def _call(
    context: Context, tool: OperationTool, model_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    return wrap_result(tool.operation, call_tool(context, tool, model_arguments))


def _parse_arguments(json_arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    if not isinstance(json_arguments, str):
        return dict(json_arguments)
    try:
        document = json.loads(json_arguments or "{}")
    except ValueError as error:
        raise InvalidArgument("arguments", f"they are not JSON ({error})") from None
    if not isinstance(document, dict):
        raise InvalidArgument("arguments", "they must be a JSON object")
    return document


# Every tool as providers declare tools: OpenAI, Anthropic, Gemini, or plain JSON schema.


FORMATS = ("json", "openai", "anthropic", "gemini")


def list_all_tools(context: Context, agent: AgentRecord | None = None) -> tuple[Tool, ...]:
    """List all tools; for an agent, those that its policy allows, with agent and user fixed."""
    choices = choose_all_tools(context, agent)
    return tuple(
        declare_tool(choice, is_scoped=agent is not None) for choice in choices if choice.is_given
    )


def declare_tools(tools: Iterable[Tool], format: str) -> list[dict[str, Any]]:  # noqa: A002
    """Return tools as a provider takes them."""
    if format not in FORMATS:
        raise Invalid(f"There is no format {format!r}. Available formats: {', '.join(FORMATS)}.")
    return [_format_tool(tool, format) for tool in tools]


def _format_tool(tool: Tool, format: str) -> dict[str, Any]:  # noqa: A002
    header = {"name": tool.name, "description": tool.description}
    if format == "anthropic":
        return {**header, "input_schema": tool.schema}
    if format == "openai":
        return {"type": "function", "function": {**header, "parameters": tool.schema}}
    if format == "gemini":
        return {**header, "parametersJsonSchema": tool.schema}
    return {**header, "parameters": tool.schema}
