"""The methods of the protocol, defined once for every transport: tools, resources, prompts.

Each method is a plain function of a `Context` (the principal and the workspace) and the parameters;
it returns the result as the protocol writes it. The two generations of the protocol differ only in
the envelope of a result.
"""

from __future__ import annotations

import json
import re
import sys

from looseleaf import __version__
from looseleaf.catalog.dispatch import invoke, run_operation
from looseleaf.catalog.model_tools import call_tool
from looseleaf.catalog.operation_tools import build_output_schema, pick_tool, wrap_result
from looseleaf.catalog.resolution import find_acting_agent, list_visible_agents, scope_of
from looseleaf.catalog.tool_access import choose_listed_tools, require_tool
from looseleaf.errors import Invalid, InvalidArgument, InvalidName, LooseleafError, Unavailable
from looseleaf.errors.operations import ToolDenied, ToolMissing
from looseleaf.memory.day import Day
from looseleaf.memory.scope import Where
from looseleaf.times import format_time
from looseleaf.values import as_dict, built_once, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias, TypeVar

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.catalog.operation_tools import OperationTool
    from looseleaf.memory.scope import Scope
    from looseleaf.operations.files import PageInfo
    from looseleaf.settings import Settings

    Parameters = dict[str, Any]

    Outcome = TypeVar("Outcome")

    Method: TypeAlias = "Callable[['Features', Context, Parameters], dict[str, Any]]"


# The result of a tool: structured content and text, or an error with the next step.


MOST_ITEMS = 10_000
# A memory that is away is no reason to stop, and nothing that a model could mend by itself.
_MENDING = (
    "Go on without memory and tell the person: mount the disk of the workspace, or, after it was "
    "moved, run `looseleaf mcp install` again with --root and its new folder. The tools work again "
    "as soon as it is there; `looseleaf mcp uninstall` removes them."
)
_REMOTE_MENDING = (
    "Go on without memory and tell the person. The tools work again as soon as it is there."
)
# The next step for a model, for errors whose message is meant for people at a command line.
_HINTS = {
    "agent_ambiguous": "Give the argument agent.",
    "agent_missing": "list_agents lists those you may use.",
    "assembled_text": "Store only what is new.",
    "conflict": "Read the page again, then repeat the change with its new hash.",
    "daily_memory_disabled": "Only your operator can; tell them, or use append_agent_memory.",
    "forbidden": "Ask your operator.",
    "locked": "Try again in a moment.",
    "page_missing": "list_agent_files lists the pages there are.",
    "section_missing": "append_agent_memory adds a section.",
    "tool_denied": "Ask your operator.",
    "workspace_missing": _MENDING,
    "workspace_unavailable": _MENDING,
}


def answer(
    operation: Operation, work: Callable[[], Any], *, is_local: bool = False
) -> dict[str, Any]:
    """Return the result of an operation, or its error, as the result of a tool."""
    try:
        result = check_size(work())
        return build_success(result, wrap_result(operation, result))
    except LooseleafError as error:
        if is_local:
            return build_failure(error.code, str(error), _HINTS.get(error.code, ""))
        return build_failure(error.code, build_public_message(error), _find_remote_hint(error))
    except Exception:  # noqa: BLE001 - a fault of ours ends one call, not the server
        report_fault()
        return build_failure(
            "internal_error", "Something went wrong in the server.", "Tell your operator."
        )


def _find_remote_hint(error: LooseleafError) -> str:
    hint = _HINTS.get(error.code, "")
    return _REMOTE_MENDING if hint == _MENDING else hint


def build_public_message(error: LooseleafError) -> str:
    """Return the message of an error for a client of a server; the rest goes to the operator."""
    if error.public_message != str(error):
        sys.stderr.write(f"looseleaf: {error}\n")
    return error.public_message


