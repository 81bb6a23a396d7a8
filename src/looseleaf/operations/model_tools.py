"""The tools of a model that talks for an agent: `agent_memory`, `agent_daily_memory` and others.

Two functions are enough for whoever runs a conversation: `tools_for` lists the tools of a request,
`run_tool` runs one call and gives an envelope, whatever happens.
"""

from __future__ import annotations

import json

from looseleaf.agents.access import confined, through
from looseleaf.errors import InvalidArgument, LooseleafError, ToolDenied
from looseleaf.memory.policy import tool_policy
from looseleaf.operations.door import find, invoke
from looseleaf.operations.memory import MAIN
from looseleaf.operations.memory_tools import MODEL_TOOLS
from looseleaf.operations.tool_access import decide_agent_tool, denies_operation
from looseleaf.operations.tool_calls import bounded, call_tool
from looseleaf.operations.tools import operation_tools, pick_tool
from looseleaf.prompt.request import Tool
from looseleaf.values import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.policy import Decision
    from looseleaf.operations.context import Context
    from looseleaf.operations.memory_tools import ModelTool
    from looseleaf.operations.tools import OperationTool
    from looseleaf.prompt.request import Request

SYSTEM = "system"  # the mode of our own tasks
UNATTENDED = ("pipeline", SYSTEM)  # modes in which nobody reads what an agent does
_IGNORED = ("agent", "agent_id", "agent_slug", "user", "user_id")  # never the model's choice


def tools_for(context: Context, request: Request) -> tuple[Tool, ...]:
    """List the tools of a request: memory and journal, and operations that an allow list names.

    The system's own tasks get none: they are told what to do with memory.
    """
    if request.mode == SYSTEM:
        return ()
    offered = [
        declared
        for one in MODEL_TOOLS.values()
        if _decision(request, one.name, one.categories).allowed
        and (declared := declare_model_tool(context, one, request.agent)) is not None
    ]
    # Without an allow list none is named, and a turn need not look through all of them.
    allows = tool_policy(request.agent.config.get("tool_policy")).mode == "allow"
    for tool in operation_tools(context) if allows or request.tool_allow_only else ():
        if _is_named(request, tool) and _decision(request, tool.name, tool.categories).allowed:
            parameters = json.dumps(tool.parameters(scoped=True))
            offered.append(Tool(tool.name, tool.summary, parameters, tool.categories))
    return tuple(offered)


def declare_model_tool(context: Context, tool: ModelTool, agent: AgentRecord | None) -> Tool | None:
    """Declare a tool with the actions that an agent's policy leaves; None where none is left."""
    actions = [
        name
        for name, action in tool.actions.items()
        if agent is None or not denies_operation(agent, find(context, action.operation))
    ]
    if not actions:
        return None
    parameters = json.dumps(tool.parameters_with(actions))
    return Tool(tool.name, tool.description, parameters, tool.categories)


def run_tool(
    context: Context, request: Request, name: str, given: Mapping[str, Any] | str
) -> dict[str, Any]:
    """Run one call of a model; what goes wrong comes back in the envelope, for it to read."""
    try:
        arguments = _arguments(given)
        acting = for_agent(context, request)
        tool = MODEL_TOOLS.get(name)
        categories = (
            tool.categories if tool else pick_tool(operation_tools(context), name).categories
        )
        decision = _decision(request, name, categories)
        if not decision.allowed or request.mode == SYSTEM:
            raise ToolDenied(name, "mode" if decision.allowed else decision.rule)
        if tool is not None:
            data = _act(acting, request, tool, arguments)
        else:
            data = _call(acting, request, name, arguments)
    except LooseleafError as error:
        return failure(name, error)
    envelope: dict[str, Any] = {"success": True, "data": data, "tool_name": name}
    if tool is not None and arguments.get("action") == "read":
        envelope["runtime"] = {"completion_signal": "progress"}
    return envelope


def for_agent(context: Context, request: Request) -> Context:
    """Let the agent of a request act: on itself alone, with no more than an operator's rights."""
    local = context.principal.is_local
    name = context.actor or request.agent.slug
    acts = through(context.principal, request.agent.id, user=request.user, name=name)
    present = not context.principal.is_agent and request.mode not in UNATTENDED
    principal = changed(confined(acts), is_attended=present)
    settings = context.settings
    if local and context.accounts is not None:
        settings = changed(settings, **context.accounts().settings.all())
    return changed(context, principal=principal, settings=settings)


def failure(name: str, error: LooseleafError) -> dict[str, Any]:
    """Give an error as a tool's result."""
    known = {key: one for key, one in vars(error).items() if isinstance(one, str | int | tuple)}
    about = {"error": str(error), "error_code": error.code, "error_data": known}
    return {"success": False, **about, "tool_name": name}


def _act(
    context: Context, request: Request, tool: ModelTool, given: Mapping[str, Any]
) -> dict[str, Any]:
    unknown = set(given) - {"action", *tool.properties, *_IGNORED}
    for name in sorted(unknown):
        raise InvalidArgument(name, f"{tool.name} takes action, {', '.join(tool.properties)}")
    named = given.get("action")
    action = tool.actions.get(named) if isinstance(named, str) else None
    if action is None:
        raise InvalidArgument("action", f"it is one of {', '.join(tool.actions)}, not {named!r}")
    if denies_operation(request.agent, find(context, action.operation)):
        raise ToolDenied(f"{tool.name} ({named})", "policy_deny")
    for name in action.needs:
        if not given.get(name):
            raise InvalidArgument(name, f"{named} needs it")
    chosen = {name: given[name] for name in action.takes if given.get(name) not in (None, "")}
    arguments = {**action.defaults, **chosen, **action.fixed}
    result = bounded(invoke(context, action.operation, arguments))
    if not action.result:
        return dict(result)
    place = {"file": chosen.get("file", MAIN)} if "file" in action.takes else {}
    return {action.result: result, **place}


def _call(
    context: Context, request: Request, name: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    tool = pick_tool(operation_tools(context), name)
    if not _is_named(request, tool):
        raise ToolDenied(name, "no allow list names it")
    mine = {key: one for key, one in given.items() if key not in _IGNORED}
    result = call_tool(context, tool, mine)
    return result if isinstance(result, dict) else {"result": result}


def _arguments(given: Mapping[str, Any] | str) -> dict[str, Any]:
    if not isinstance(given, str):
        return dict(given)
    try:
        parsed = json.loads(given or "{}")
    except ValueError as error:
        raise InvalidArgument("arguments", f"they are not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise InvalidArgument("arguments", "they are a JSON object")
    return parsed


def _decision(request: Request, name: str, categories: tuple[str, ...]) -> Decision:
    return decide_agent_tool(
        request.agent,
        name,
        categories,
        deny=request.tool_deny,
        allow_only=request.tool_allow_only,
    )


def _is_named(request: Request, tool: OperationTool) -> bool:
    """Say whether an allow list asks for the tool of an operation; nobody has them all unasked."""
    policy = tool_policy(request.agent.config.get("tool_policy"))
    if tool.name in (request.tool_allow_only or ()):
        return True
    listed = tool.name in policy.tools or bool({*tool.categories} & {*policy.categories})
    return policy.mode == "allow" and listed
