"""Many clients over streamable HTTP: an ASGI application for a server that authenticates."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from looseleaf.access.principals import act_through, confine_model
from looseleaf.catalog.operation_tools import list_operation_tools, pick_tool
from looseleaf.catalog.resolution import agent_of
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.errors.operations import ToolMissing
from looseleaf.mcp.methods import (
    CACHEABLE,
    INFORMATION,
    METHODS,
    NAME,
    Features,
    ProtocolError,
    build_instructions,
    build_public_message,
    client_name_of,
    run_request,
)
from looseleaf.mcp.page_changes import (
    LIST,
    MOST_SUBSCRIPTIONS,
    MOST_URIS,
    SECONDS,
    WatchedPages,
    state_of_list,
    state_of_page,
)
from looseleaf.mcp.stdio import compute_message_limit
from looseleaf.memory.provenance import SESSION, Activity, is_activity_id
from looseleaf.values import replace

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        MutableMapping,
    )
    from typing import TypeAlias

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.catalog.operation import Operation
    from looseleaf.mcp.page_changes import State
    from looseleaf.workspace import Workspace

    RequestContext = ServerRequestContext[Any, Any]

    ContextOf: TypeAlias = "Callable[[RequestContext], Context]"

    # How a server with many clients runs an operation: context, operation (or None), arguments.
    RunOperation = Callable[
        [Context, Operation | None, Mapping[str, Any], Callable[[], Any]], Awaitable[Any]
    ]

    Handler: TypeAlias = "Callable[[RequestContext, Any], Awaitable[dict[str, Any]]]"

    Message = MutableMapping[str, Any]

    Scope = MutableMapping[str, Any]

    Receive: TypeAlias = "Callable[[], Awaitable[Message]]"

    Send: TypeAlias = "Callable[[Message], Awaitable[None]]"

    PrincipalOf: TypeAlias = "Callable[[Scope], Principal | None]"


# Notices to clients over HTTP about changed pages, including edits by other programs.


class ChangeNotices:
    """Checks the pages that clients have subscribed to, and notifies them of changes."""

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._pages = WatchedPages()
        self._sessions: dict[tuple[str, str], ServerSession] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check the pages repeatedly during the block, while the server runs."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._check_forever)
            yield
            tasks.cancel_scope.cancel()

    async def watch(self, uri: str, state: State) -> None:
        """Publish an event whenever the state changes, until the address is released."""
        await anyio.to_thread.run_sync(self._pages.watch, uri, state)

    @contextmanager
    def released_at_end(self, uris: list[str]) -> Iterator[None]:
        """Release the addresses at the end of the block, in any case."""
        try:
            yield
        finally:
            for uri in uris:
                self._pages.release(uri)

    async def subscribe(
        self, identity: str, uri: str, session: ServerSession, state: State
    ) -> None:
        """Notify a session of an older protocol about one page from now on."""
        key = (identity, uri)
        if key not in self._sessions:
            await self.watch(uri, state)
        self._sessions[key] = session
        if (
            len(self._sessions) > MOST_SUBSCRIPTIONS
        ):  # of sessions that ended without a DELETE request
            self.unsubscribe(*next(iter(self._sessions)))

    def unsubscribe(self, identity: str, uri: str | None = None) -> None:
        """Stop notifying a session about one page, or about all pages."""
        for key in [key for key in self._sessions if key[0] == identity and uri in (None, key[1])]:
            del self._sessions[key]
            self._pages.release(key[1])

    async def _check_forever(self) -> None:
        while True:
            await anyio.sleep(SECONDS)
            for uri in await anyio.to_thread.run_sync(self._pages.poll_changes):
                await self._publish(uri)

    async def _publish(self, uri: str) -> None:
        if uri == LIST:
            await self.bus.publish(ResourcesListChanged())
            return
        await self.bus.publish(ResourceUpdated(uri))
        for (_, session_uri), session in list(self._sessions.items()):
            if session_uri == uri:
                await session.send_resource_updated(uri)


# The MCP server over the official SDK, for clients over HTTP.


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
            raise _build_mcp_error(error) from error
        except LooseleafError as error:
            message = build_public_message(error)
            raise MCPError(types.INTERNAL_ERROR, message, {"code": error.code}) from error
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
        raise _build_mcp_error(error) from error


def _build_mcp_error(error: ProtocolError) -> MCPError:
    """Build the error of the SDK; a client over HTTP learns nothing of this machine."""
    cause = error.__cause__
    message = build_public_message(cause) if isinstance(cause, LooseleafError) else error.message
    return MCPError(error.code, message, error.data)


# A limit on the open sessions of clients of the older protocol, for each credential.


MOST_SESSIONS = 50  # of one credential
_MOST_OWNERS = 10_000


class SessionLimit:
    """The sessions of each credential, in the order of their last use.

    Programs seldom end their sessions, so a new session replaces the oldest one instead of being
    refused.
    """

    def __init__(self, limit: int = MOST_SESSIONS) -> None:
        self.limit = limit
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def use(self, owner: str, session: str) -> list[str]:
        """Register the use of a session; return the owner's oldest sessions, which must end."""
        sessions = self._sessions.setdefault(owner, OrderedDict())
        sessions[session] = None
        sessions.move_to_end(session)
        self._sessions.move_to_end(owner)
        if len(self._sessions) > _MOST_OWNERS:
            self._sessions.popitem(last=False)
        return [sessions.popitem(last=False)[0] for _ in range(len(sessions) - self.limit)]

    def end(self, owner: str, session: str) -> None:
        """Remove a session that has ended."""
        sessions = self._sessions.get(owner, OrderedDict())
        sessions.pop(session, None)
        if not sessions:
            self._sessions.pop(owner, None)