def check_size(result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Check the size of a result; a list that is too long for a model is an error."""
    if isinstance(result, list) and len(result) > MOST_ITEMS:
        raise Invalid(
            f"The result has {len(result)} items, more than {MOST_ITEMS}. Narrow the request."
        )
    return result


def report_fault() -> None:
    """Write the current error to standard error only: it may name files of this machine."""
    import traceback

    sys.stderr.write(traceback.format_exc())


def build_success(result: Any, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return a result twice: as data by its schema, and as text for the model."""
    return {"content": _build_text_parts(result), "isError": False, "structuredContent": data}


def build_failure(code: str, message: str, hint: str = "") -> dict[str, Any]:
    """Return an error with its stable code; the model reads it and can correct the call."""
    content = {"code": code, "message": message, **({"hint": hint} if hint else {})}
    text = f"{code}: {message}" + (_join_hint(message, hint) if hint else "")
    return {"content": [build_text_part(text)], "isError": True, "structuredContent": content}


def _join_hint(message: str, hint: str) -> str:
    """Return a hint after a message, which may end in a command."""
    return f"{' ' if message.endswith('.') else chr(10)}{hint}"


def build_text_part(text: str) -> dict[str, Any]:
    """Return a text as a part of a result or of a message."""
    return {"type": "text", "text": text}


def _build_text_parts(result: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Return the text of a page, the messages of a prompt, or JSON."""
    if isinstance(result, dict) and result.get("exists", True):
        if isinstance(result.get("content"), str):
            return [
                build_text_part(part) for part in (result["content"], _describe_cut(result)) if part
            ]
        messages = result.get("messages")
        if isinstance(messages, list) and all("content" in message for message in messages):
            return [build_text_part(message["content"]) for message in messages]
    return [build_text_part(json.dumps(result, ensure_ascii=False))]


def _describe_cut(result: dict[str, Any]) -> str:
    """Describe the cut of a text, its length and how to read the rest, or "" for a whole text."""
    if not result.get("truncated"):
        return ""
    hint = result.get("hint", "")
    return f"(Cut: it has {result['content_length']} characters.{' ' if hint else ''}{hint})"


# The prompt `start-session`: the memory that an agent gets at the beginning of a session.


PROMPT: dict[str, Any] = {
    "name": "start-session",
    "title": "Start a session",
    "description": "Who you are, whom you work for and what you know: the pages of your memory.",
    "arguments": [
        {"name": "mode", "description": "chat (the default), pipeline or system."},
        {"name": "agent", "description": "The agent, where the server is for several."},
    ],
}


def start_session(context: Context, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Compose the prompt of an agent for a mode; MCP has no system messages."""
    for name in set(arguments) - {"mode", "agent"}:
        raise InvalidArgument(name, "start-session takes mode and agent")
    bound_agent = context.principal.agent_id
    agent = bound_agent or arguments.get("agent") or None
    options = {"mode": arguments.get("mode") or "chat", **({"agent": agent} if agent else {})}
    prompt = invoke(context, "looseleaf/compose-prompt", options)
    messages = [
        {"role": "user", "content": build_text_part(message["content"])}
        for message in prompt["messages"]
    ]
    description = f"The memory of {prompt['agent']} for {prompt['mode']}."
    return {"description": description, "messages": messages}


# The addresses of pages: `looseleaf://` and the path a page has in its workspace.


SCHEME = "looseleaf://"
# Not urllib.parse: its import takes as long as reading a hundred pages.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~/-")
_ESCAPE = "%([0-9A-Fa-f]{2})"
_SHAPE = "an address is looseleaf://agents/SLUG/FILE, users/ID/FILE, shared/FILE or network/FILE"


def build_address(layer: str, owner: str | int, file: str) -> str:
    """Build the address of a page; the owner is an agent's slug or a user's id."""
    place = {"agent": f"agents/{owner}", "user": f"users/{owner}"}.get(layer, layer)
    return f"{SCHEME}{place}/{_quote(file)}"


def parse_address(uri: str) -> tuple[str, Where]:
    """Parse the address of a page into its filename and its owner."""
    if not uri.startswith(SCHEME):
        raise InvalidName(uri, _SHAPE)
    layer, _, path = uri.removeprefix(SCHEME).partition("/")
    if layer in ("shared", "network"):
        return _parse_file(uri, path), Where(layer=layer)
    owner, _, file = path.partition("/")
    if layer == "agents" and owner:
        return _parse_file(uri, file), Where(agent=_unquote(owner), layer="agent")
    if layer == "users" and owner.isascii() and owner.isdigit():
        return _parse_file(uri, file), Where(user=int(owner), layer="user")
    raise InvalidName(uri, _SHAPE)


def _parse_file(uri: str, quoted_name: str) -> str:
    if not quoted_name:
        raise InvalidName(uri, _SHAPE)
    return _unquote(quoted_name)


def _quote(file: str) -> str:
    """Quote a path for an address: other bytes than plain ones become % and their number."""
    return "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}"
        for byte in file.encode("utf-8", "surrogateescape")
    )


def _unquote(text: str) -> str:
    parts = re.split(_ESCAPE, text)  # every second part is the number of a byte
    raw = b"".join(
        bytes.fromhex(part) if index % 2 else part.encode("utf-8", "surrogatepass")
        for index, part in enumerate(parts)
    )
    return raw.decode("utf-8", "replace")


def media_type_of(file: str) -> str:
    """Return the media type of a page."""
    return "text/plain" if file.lower().endswith(".txt") else "text/markdown"


# Pages as resources: the list of pages, URI templates, and reading a page.


PAGE = 200  # the number of resources in one answer, or a few more
RECENT_DAYS = 31  # of a journal; earlier days are read by the template
_TEMPLATES = (
    (
        "agents/{agent}/{+file}",
        "page of an agent",
        "SOUL.md, MEMORY.md and an agent's other pages.",
    ),
    (
        f"agents/{{agent}}/{Day('{year}', '{month}', '{day}').filename}",
        "day of a journal",
        "What happened on one day, in UTC.",
    ),
    ("users/{user}/{+file}", "page of a user", "USER.md and other pages about a person."),
    ("shared/{+file}", "shared page", "SITE.md, RULES.md and what else all agents share."),
    ("network/{+file}", "page of the network", "What several sites share."),
)


def list_templates(context: Context) -> list[dict[str, Any]]:
    """List the URI templates; for a client that is bound to an agent, they name that agent."""
    bound_agent = context.principal.agent_id
    agent = context.parts.agents.resolve(bound_agent).slug if bound_agent else "{agent}"
    user = str(context.principal.user_id) if bound_agent else "{user}"
    return [
        {
            "uriTemplate": SCHEME + shape.replace("{agent}", agent).replace("{user}", user),
            "name": name,
            "description": description,
            "mimeType": "text/markdown",
        }
        for shape, name, description in _TEMPLATES
    ]


def list_resources(
    context: Context, cursor: str | None = None
) -> tuple[list[dict[str, Any]], str | None]:
    """List readable pages, some agents at a time, and the cursor of the next list."""
    agents = [agent.slug for agent in list_visible_agents(context)]
    start = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0
    resources = [] if cursor else _list_shared_pages(context)
    for position, slug in enumerate(agents[start:], start + 1):
        resources += _list_pages(context, "agent", slug, agent=slug)
        resources += _list_days(context, slug)
        if len(resources) >= PAGE and position < len(agents):
            return resources, str(position)
    return resources, None


def _list_shared_pages(context: Context) -> list[dict[str, Any]]:
    user = context.principal.user_id
    return [
        *_list_pages(context, "shared"),
        *_list_pages(context, "network"),
        *_list_pages(context, "user", user, user=user),
    ]


def _list_pages(
    context: Context, layer: str, owner: str | int = "", **selection: str | int
) -> list[dict[str, Any]]:
    entries: Any = run_operation(
        context, "datamachine/list-agent-files", {"layer": layer, **selection}
    )
    return [_build_resource(entry, owner) for entry in entries]


def _build_resource(page: PageInfo, owner: str | int) -> dict[str, Any]:
    last_modified = format_time(page.updated, "+00:00")
    owner_label = f"{page.layer} {owner}".strip()
    return {
        "uri": build_address(page.layer, owner, page.file),
        "name": page.file,
        **({"title": page.label} if page.label else {}),
        "description": f"Page of {owner_label}" if owner else f"Page of all ({page.layer})",
        "mimeType": media_type_of(page.file),
        "size": page.bytes,
        "annotations": {"lastModified": last_modified},
    }


def _list_days(context: Context, slug: str) -> list[dict[str, Any]]:
    months: Any = run_operation(context, "datamachine/daily-memory-list", {"agent": slug})
    days = [
        Day(month[:4], month[5:], number)
        for month, numbers in months.items()
        for number in sorted(numbers, reverse=True)
    ]
    return [
        {
            "uri": build_address("agent", slug, day.filename),
            "name": day.filename,
            "description": f"Journal of {slug}, {day}",
            "mimeType": "text/markdown",
        }
        for day in days[:RECENT_DAYS]
    ]


def read_resource(context: Context, uri: str) -> dict[str, Any]:
    """Read the page at an address."""
    file, page_owner = parse_address(uri)
    selection = {name: part for name, part in as_dict(page_owner).items() if part is not None}
    page: Any = run_operation(context, "datamachine/get-agent-memory", {"file": file, **selection})
    return {"uri": uri, "mimeType": media_type_of(file), "text": page.content}


def resolve_scope(context: Context, uri: str) -> Scope:
    """Resolve the page at an address; raise if the principal may not read it."""
    file, page_owner = parse_address(uri)
    return scope_of(context.with_permission("read"), file, page_owner)


NAME = "looseleaf"
INFORMATION = {
    "name": NAME,
    "title": "Looseleaf",
    "version": __version__,
    "description": "Persistent memory for AI agents, kept as Markdown pages.",
}
_INSTRUCTIONS = """\
This is your lasting memory, kept as Markdown pages that people read and edit too.
Pages of it in this conversation (page file="MEMORY.md" and others) are loaded: do not ask for them
again. Only if there are none, call compose_prompt first{trust}.
What will matter later goes into a section of MEMORY.md: append_agent_memory.
Correct what is no longer true: update_agent_memory.
{journal}
Look before you ask. A question in plain words, such as "When did she move?": find_pages.
An exact text, such as a name or a number: search_agent_memory and search_daily_memory."""

# Codex runs a hook only when a person has trusted it, and shows nothing of that without a terminal.
_TRUST = {
    "codex": ", and say once that Codex loads it by itself when the person trusts the "
    "SessionStart hook, in /hooks"
}
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


def build_instructions(settings: Settings, client: str = "") -> str:
    """Build the instructions for a model; they name only tools that the settings allow.

    A session-start hook may have given the memory already, so it is asked for only without one.
    """
    journal = _JOURNAL_ON if settings.daily_memory_enabled else _JOURNAL_OFF
    trust = next((text for name, text in _TRUST.items() if client.startswith(name)), "")
    return _INSTRUCTIONS.replace("{trust}", trust).replace("{journal}", journal)


def build_absence_notice(error: LooseleafError) -> str:
    """Build the instructions for a model whose memory cannot be reached."""
    return f"Your lasting memory cannot be reached. {error}\n{_find_mending(error)}"


def answer_without_workspace(
    features: Features, error: LooseleafError, method: str, params: Parameters
) -> dict[str, Any]:
    """Answer a request while the workspace is away; raise its error if only that can be said.

    The lists can be given, and each call says what is wrong: a host goes on without memory. Gemini
    CLI drops the tools of a server that answers another list with an error.
    """
    if method in _LISTS_WITHOUT_WORKSPACE:
        return {**_LISTS_WITHOUT_WORKSPACE[method]}
    if method == "tools/list":
        return {"tools": [*features.scoped_descriptions]}
    if method == "tools/call":
        text_of(params, "name")
        return build_failure(error.code, str(error), _find_mending(error))
    raise error


_LISTS_WITHOUT_WORKSPACE: dict[str, dict[str, Any]] = {
    "prompts/list": {"prompts": [PROMPT]},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
}


def _find_mending(error: LooseleafError) -> str:
    return _HINTS.get(error.code, "Go on without memory, and tell the person.")


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

    return answer(tool.operation, work, is_local=context.principal.is_local)


def answer_resources(_features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """List the pages, some agents at a time."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ProtocolError(INVALID_PARAMS, "cursor must be a text.")
    try:
        pages, next_cursor = list_resources(context, cursor)
    except ToolDenied:
        return {"resources": []}  # the agent's policy denies listing pages on every surface
    return {"resources": pages, **({"nextCursor": next_cursor} if next_cursor is not None else {})}


def answer_templates(_features: Features, context: Context, _params: Parameters) -> dict[str, Any]:
    """List the URI templates of pages."""
    return {"resourceTemplates": list_templates(context)}


def answer_resource(_features: Features, context: Context, params: Parameters) -> dict[str, Any]:
    """Read the page at an address."""
    return {"contents": [read_resource(context, text_of(params, "uri"))]}


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
    "resources/list": answer_resources,
    "resources/templates/list": answer_templates,
    "resources/read": answer_resource,
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
        code = INTERNAL_ERROR if isinstance(error, Unavailable) else INVALID_PARAMS
        raise ProtocolError(code, str(error), {"code": error.code}) from error
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
