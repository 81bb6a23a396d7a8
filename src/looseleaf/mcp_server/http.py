"""Many clients over streamable HTTP: an ASGI application for a server that knows who asks."""

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

from looseleaf.agents.access import confine_model, through
from looseleaf.errors import LooseleafError, Unavailable
from looseleaf.mcp_server.offer import Offer, instructions
from looseleaf.mcp_server.server import MemoryServer, client_of
from looseleaf.mcp_server.session_limit import SessionLimit
from looseleaf.mcp_server.stdio import longest_message
from looseleaf.operations.context import agent_of
from looseleaf.operations.tools import operation_tools
from looseleaf.values import changed

if TYPE_CHECKING:
    from collections.abc import (
        AsyncIterator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        MutableMapping,
    )

    from looseleaf.agents.access import Principal
    from looseleaf.mcp_server.server import Asking, RunOperation
    from looseleaf.operations.context import Context
    from looseleaf.workspace import Workspace

    Message = MutableMapping[str, Any]
    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    PrincipalOf = Callable[[Scope], Principal | None]

_ACTING = "looseleaf.principal"
LOOK_SECONDS = 0.5  # between two looks whether the credential of a request still counts
_SESSION = b"mcp-session-id"
_CONDITIONS = (b"if-match", b"if-none-match")


class HttpServer:
    """An ASGI application; whoever mounts it runs `running` for as long as it serves.

    `principal_of` gives the one who asks from the request's scope, or None for nobody. Checks of
    Host and Origin belong to the one who mounts it. `stateless` is for several worker processes:
    any of them can answer, but clients of the older protocol hear of no changes. `is_current` says
    whether a credential still counts: a stream whose credential was revoked is ended.
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
    ) -> None:
        self._is_current = is_current
        self._workspace = workspace
        self._principal_of = principal_of
        self._full = full
        offer = Offer(operation_tools(workspace.context, full=full))
        self._memory = MemoryServer(self._acting, offer, run_operation=run_operation)
        self._limit = SessionLimit()
        self._sessions = StreamableHTTPSessionManager(
            self._memory.server,
            stateless=stateless,
            max_request_body_size=longest_message(workspace.settings.max_page_bytes),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the end; once for each instance."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as the one who asks."""
        if any(name in _CONDITIONS for name, _ in scope["headers"]):
            message = "MCP keeps no If-Match: name the version in the argument if_match of a tool."
            await _refuse(send, 400, "precondition_unsupported", message)
            return
        principal = self._principal_of(scope)
        if principal is None:
            await _refuse(send, 401, "unauthenticated", "Show a token: Authorization: Bearer …")
            return
        try:
            principal = self._narrowed(principal, scope)
        except LooseleafError as error:
            await _refuse(send, 403, error.code, str(error))
            return
        # The session manager refuses a session to anyone but the user who began it.
        self._memory.server.instructions = instructions(self._workspace.database.settings())
        user = AuthenticatedUser(AccessToken(token="", client_id=_identity(principal), scopes=[]))
        known = {**scope, _ACTING: principal, "user": user}
        owner, session = _identity(principal), _header(scope["headers"], _SESSION)

        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start" and message["status"] < 400:
                used = session or _header(message.get("headers", ()), _SESSION)
                for oldest in self._limit.use(owner, used) if used else ():
                    await self._end(known, oldest)
            await send(message)

        with anyio.CancelScope() as cancelling, self._watching_credential(principal, cancelling):
            await self._sessions.handle_request(known, receive, noting)
        if cancelling.cancelled_caught:
            await self._end_revoked(known, session, send, has_begun=has_begun)
        if scope["method"] == "DELETE":
            self._memory.watching.unsubscribe(session)
            self._limit.end(owner, session)

    @contextmanager
    def _watching_credential(
        self, principal: Principal, cancelling: anyio.CancelScope
    ) -> Iterator[None]:
        """Cancel a request that lasts, such as a stream, when its credential counts no more."""
        is_current, loop = self._is_current, asyncio.get_running_loop()
        if is_current is None:
            yield
            return

        timers: list[asyncio.TimerHandle] = []

        def look() -> None:
            try:
                if not is_current(principal):
                    cancelling.cancel()
                    return
            except Unavailable:
                pass  # the database is asked again
            timers[:] = [loop.call_later(LOOK_SECONDS, look)]

        timers.append(loop.call_later(LOOK_SECONDS, look))
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
        """End a session as its client would."""
        others = [one for one in scope["headers"] if one[0] != _SESSION]
        headers = [*others, (_SESSION, session.encode("latin-1"))]
        ending = {**scope, "method": "DELETE", "headers": headers}
        await self._sessions.handle_request(ending, _no_body, _ignore)
        self._memory.watching.unsubscribe(session)

    def _narrowed(self, principal: Principal, scope: Scope) -> Principal:
        """Bind the one who asks to the agent that the address names, as in /mcp?agent=ada."""
        named = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("agent", [""])[-1]
        if not named and not principal.is_local:
            return principal
        user = principal.user_id or self._workspace.settings.default_user
        if not named:
            return through(principal, 0, user=user)
        context = self._workspace.acting(principal=principal, surface="mcp").during("read")
        return through(principal, agent_of(context, named).id, user=user)

    def _acting(self, asking: Asking) -> Context:
        principal: Principal = asking.request.scope[_ACTING]  # type: ignore[union-attr]
        principal = changed(principal, is_model=True)
        if not self._full:
            principal = confine_model(principal)
        if not principal.name:
            principal = changed(principal, name=client_of(asking))
        return self._workspace.acting(principal=principal, surface="mcp")


def _identity(principal: Principal) -> str:
    """Name whom a session belongs to: the same credential, narrowed to the same agent."""
    return f"{principal.kind}/{principal.user_id}/{principal.credential}/{principal.agent_id}"


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return next((text.decode("latin-1") for one, text in headers if one.lower() == name), "")


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_message: Message) -> None:
    return None


async def _refuse(send: Send, status: int, code: str, message: str) -> None:
    told = {"code": code, "message": message, "data": {"status": status}}
    body = json.dumps(told, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
