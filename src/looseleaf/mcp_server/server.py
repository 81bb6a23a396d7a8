"""The server: what a client may ask, answered in worker threads as the one who asks."""

from __future__ import annotations

import sys
import traceback
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from looseleaf import __version__
from looseleaf.errors import LooseleafError, ToolMissing
from looseleaf.mcp_server import resources
from looseleaf.mcp_server.answers import answer
from looseleaf.mcp_server.prompts import PROMPT, start_session
from looseleaf.mcp_server.watching import Watching
from looseleaf.memory.store import Missing
from looseleaf.operations.tool_access import acting_agent, decide_agent_tool, require_tool
from looseleaf.operations.tools import call_tool, pick_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.subscriptions import ServerEvent

    from looseleaf.operations.context import Context
    from looseleaf.operations.tools import OperationTool

    Asking = ServerRequestContext[Any, Any]
    Acting = Callable[[Asking], Context]

Outcome = TypeVar("Outcome")
INSTRUCTIONS = """\
This is your lasting memory, kept as Markdown pages that people read and edit too.
At the beginning of a session, get the prompt start-session, or call compose_prompt with mode chat.
What will matter later goes into a section of MEMORY.md: append_agent_memory.
Correct what is no longer true: update_agent_memory.
What happened today goes into the journal: daily_memory_append.
Look before you ask. A question in plain words, such as "When did she move?": find_pages.
An exact text, such as a name or a number: search_agent_memory and search_daily_memory."""
MOST_URIS = 100  # that one request may ask to hear of


class MemoryServer:
    """An MCP server over a workspace; `acting` says for each request who acts."""

    def __init__(
        self, acting: Acting, tools: tuple[OperationTool, ...], *, tell_of_lists: bool = False
    ) -> None:
        self._acting = acting
        self._tools = tools  # listed once: a server's tools stay what they were
        self._tell_of_lists = tell_of_lists
        self.watching = Watching()
        self.server: Server[Any] = Server(
            "looseleaf",
            version=__version__,
            title="Looseleaf",
            description="Persistent memory for AI agents, kept as Markdown pages.",
            instructions=INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    def options(self) -> InitializationOptions:
        """Give what the server says of itself; lists that change unasked are not among it."""
        return self.server.create_initialization_options(NotificationOptions())

    @asynccontextmanager
    async def _lifespan(self, _server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with self.watching.running():
            yield {}

    async def _list_tools(self, asking: Asking, _params: Any) -> types.ListToolsResult:  # noqa: ANN401
        return await _in_thread(self._tools_of, asking)

    def _tools_of(self, asking: Asking) -> types.ListToolsResult:
        context = self._acting(asking)
        scoped = bool(context.principal.agent_id)
        agent = acting_agent(context)
        allowed = [
            tool
            for tool in self._tools
            if decide_agent_tool(agent, tool.name, tool.categories).allowed
        ]
        return types.ListToolsResult(tools=[_described(tool, scoped=scoped) for tool in allowed])

    async def _call_tool(
        self, asking: Asking, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            tool = pick_tool(self._tools, params.name)
        except ToolMissing as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"code": error.code}) from None
        given = params.arguments or {}
        return await _in_thread(answer, partial(self._called, asking, tool, given))

    def _called(self, asking: Asking, tool: OperationTool, given: dict[str, Any]) -> Any:  # noqa: ANN401
        context = self._acting(asking)
        require_tool(context, tool.name, tool.categories)
        return call_tool(context, tool, given)

    async def _list_resources(
        self, asking: Asking, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        found, after = await _in_thread(lambda: resources.listed(self._acting(asking), cursor))
        return types.ListResourcesResult(resources=found, next_cursor=after)

    async def _list_templates(
        self, asking: Asking, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        found = await _in_thread(lambda: resources.templates(self._acting(asking)))
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def _read_resource(
        self, asking: Asking, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        page = await _in_thread(lambda: resources.read(self._acting(asking), params.uri))
        return types.ReadResourceResult(contents=[page])

    async def _list_prompts(self, _asking: Asking, _params: Any) -> types.ListPromptsResult:  # noqa: ANN401
        return types.ListPromptsResult(prompts=[PROMPT])

    async def _get_prompt(
        self, asking: Asking, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        if params.name != PROMPT.name:
            raise MCPError(types.INVALID_PARAMS, f"There is one prompt: {PROMPT.name}.")
        given = params.arguments or {}
        return await _in_thread(lambda: start_session(self._acting(asking), given))

    async def _subscribe(
        self, asking: Asking, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        state = await _in_thread(self._state_of, asking, params.uri)
        identity = session_of(asking)
        await self.watching.subscribe(identity, params.uri, asking.session, state)
        return types.EmptyResult()

    async def _unsubscribe(
        self, asking: Asking, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.watching.unsubscribe(session_of(asking), params.uri)
        return types.EmptyResult()

    async def _listen(
        self, asking: Asking, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of what one asks to hear of, as far as one may read it."""
        asked = params.notifications
        uris = asked.resource_subscriptions or []
        if len(uris) > MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"At most {MOST_URIS} pages in one subscription.")
        events: list[ServerEvent] = []
        with self.watching.leaving(events):
            for uri in dict.fromkeys(uris):
                state = await _in_thread(self._state_of, asking, uri)
                await self.watching.watch(ResourceUpdated(uri), state)
                events.append(ResourceUpdated(uri))
            lists = bool(asked.resources_list_changed) and self._tell_of_lists
            if lists:
                await self.watching.watch(ResourcesListChanged(), partial(self._list_of, asking))
                events.append(ResourcesListChanged())
            # Tools and prompts never change while a server runs.
            honored = types.SubscriptionFilter(
                resource_subscriptions=uris or None, resources_list_changed=lists or None
            )
            narrowed = params.model_copy(update={"notifications": honored})
            return await self.watching.listen(asking, narrowed)

    def _state_of(self, asking: Asking, uri: str) -> Callable[[], object]:
        context = self._acting(asking)
        scope = resources.scope_at(context, uri)

        def state() -> object:
            page = context.pages.read(scope)
            return "" if isinstance(page, Missing) else page.hash

        return state

    def _list_of(self, asking: Asking) -> object:
        found, _ = resources.listed(self._acting(asking))
        return [one.uri for one in found]


def session_of(asking: Asking) -> str:
    """Name the session that asks, as far as the transport has sessions."""
    return asking.request.headers.get("mcp-session-id", "") if asking.request else ""


def client_of(asking: Asking) -> str:
    """Name the program that asks, as it calls itself; for the history."""
    known = asking.session.client_params
    name = known.client_info.name if known else ""
    shown = "".join(one for one in name if one.isprintable())[:64].strip()
    return shown or "mcp client"


def _described(tool: OperationTool, *, scoped: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize(),
        description=tool.summary,
        input_schema=tool.parameters(scoped=scoped),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.operation.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


async def _in_thread(work: Callable[..., Outcome], *given: Any) -> Outcome:  # noqa: ANN401
    """Run what may block in a worker thread; our errors become the protocol's."""
    try:
        return await anyio.to_thread.run_sync(partial(work, *given))
    except LooseleafError as error:
        raise MCPError(types.INVALID_PARAMS, str(error), {"code": error.code}) from error
    except Exception:  # noqa: BLE001 - what went wrong may name files of this machine
        sys.stderr.write(traceback.format_exc())
        raise MCPError(types.INTERNAL_ERROR, "Something went wrong in the server.") from None
