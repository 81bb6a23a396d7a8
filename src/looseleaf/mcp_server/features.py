"""The methods of the protocol, defined once for every transport: tools, resources, prompts.

Each method is a plain function of a `Context` (the principal and the workspace) and the parameters;
it returns the result as the protocol writes it. The two generations of the protocol differ only in
the envelope of a result.
"""

from __future__ import annotations

from looseleaf import __version__
from looseleaf.catalog.resolution import find_acting_agent
from looseleaf.catalog.tools.access import choose_listed_tools, require_tool
from looseleaf.catalog.tools.calls import call_tool
from looseleaf.catalog.tools.operation_tools import pick_tool
from looseleaf.catalog.tools.outputs import build_output_schema
from looseleaf.errors import LooseleafError
from looseleaf.errors.operations import ToolDenied, ToolMissing
from looseleaf.mcp_server import resources
from looseleaf.mcp_server.prompts import PROMPT, start_session
from looseleaf.mcp_server.tool_results import answer, report_fault
from looseleaf.values import built_once, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.tools.operation_tools import OperationTool
    from looseleaf.settings import Settings

    Parameters = dict[str, Any]
    Outcome = TypeVar("Outcome")
    Method = Callable[["Features", Context, Parameters], dict[str, Any]]

NAME = "looseleaf"
INFORMATION = {
    "name": NAME,
    "title": "Looseleaf",
    "version": __version__,
    "description": "Persistent memory for AI agents, kept as Markdown pages.",
}
_INSTRUCTIONS = """\
This is your lasting memory, kept as Markdown pages that people read and edit too.
At the beginning of a session, get the prompt start-session, or call compose_prompt.
What will matter later goes into a section of MEMORY.md: append_agent_memory.
Correct what is no longer true: update_agent_memory.
{journal}
Look before you ask. A question in plain words, such as "When did she move?": find_pages.
An exact text, such as a name or a number: search_agent_memory and search_daily_memory."""

_JOURNAL_ON = "What happened today goes into the journal: daily_memory_append."
_JOURNAL_OFF = "The journal can be read (daily_memory_read); writing to it is switched off here."

# The protocol's own codes of errors.
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022


class ProtocolError(Exception):
    """An error of the protocol: a request that no method can answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


@value
class Features:
    """The tools of a server; policies and settings decide which of them are listed."""

    tools: tuple[OperationTool, ...]

    @built_once
    def open_descriptions(self) -> tuple[dict[str, Any], ...]:
        """The tools as the protocol lists them; callers share it and must not change it."""
        return tuple(describe(tool, is_scoped=False) for tool in self.tools)

    @built_once
    def scoped_descriptions(self) -> tuple[dict[str, Any], ...]:
        """The same for an agent, which has no choice of agent and user."""
        return tuple(describe(tool, is_scoped=True) for tool in self.tools)


def build_instructions(settings: Settings) -> str:
    """Build the instructions for a model; they name only tools that the settings allow."""
    journal = _JOURNAL_ON if settings.daily_memory_enabled else _JOURNAL_OFF
    return _INSTRUCTIONS.replace("{journal}", journal)


def list_tools(features: Features, context: Context, _params: Parameters) -> dict[str, Any]:
    """List the tools that the policy of the agent and the settings allow."""
    agent = find_acting_agent(context)
    choices = choose_listed_tools(context, agent, features.tools)
    descriptions = features.scoped_descriptions if agent else features.open_descriptions
    pairs = zip(descriptions, choices, strict=True)
    return {"tools": [description for description, choice in pairs if choice.is_given]}


def describe(tool: OperationTool, *, is_scoped: bool) -> dict[str, Any]:
    """Describe a tool as the protocol lists it."""
    return {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": tool.summary,
        "inputSchema": tool.parameters(is_scoped=is_scoped),
        "outputSchema": build_output_schema(tool.operation),
        "annotations": {
            "readOnlyHint": tool.operation.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


def run_tool(features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """Run a tool; a Looseleaf error becomes its result, so that the model reads it."""
    name, arguments = text_of(params, "name"), object_of(params, "arguments")
    try:
        tool = pick_tool(features.tools, name)
    except ToolMissing as error:
        raise ProtocolError(INVALID_PARAMS, str(error), {"code": error.code}) from None

    def work() -> Any:  # noqa: ANN401 - any JSON
        require_tool(context, tool.operation, tool.name)
        return call_tool(context, tool, arguments)

    return answer(tool.operation, work)


def list_resources(_features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """List the pages, some agents at a time."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ProtocolError(INVALID_PARAMS, "cursor must be a text.")
    try:
        pages, next_cursor = resources.list_resources(context, cursor)
    except ToolDenied:
        return {"resources": []}  # the agent's policy denies listing pages on every surface
    return {"resources": pages, **({"nextCursor": next_cursor} if next_cursor is not None else {})}


