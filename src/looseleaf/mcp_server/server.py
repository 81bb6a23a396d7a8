"""What the server offers, over the official SDK: for clients that come by HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from looseleaf.errors import LooseleafError, ToolMissing
from looseleaf.mcp_server.changes import LIST, MOST_URIS, state_of_list, state_of_page
from looseleaf.mcp_server.offer import (
    CACHEABLE,
    INFORMATION,
    METHODS,
    NAME,
    Offer,
    ProtocolError,
    answering,
    client_name,
)
from looseleaf.mcp_server.watching import Watching
from looseleaf.operations.tools import pick_tool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from looseleaf.operations.catalog import Operation
    from looseleaf.operations.context import Context

    Asking = ServerRequestContext[Any, Any]
    Acting = Callable[[Asking], Context]
    # How a server with many clients runs an operation: as whom, which (or None), with what.
    RunOperation = Callable[
        [Context, Operation | None, Mapping[str, Any], Callable[[], Any]], Awaitable[Any]
    ]
    Handler = Callable[[Asking, Any], Awaitable[dict[str, Any]]]

Outcome = TypeVar("Outcome")


class MemoryServer:
    """An MCP server over a workspace; `acting` says for each request who acts."""

    def __init__(
        self,
        acting: Acting,
        offer: Offer,
        *,
        tell_of_lists: bool = False,
        run_operation: RunOperation | None = None,
    ) -> None:
        self._acting = acting
        self._offer = offer
        self._tell_of_lists = tell_of_lists
        self._run_operation = run_operation
        self.watching = Watching()
        self.server: Server[Any] = Server(
            NAME,
            version=INFORMATION["version"],
            title=INFORMATION["title"],
            description=INFORMATION["description"],
            lifespan=self._lifespan,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
        )
        for method, params in _PARAMETERS.items():
            self.server.add_request_handler(method, params, self._handler(method))

    @asynccontextmanager
    async def _lifespan(self, _server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        async with self.watching.running():
            yield {}

    def _handler(self, method: str) -> Handler:
        """Give the function that answers a method, with what the newer protocol asks of results."""
        fresh = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}

        async def handle(asking: Asking, _params: object) -> dict[str, Any]:
            params = dict(asking.params or {})

            def work() -> dict[str, Any]:
                return METHODS[method](self._offer, self._acting(asking), params)

            result = await self._run(asking, params, work)
            return {**result, "resultType": "complete", **fresh}

        return handle

    async def _run(
        self, asking: Asking, params: dict[str, Any], work: Callable[[], Outcome]
    ) -> Outcome:
        """Do the work of a request in a thread, where need be one that the web server divides."""
        if self._run_operation is None:
            return await _in_thread(work)
        given = params.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        running = self._run_operation(
            self._acting(asking), self._operation(params), arguments, partial(answering, work)
        )
        try:
            result: Outcome = await running
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from error
        except LooseleafError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error), {"code": error.code}) from error
        return result

    def _operation(self, params: dict[str, Any]) -> Operation | None:
        try:
            return pick_tool(self._offer.tools, str(params.get("name", ""))).operation
        except ToolMissing:
            return None  # another request than a tool's, or one that is refused anyway

    async def _subscribe(
        self, asking: Asking, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        state = await _in_thread(lambda: state_of_page(self._acting(asking), params.uri))
        await self.watching.subscribe(session_of(asking), params.uri, asking.session, state)
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
        filters = params.notifications
        uris = filters.resource_subscriptions or []
        if len(uris) > MOST_URIS:
            raise MCPError(types.INVALID_PARAMS, f"At most {MOST_URIS} pages in one subscription.")
        watched: list[str] = []
        with self.watching.leaving(watched):
            for uri in dict.fromkeys(uris):
                state = await _in_thread(partial(self._state_of_page, asking, uri))
                await self.watching.watch(uri, state)
                watched.append(uri)
            lists = bool(filters.resources_list_changed) and self._tell_of_lists
            if lists:
                await self.watching.watch(LIST, state_of_list(partial(self._acting, asking)))
                watched.append(LIST)
            # Tools and prompts never change while a server runs.
            honored = types.SubscriptionFilter(
                resource_subscriptions=uris or None, resources_list_changed=lists or None
            )
            narrowed = params.model_copy(update={"notifications": honored})
            return await self.watching.listen(asking, narrowed)

    def _state_of_page(self, asking: Asking, uri: str) -> Callable[[], object]:
        return state_of_page(self._acting(asking), uri)


_PARAMETERS: dict[str, type[Any]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
}


def session_of(asking: Asking) -> str:
    """Name the session that asks, as far as the transport has sessions."""
    return asking.request.headers.get("mcp-session-id", "") if asking.request else ""


def client_of(asking: Asking) -> str:
    """Name the program that asks, as it calls itself; for the history."""
    known = asking.session.client_params
    return client_name({"name": known.client_info.name} if known else None)


async def _in_thread(work: Callable[[], Outcome]) -> Outcome:
    """Run what may block in a worker thread; our errors become the SDK's."""
    try:
        return await anyio.to_thread.run_sync(answering, work)
    except ProtocolError as error:
        raise MCPError(error.code, error.message, error.data) from error
