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
from looseleaf.operations.tool_access import decide_agent_tool, denies_operation
from looseleaf.operations.tools import (
    bounded,
    call_tool,
    operation_tools,
    pick_tool,
)
from looseleaf.prompt.request import Tool
from looseleaf.values import changed, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.memory.policy import Decision
    from looseleaf.operations.context import Context
    from looseleaf.operations.tools import OperationTool
    from looseleaf.prompt.request import Request

SYSTEM = "system"  # the mode of our own tasks
_IGNORED = ("agent", "agent_id", "agent_slug", "user", "user_id")  # never the model's choice


@value
class Action:
    """What one action of a tool does: the operation, and which arguments go to it."""

    operation: str
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    fixed: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}
    result: str = ""  # what a result that is no object is called


@value
class ModelTool:
    """A tool with actions, by name."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    actions: Mapping[str, Action]
    categories: tuple[str, ...] = ("memory",)

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments, with every action."""
        return self.parameters_with(self.actions)

    def parameters_with(self, actions: Iterable[str]) -> dict[str, Any]:
        """Give the JSON schema of its arguments, with some of its actions."""
        names = list(actions)
        action = {
            "type": "string",
            "enum": names,
            "description": "What to do: " + ", ".join(names) + ".",
        }
        return {
            "type": "object",
            "properties": {"action": action, **self.properties},
            "required": ["action"],
            "additionalProperties": False,
        }


def _text(description: str, *choices: str) -> dict[str, Any]:
    known = {"enum": list(choices)} if choices else {}
    return {"type": "string", **known, "description": description}


_SCOPE_OF_SEEDS = {
    "type": "integer",
    "description": "Ignored: whose memory it is follows from the conversation.",
}
_PLACE = ("file", "section", "position")
_UPDATE = "datamachine/update-agent-memory"

AGENT_MEMORY = ModelTool(
    "agent_memory",
    "Your lasting memory: facts, decisions and lessons that every later conversation needs. It is "
    "kept in the sections of MEMORY.md and other pages. Read a section before you change it. What "
    "merely happened belongs in agent_daily_memory. Whatever you are asked about the past, look it "
    "up first: find takes a question and gives the pages that answer it, days of the journal too.",
    {
        "file": _text(f"The page; {MAIN} if you name none."),
        "section": _text("The section, by the text of its ## header; without it, get reads all."),
        "position": {
            "type": "integer",
            "description": "The section's position, where several have the same name.",
        },
        "content": _text("Markdown, for update and append."),
        "mode": _text("For update: set replaces the section, append adds to it.", "set", "append"),
        "words": _text("A question, or some words that the page should be about, for find."),
        "query": _text("The exact text to find in a line, for search."),
        "user_id": _SCOPE_OF_SEEDS,
        "agent_id": _SCOPE_OF_SEEDS,
    },
    {
        "get": Action("datamachine/get-agent-memory", _PLACE),
        "update": Action(
            _UPDATE,
            (*_PLACE, "content", "mode"),
            ("section", "content"),
            defaults={"mode": "set"},
        ),
        "append": Action(_UPDATE, (*_PLACE, "content"), ("section", "content"), {"mode": "append"}),
        "delete": Action("datamachine/delete-agent-memory-section", _PLACE, ("section",)),
        "list_sections": Action(
            "datamachine/list-agent-memory-sections", ("file",), result="sections"
        ),
        "find": Action("looseleaf/find-pages", ("words",), ("words",), result="pages"),
        "search": Action(
            "datamachine/search-agent-memory", ("file", "section", "query"), ("query",)
        ),
    },
)
AGENT_DAILY_MEMORY = ModelTool(
    "agent_daily_memory",
    "Your journal, one page a day (UTC): session activity, events, work logs. It captures WHAT "
    "HAPPENED; knowledge that lasts belongs in agent_memory (MEMORY.md) instead.",
    {
        "date": _text("A day, YYYY-MM-DD; today if you name none."),
        "content": _text("Markdown, for write."),
        "mode": _text(
            "For write: append (the default) adds, write replaces the day.", "append", "write"
        ),
        "query": _text("The text to find, for search."),
        "from": _text("The first day of a search."),
        "to": _text("The last day of a search."),
        "user_id": _SCOPE_OF_SEEDS,
    },
    {
        "read": Action("datamachine/daily-memory-read", ("date",)),
        "write": Action(
            "datamachine/daily-memory-write", ("date", "content", "mode"), ("content",)
        ),
        "list": Action("datamachine/daily-memory-list", result="months"),
        "search": Action("datamachine/search-daily-memory", ("query", "from", "to"), ("query",)),
    },
    ("memory", "daily"),
)
MODEL_TOOLS = {tool.name: tool for tool in (AGENT_MEMORY, AGENT_DAILY_MEMORY)}


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
    principal = confined(through(context.principal, request.agent.id, user=request.user, name=name))
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
