"""Many clients over streamable HTTP: an ASGI application for a server that authenticates."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from looseleaf.access.principals import act_through, confine_model
from looseleaf.catalog.resolution import agent_of
from looseleaf.catalog.tools.operation_tools import list_operation_tools
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.mcp_server.features import Features, build_instructions
from looseleaf.mcp_server.sdk_server import MemoryServer, client_of, session_of
from looseleaf.mcp_server.session_limit import SessionLimit
from looseleaf.mcp_server.stdio import compute_message_limit
from looseleaf.memory.provenance import SESSION, Activity, is_activity_id
from looseleaf.values import replace

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        MutableMapping,
    )

    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.mcp_server.sdk_server import RequestContext, RunOperation
    from looseleaf.workspace import Workspace

    Message = MutableMapping[str, Any]
    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    PrincipalOf = Callable[[Scope], Principal | None]

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
