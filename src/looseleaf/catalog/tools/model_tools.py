"""The tools of a model that talks for an agent: `agent_memory`, `agent_daily_memory` and others.

Two functions are enough to run a conversation: `list_model_tools` lists the tools of a request,
`run_tool` runs one call and gives an envelope, whatever happens.
"""

from __future__ import annotations

import json
from functools import cache

from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.resolution import find_operation
from looseleaf.catalog.stated_origin import ORIGIN, takes_origin, with_origin
from looseleaf.catalog.tools.access import (
    DENIED,
    choose_chat_tools,
    choose_tool,
    denies_operation,
    is_in_allow_list,
)
from looseleaf.catalog.tools.calls import call_tool
from looseleaf.catalog.tools.memory_tools import MODEL_TOOLS, ModelTool
from looseleaf.catalog.tools.model_rights import (
    choose_settings,
    confine_to_agent,
    list_policy_capabilities,
)
from looseleaf.catalog.tools.operation_tools import list_operation_tools, pick_tool
from looseleaf.catalog.tools.outputs import cut_long_text, wrap_result
from looseleaf.errors import InvalidArgument, LooseleafError
from looseleaf.errors.operations import ToolDenied
from looseleaf.memory.page_text import MAIN
from looseleaf.prompt.request import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.tools.access import ToolChoice
    from looseleaf.catalog.tools.operation_tools import OperationTool
    from looseleaf.prompt.request import Request

_IGNORED = ("agent", "agent_id", "agent_slug", "user", "user_id")  # never the model's choice


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
    unknown_names = set(model_arguments) - {"action", *tool.properties, *_IGNORED}
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
    tool_arguments = {
        key: argument for key, argument in model_arguments.items() if key not in _IGNORED
    }
    return wrap_result(tool.operation, call_tool(context, tool, tool_arguments))


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
