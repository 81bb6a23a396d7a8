"""What the server offers, defined once for every transport: tools, pages, the prompt, itself.

Each method of the protocol is a plain function: a `Context` (who asks) and the parameters go in,
the result comes out as the protocol writes it. The two generations of the protocol differ only in
what stands around a result.
"""

from __future__ import annotations

from looseleaf import __version__
from looseleaf.errors import LooseleafError, ToolDenied, ToolMissing
from looseleaf.mcp_server import resources
from looseleaf.mcp_server.answers import answer, report_fault
from looseleaf.mcp_server.prompts import PROMPT, start_session
from looseleaf.operations.tool_access import acting_agent, decide_operation_tool, require_tool
from looseleaf.operations.tool_calls import call_tool
from looseleaf.operations.tools import pick_tool
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from looseleaf.operations.context import Context
    from looseleaf.operations.tools import OperationTool
    from looseleaf.settings import Settings

    Parameters = dict[str, Any]
    Outcome = TypeVar("Outcome")
    Method = Callable[["Offer", Context, Parameters], dict[str, Any]]

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
class Offer:
    """The tools of a server; which of them are listed is for policies and settings to say."""

    tools: tuple[OperationTool, ...]


def instructions(settings: Settings) -> str:
    """Tell a model how to use its memory, and only what will be accepted."""
    journal = _JOURNAL_ON if settings.daily_memory_enabled else _JOURNAL_OFF
    return _INSTRUCTIONS.replace("{journal}", journal)


def list_tools(offer: Offer, context: Context, _params: Parameters) -> dict[str, Any]:
    """List the tools that the agent's policy allows, and that would not be refused anyway."""
    scoped = bool(context.principal.agent_id)
    agent = acting_agent(context)
    is_closed = not context.settings.daily_memory_enabled
    allowed = [
        tool
        for tool in offer.tools
        if decide_operation_tool(agent, tool.operation, tool.name).allowed
        and not (is_closed and tool.writes_journal)
    ]
    return {"tools": [describe(tool, scoped=scoped) for tool in allowed]}


def describe(tool: OperationTool, *, scoped: bool) -> dict[str, Any]:
    """Give a tool as the protocol lists it."""
    return {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": tool.summary,
        "inputSchema": tool.parameters(scoped=scoped),
        "annotations": {
            "readOnlyHint": tool.operation.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


def run_tool(offer: Offer, context: Context, params: Parameters) -> dict[str, Any]:
    """Run a tool; an error of ours is its result, so that the model reads it."""
    name, arguments = text_of(params, "name"), object_of(params, "arguments")
    try:
        tool = pick_tool(offer.tools, name)
    except ToolMissing as error:
        raise ProtocolError(INVALID_PARAMS, str(error), {"code": error.code}) from None

    def work() -> Any:  # noqa: ANN401 - any JSON
        require_tool(context, tool.operation, tool.name)
        return call_tool(context, tool, arguments)

    return answer(work)


def list_resources(_offer: Offer, context: Context, params: Parameters) -> dict[str, Any]:
    """List the pages, some agents at a time."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ProtocolError(INVALID_PARAMS, "cursor is a text.")
    try:
        pages, after = resources.listed(context, cursor)
    except ToolDenied:
        return {"resources": []}  # the agent's policy denies to list pages, by whatever way
    return {"resources": pages, **({"nextCursor": after} if after is not None else {})}


def list_templates(_offer: Offer, context: Context, _params: Parameters) -> dict[str, Any]:
    """List the shapes of the addresses of pages."""
    return {"resourceTemplates": resources.templates(context)}


def read_resource(_offer: Offer, context: Context, params: Parameters) -> dict[str, Any]:
    """Read the page at an address."""
    return {"contents": [resources.read(context, text_of(params, "uri"))]}


def list_prompts(_offer: Offer, _context: Context, _params: Parameters) -> dict[str, Any]:
    """List the one prompt."""
    return {"prompts": [PROMPT]}


def get_prompt(_offer: Offer, context: Context, params: Parameters) -> dict[str, Any]:
    """Give an agent's whole prompt."""
    if text_of(params, "name") != PROMPT["name"]:
        raise ProtocolError(INVALID_PARAMS, f"There is one prompt: {PROMPT['name']}.")
    arguments = object_of(params, "arguments")
    if not all(isinstance(one, str) for one in arguments.values()):
        raise ProtocolError(INVALID_PARAMS, "The arguments of a prompt are texts.")
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
# Results that a client of the newer protocol may keep; ours are never older than the question.
CACHEABLE = {
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
}


def answering(work: Callable[..., Outcome], *arguments: object) -> Outcome:
    """Do the work of a request; whatever goes wrong is a `ProtocolError`, and nothing else."""
    try:
        return work(*arguments)
    except ProtocolError:
        raise
    except LooseleafError as error:
        raise ProtocolError(INVALID_PARAMS, str(error), {"code": error.code}) from error
    except Exception:  # noqa: BLE001 - a fault of ours ends one request, not the server
        report_fault()
        raise ProtocolError(INTERNAL_ERROR, "Something went wrong in the server.") from None


def capabilities(*, lists_change: bool) -> dict[str, Any]:
    """Say what the server can do; `lists_change`: whether one can ask to hear of new pages."""
    return {
        "prompts": {"listChanged": lists_change},
        "resources": {"listChanged": lists_change, "subscribe": True},
        "tools": {"listChanged": lists_change},
    }


def text_of(params: Parameters, name: str) -> str:
    """Give a parameter that is a text and cannot be left out."""
    text = params.get(name)
    if not isinstance(text, str):
        raise ProtocolError(INVALID_PARAMS, f"{name} is needed, as a text.")
    return text


def object_of(params: Parameters, name: str) -> dict[str, Any]:
    """Give a parameter that is an object, empty where it is left out."""
    chosen = params.get(name)
    if chosen is None:
        return {}
    if not isinstance(chosen, dict):
        raise ProtocolError(INVALID_PARAMS, f"{name} is an object.")
    return chosen


def client_name(information: object) -> str:
    """Name the program that asks, as it calls itself; for the history."""
    name = information.get("name") if isinstance(information, dict) else None
    printable = "".join(one for one in str(name or "") if one.isprintable())[:64].strip()
    return printable or "mcp client"