_PRINCIPAL = "looseleaf.principal"
CHECK_SECONDS = 0.5  # between two checks whether the credential of a request is still valid
_SESSION = b"mcp-session-id"
_CONDITIONS = (b"if-match", b"if-none-match")


class HttpServer:
    """An ASGI application; the server that mounts it enters `running` for as long as it serves.

    `principal_of` returns the principal of a request's scope, or None. The server that mounts the
    application checks Host and Origin. `stateless` is for several worker processes: any of them can
    answer, but clients of the older protocol get no notices. `is_current` says whether a credential
    is still valid: a stream whose credential was revoked is ended. `activity_of` gives a request as
    an activity, for the history of changes outside a session.
    """

    def __init__(
        self,
        workspace: Workspace,
        principal_of: PrincipalOf,
        *,
        full: bool = False,
        stateless: bool = False,
        run_operation: RunOperation | None = None,
        is_current: Callable[[Principal], bool] | None = None,
        activity_of: Callable[[Scope], Activity] | None = None,
    ) -> None:
        self._is_current = is_current
        self._activity_of = activity_of
        self._has_sessions = not stateless
        self._workspace = workspace
        self._principal_of = principal_of
        self._full = full
        features = Features(list_operation_tools(workspace.context, full=full))
        self._memory = MemoryServer(self._context_of, features, run_operation=run_operation)
        self._limit = SessionLimit()
        self._sessions = StreamableHTTPSessionManager(
            self._memory.server,
            stateless=stateless,
            max_request_body_size=compute_message_limit(workspace.settings.max_page_bytes),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve during the block; an instance can serve only once."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as its principal."""
        if any(name in _CONDITIONS for name, _ in scope["headers"]):
            message = "MCP takes no If-Match: name the version in the argument if_match of a tool."
            await _refuse(send, 400, "precondition_unsupported", message)
            return
        principal = self._principal_of(scope)
        if principal is None:
            await _refuse(send, 401, "unauthenticated", "Show a token: Authorization: Bearer …")
            return
        try:
            principal = self._narrow_to_agent(principal, scope)
        except Unavailable:
            raise  # answered as every address of the server does
        except LooseleafError as error:
            await _refuse(send, 403, error.code, str(error))
            return
        # The session manager refuses a session to everyone but the user who started it.
        self._memory.server.instructions = build_instructions(self._workspace.database.settings())
        user = AuthenticatedUser(
            AccessToken(token="", client_id=_identity_of(principal), scopes=[])
        )
        user_scope = {**scope, _PRINCIPAL: principal, "user": user}
        owner, session = _identity_of(principal), _find_header(scope["headers"], _SESSION)

        has_begun = False

        async def send_and_track(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start" and message["status"] < 400:
                session_id = session or _find_header(message.get("headers", ()), _SESSION)
                for oldest in self._limit.use(owner, session_id) if session_id else ():
                    await self._end(user_scope, oldest)
            await send(message)

        with (
            anyio.CancelScope() as cancel_scope,
            self._cancel_when_revoked(principal, cancel_scope),
        ):
            await self._sessions.handle_request(user_scope, receive, send_and_track)
        if cancel_scope.cancelled_caught:
            await self._end_revoked(user_scope, session, send, has_begun=has_begun)
        if scope["method"] == "DELETE":
            self._memory.notices.unsubscribe(session)
            self._limit.end(owner, session)

    @contextmanager
    def _cancel_when_revoked(
        self, principal: Principal, cancel_scope: anyio.CancelScope
    ) -> Iterator[None]:
        """Cancel a long request, such as a stream, when its credential is no longer valid."""
        is_current, loop = self._is_current, asyncio.get_running_loop()
        if is_current is None:
            yield
            return

        timers: list[asyncio.TimerHandle] = []

        def check() -> None:
            try:
                if not is_current(principal):
                    cancel_scope.cancel()
                    return
            except Unavailable:
                pass  # the next check asks the database again
            timers[:] = [loop.call_later(CHECK_SECONDS, check)]

        timers.append(loop.call_later(CHECK_SECONDS, check))
        try:
            yield
        finally:
            timers[0].cancel()

    async def _end_revoked(
        self, scope: Scope, session: str, send: Send, *, has_begun: bool
    ) -> None:
        """Close a stream whose credential was revoked, and its session with it."""
        if has_begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _refuse(send, 401, "unauthenticated", "The credential was revoked.")
        if session:
            await self._end(scope, session)

    async def _end(self, scope: Scope, session: str) -> None:
        """End a session as its client does, by a DELETE request."""
        headers_without_session = [header for header in scope["headers"] if header[0] != _SESSION]
        headers = [*headers_without_session, (_SESSION, session.encode("latin-1"))]
        end_scope = {**scope, "method": "DELETE", "headers": headers}
        await self._sessions.handle_request(end_scope, _receive_nothing, _ignore)
        self._memory.notices.unsubscribe(session)

    def _narrow_to_agent(self, principal: Principal, scope: Scope) -> Principal:
        """Bind the principal to the agent of the address, as in /mcp?agent=ada."""
        agent_name = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("agent", [""])[
            -1
        ]
        if not agent_name and not principal.is_local:
            return principal
        user = principal.user_id or self._workspace.settings.default_user
        if not agent_name:
            return act_through(principal, 0, user=user)
        context = self._workspace.acting(principal=principal, surface="mcp").with_permission("read")
        return act_through(principal, agent_of(context, agent_name).id, user=user)

    def _context_of(self, request: RequestContext) -> Context:
        principal: Principal = request.request.scope[_PRINCIPAL]  # type: ignore[union-attr]
        principal = replace(principal, is_model=True)
        if not self._full:
            principal = confine_model(principal)
        if not principal.name:
            principal = replace(principal, name=client_of(request))
        return self._workspace.acting(
            principal=principal, surface="mcp", activity=self._find_activity(request)
        )

    def _find_activity(self, request: RequestContext) -> Activity | None:
        """Return the session of a request as an activity; without sessions, the request itself."""
        session = session_of(request) if self._has_sessions else ""
        if is_activity_id(session):
            return Activity(SESSION, session)
        if self._activity_of is None or request.request is None:
            return None
        return self._activity_of(request.request.scope)


def _identity_of(principal: Principal) -> str:
    """Return the owner of a session: a credential, narrowed to an agent."""
    return f"{principal.kind}/{principal.user_id}/{principal.credential}/{principal.agent_id}"


def _find_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return next((text.decode("latin-1") for key, text in headers if key.lower() == name), "")


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_message: Message) -> None:
    return None


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    content = {"code": code, "message": message, "data": {"status": status}}
    body = json.dumps(content, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