def list_templates(_features: Features, context: Context, _params: Parameters) -> dict[str, Any]:
    """List the URI templates of pages."""
    return {"resourceTemplates": resources.list_templates(context)}


def read_resource(_features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """Read the page at an address."""
    return {"contents": [resources.read_resource(context, text_of(params, "uri"))]}


def list_prompts(_features: Features, _context: Context, _params: Parameters) -> dict[str, Any]:
    """List the one prompt."""
    return {"prompts": [PROMPT]}


def get_prompt(_features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """Return the whole prompt of an agent."""
    if text_of(params, "name") != PROMPT["name"]:
        raise ProtocolError(INVALID_PARAMS, f"Unknown prompt. Available prompts: {PROMPT['name']}.")
    arguments = object_of(params, "arguments")
    if not all(isinstance(argument, str) for argument in arguments.values()):
        raise ProtocolError(INVALID_PARAMS, "The arguments of a prompt must be texts.")
    return start_session(context, arguments)


METHODS: dict[str, Method] = {
    "tools/list": list_tools,
    "tools/call": run_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
}
# Results that a client of the newer protocol may cache; ours expire at once.
CACHEABLE = {
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
}


def run_request(work: Callable[..., Outcome], *arguments: object) -> Outcome:
    """Run the work of a request; turn every failure into a `ProtocolError`."""
    try:
        return work(*arguments)
    except ProtocolError:
        raise
    except LooseleafError as error:
        raise ProtocolError(INVALID_PARAMS, str(error), {"code": error.code}) from error
    except Exception:  # noqa: BLE001 - a fault of ours ends one request, not the server
        report_fault()
        raise ProtocolError(INTERNAL_ERROR, "Something went wrong in the server.") from None


def build_capabilities(*, lists_change: bool) -> dict[str, Any]:
    """Build the capabilities of the server; with `lists_change` it notifies of new pages."""
    return {
        "prompts": {"listChanged": lists_change},
        "resources": {"listChanged": lists_change, "subscribe": True},
        "tools": {"listChanged": lists_change},
    }


def text_of(params: Parameters, name: str) -> str:
    """Return a required parameter that must be a text."""
    text = params.get(name)
    if not isinstance(text, str):
        raise ProtocolError(INVALID_PARAMS, f"{name} is required and must be a text.")
    return text


def object_of(params: Parameters, name: str) -> dict[str, Any]:
    """Return a parameter that must be an object; empty if it is missing."""
    argument = params.get(name)
    if argument is None:
        return {}
    if not isinstance(argument, dict):
        raise ProtocolError(INVALID_PARAMS, f"{name} must be an object.")
    return argument


def client_name_of(information: object) -> str:
    """Return the name that the client gives itself, for the history."""
    name = information.get("name") if isinstance(information, dict) else None
    printable = "".join(sign for sign in str(name or "") if sign.isprintable())[:64].strip()
    return printable or "mcp client"
