"""The MCP server over the official SDK, for clients over HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from looseleaf.catalog.tools.operation_tools import pick_tool
from looseleaf.errors import LooseleafError
from looseleaf.errors.operations import ToolMissing
from looseleaf.mcp_server.change_notices import ChangeNotices
from looseleaf.mcp_server.features import (
    CACHEABLE,
    INFORMATION,
    METHODS,
    NAME,
    Features,
    ProtocolError,
    client_name_of,
    run_request,
)
from looseleaf.mcp_server.page_changes import LIST, MOST_URIS, state_of_list, state_of_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation

    RequestContext = ServerRequestContext[Any, Any]
    ContextOf = Callable[[RequestContext], Context]
    # How a server with many clients runs an operation: context, operation (or None), arguments.
    RunOperation = Callable[
        [Context, Operation | None, Mapping[str, Any], Callable[[], Any]], Awaitable[Any]
    ]
    Handler = Callable[[RequestContext, Any], Awaitable[dict[str, Any]]]

Outcome = TypeVar("Outcome")


class MemoryServer:
    """An MCP server over a workspace; `context_of` returns the context of each request."""

    def __init__(
        self,
        context_of: ContextOf,
        features: Features,
        *,
        tell_of_lists: bool = False,
        run_operation: RunOperation | None = None,
    ) -> None:
        self._context_of = context_of
        self._features = features
        self._tell_of_lists = tell_of_lists
        self._run_operation = run_operation
        self.notices = ChangeNotices()
        self.server: Server[Any] = Server(
            NAME,
            version=INFORMATION["version"],
            title=INFORMATION["title"],
            description=INFORMATION["description"],
            lifespan=self._run_lifespan,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
        )
        for method, params in _PARAMETERS.items():
            self.server.add_request_handler(method, params, self._build_handler(method))

    @asynccontextmanager
    async def _run_lifespan(self, _server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with self.notices.running():
            yield {}

    def _build_handler(self, method: str) -> Handler:
        """Build the function that answers a method, with the fields of the newer protocol."""
        fresh = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}

        async def handle(request: RequestContext, _params: object) -> dict[str, Any]:
            params = dict(request.params or {})

            def work() -> dict[str, Any]:
                return METHODS[method](self._features, self._context_of(request), params)

            result = await self._run(request, params, work)
            return {**result, "resultType": "complete", **fresh}

        return handle

    async def _run(
        self, request: RequestContext, params: dict[str, Any], work: Callable[[], Outcome]
    ) -> Outcome:
        """Run the work of a request in a thread; the web server may choose the thread."""
        if self._run_operation is None:
            return await _in_thread(work)
        arguments_object = params.get("arguments")
        arguments = arguments_object if isinstance(arguments_object, dict) else {}
        operation_run = self._run_operation(
            self._context_of(request),
            self._find_operation(params),
            arguments,
            partial(run_request, work),
        )
        try:
            result: Outcome = await operation_run
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from error
        except LooseleafError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error), {"code": error.code}) from error
        return result

    def _find_operation(self, params: dict[str, Any]) -> Operation | None:
        try:
            return pick_tool(self._features.tools, str(params.get("name", ""))).operation
        except ToolMissing:
            return None  # the request calls no tool, or an unknown one, which is refused later

    async def _subscribe(
        self, request: RequestContext, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        state = await _in_thread(lambda: state_of_page(self._context_of(request), params.uri))
        await self.notices.subscribe(session_of(request), params.uri, request.session, state)
        return types.EmptyResult()

    async def _unsubscribe(
        self, request: RequestContext, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self.notices.unsubscribe(session_of(request), params.uri)
        return types.EmptyResult()

    async def _listen(
        self, request: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes of pages; the client must have the right to read them."""
        filters = params.notifications
        uris = filters.resource_subscriptions or []
        if len(uris) > MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"At most {MOST_URIS} pages in one subscription.")
        watched_uris: list[str] = []
        with self.notices.released_at_end(watched_uris):
            for uri in dict.fromkeys(uris):
                state = await _in_thread(partial(self._state_of_page, request, uri))
                await self.notices.watch(uri, state)
                watched_uris.append(uri)
            notifies_lists = bool(filters.resources_list_changed) and self._tell_of_lists
            if notifies_lists:
                await self.notices.watch(LIST, state_of_list(partial(self._context_of, request)))
                watched_uris.append(LIST)
            # Tools and prompts never change while a server runs.
            accepted_filter = types.SubscriptionFilter(
                resource_subscriptions=uris or None, resources_list_changed=notifies_lists or None
            )
            accepted_params = params.model_copy(update={"notifications": accepted_filter})
            return await self.notices.listen(request, accepted_params)

    def _state_of_page(self, request: RequestContext, uri: str) -> Callable[[], object]:
        return state_of_page(self._context_of(request), uri)


_PARAMETERS: dict[str, type[Any]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}


def session_of(request: RequestContext) -> str:
    """Return the id of a request's session, if the transport has sessions."""
    return request.request.headers.get("mcp-session-id", "") if request.request else ""


def client_of(request: RequestContext) -> str:
    """Return the name that the client gives itself, for the history."""
    client_params = request.session.client_params
    return client_name_of({"name": client_params.client_info.name} if client_params else None)


async def _in_thread(work: Callable[[], Outcome]) -> Outcome:
    """Run blocking work in a worker thread; our errors become those of the SDK."""
    try:
        return await anyio.to_thread.run_sync(run_request, work)
    except ProtocolError as error:
        raise MCPError(error.code, error.message, error.data) from error
