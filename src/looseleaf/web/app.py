"""The web application: all routes, connected to a workspace."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.web import health, login
from looseleaf.web.admin.site import AdminSite, site_of
from looseleaf.web.health import ROUTE, Metrics, RecentFaults, TaskAttention
from looseleaf.web.http import responses
from looseleaf.web.http.authentication import Authenticator
from looseleaf.web.http.bodies import BodyBudget, BufferedBody
from looseleaf.web.http.guard import Guard
from looseleaf.web.http.request_log import RecentRequests, activity_of
from looseleaf.web.http.responses import JSON, RequestError, encode_json
from looseleaf.web.http.workers import OpenStreams, ServerThreads
from looseleaf.web.rest import abilities, pages
from looseleaf.web.rest.calls import authenticator_of, respond
from looseleaf.web.rest.endpoints import DAY, NAMESPACE, list_endpoints
from looseleaf.web.rest.openapi import build_document
from looseleaf.web.rest.pages import FastPageReads
from looseleaf.web.uploads import MOST_UPLOADS, OVERHEAD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.access.principals import Principal
    from looseleaf.mcp.http import HttpServer
    from looseleaf.plugins.endpoints import Endpoint
    from looseleaf.workspace import Workspace

    Handler = Callable[[Request], Awaitable[Response]]


# The description of the API: for people a page that lists every route, for programs OpenAPI.


async def show_api(request: Request) -> Response:
    """Return the page that lists every route; it reads /openapi.json."""
    return site_of(request).bare_page(request, "api.html", {"title": "API"})


async def show_openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    state = request.app.state
    if not hasattr(state, "openapi"):
        context = authenticator_of(request).workspace.context
        state.openapi = encode_json(build_document(context))
    return Response(state.openapi, media_type=JSON)


# The MCP server at `/mcp`, loaded while the web server already answers.
# The official SDK takes longer to import than everything else of the server together. A request
# to `/mcp` waits until the SDK is loaded; no other request waits.


class McpMount:
    """An ASGI application in front of the MCP server, which is built in a thread of its own.

    `on_load` is called in that thread when the server is built.
    """

    def __init__(
        self, build: Callable[[], HttpServer], on_load: Callable[[], None] = lambda: None
    ) -> None:
        self._build, self._on_load = build, on_load
        self._server: asyncio.Future[HttpServer] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the MCP server and let it serve during the block."""
        server = self._server = asyncio.get_running_loop().create_future()
        is_over = asyncio.Event()
        # One task enters and leaves the server, as its task groups require.
        task = asyncio.create_task(self._serve(server, is_over))
        try:
            yield
        finally:
            is_over.set()
            await task
            if not server.done():
                server.cancel()

    async def _serve(self, ready: asyncio.Future[HttpServer], is_over: asyncio.Event) -> None:
        try:
            server = await asyncio.to_thread(self._load)
        except Exception as error:  # noqa: BLE001 - every request to /mcp gets the error
            ready.set_exception(error)
            ready.exception()  # retrieved here, since perhaps no request does
            return
        async with server.running():
            ready.set_result(server)
            await is_over.wait()

    def _load(self) -> HttpServer:
        server = self._build()
        self._on_load()
        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, once the MCP server is loaded."""
        if self._server is None:
            raise RuntimeError("the MCP server is called outside `running`")
        server = await asyncio.shield(self._server)
        await server(scope, receive, send)


class PageName(Convertor[str]):
    """A part of a path that ends like the name of a page."""

    regex = rf".+(?i:{'|'.join(map(re.escape, PAGE_SUFFIXES))})"

    def convert(self, value: str) -> str:
        """Accept the name as it is; the operation judges it."""
        return value

    def to_string(self, value: str) -> str:
        """Write the name as it is."""
        return value


register_url_convertor("page", PageName())
PAGE = f"{NAMESPACE}/files/agent/{{file:page}}"
OTHER_FILE = (
    f"{NAMESPACE}/files/agent/{{file:path}}"  # any other ending; the operation refuses the name
)
MCP = "/mcp"
WRITE_METHODS = ("PUT", "POST", "PATCH")  # all three replace, as in the original plugin

pages_methods: dict[str, Handler] = {
    "GET": pages.read_page,
    **dict.fromkeys(WRITE_METHODS, pages.write_page),
    "DELETE": pages.delete_page,
}
# Handlers by address and method.
HANDLERS: dict[str, dict[str, Handler]] = {
    DAY: {
        "GET": pages.read_day,
        **dict.fromkeys(WRITE_METHODS, pages.write_day),
        "DELETE": pages.delete_day,
    },
    PAGE: pages_methods,
    OTHER_FILE: pages_methods,
    abilities.ABILITIES: {"GET": abilities.list_abilities},
    f"{abilities.ABILITIES}/{{name:path}}/run": {
        "GET": abilities.run_ability,
        "POST": abilities.run_ability,
    },
    f"{abilities.ABILITIES}/{{name:path}}": {"GET": abilities.show_ability},
    abilities.OPERATIONS: {"GET": abilities.list_operations},
    f"{abilities.OPERATIONS}/{{name:path}}": {
        "GET": abilities.show_operation,
        "POST": abilities.run_operation,
    },
    "/login": {"GET": login.show_login, "POST": login.sign_in},
    "/logout": {"POST": login.sign_out},
    "/session": {"GET": login.show_session},
    "/health": {"GET": health.show_health},
    "/metrics": {"GET": health.show_metrics},
    "/openapi.json": {"GET": show_openapi},
    "/docs": {"GET": show_api},
    "/": {"GET": login.redirect_to_admin},
}


def build_application(
    workspace: Workspace, *, stateless: bool = False, on_load: Callable[[], None] = lambda: None
) -> ASGIApp:
    """Build the web application of a workspace; stateless for several worker processes.

    `on_load` is called once all parts are loaded; some parts load only after the first answers.
    """
    request_metrics, faults, authenticator = Metrics(), RecentFaults(), Authenticator(workspace)
    recent = RecentRequests()
    workers, budget, admin = ServerThreads(), BodyBudget(), AdminSite(workspace, recent)
    memory = McpMount(
        lambda: build_mcp_server(workspace, authenticator, workers, stateless=stateless), on_load
    )

    @asynccontextmanager
    async def run_lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            async with memory.running():
                yield
        finally:
            workspace.close()

    def answer_error(request: Request, error: Exception) -> Response:
        faults.note(error)
        return responses.answer_error(request, error)

    app = Starlette(
        routes=[
            *list_routes(list_endpoints(workspace).all()),
            *admin.routes(),
            Route(MCP, BufferedBody(memory, authenticator, budget)),
        ],
        lifespan=run_lifespan,
        exception_handlers={
            RequestError: responses.answer_problem,
            LooseleafError: answer_error,
            HTTPException: responses.answer_http_error,
            Exception: responses.answer_failure,
        },
    )
    app.router.redirect_slashes = False
    app.state.authenticator, app.state.admin = authenticator, admin
    app.state.metrics, app.state.recent_faults = request_metrics, faults
    app.state.task_attention = TaskAttention()
    app.state.workers, app.state.body_budget = workers, budget
    upload_bytes = workspace.settings.max_upload_bytes + OVERHEAD
    app.state.upload_budget = BodyBudget(MOST_UPLOADS * upload_bytes)
    app.state.open_streams = OpenStreams()
    return Guard(
        app,
        answer_fast=FastPageReads(authenticator).answer,
        hosts=workspace.settings.allowed_hosts,
        metrics=request_metrics,
        recent=recent,
    )


def build_mcp_server(
    workspace: Workspace, authenticator: Authenticator, workers: ServerThreads, *, stateless: bool
) -> HttpServer:
    """Build the MCP server with the authentication of the web server."""
    from looseleaf.mcp.http import HttpServer

    def principal_of(scope: Scope) -> Principal:
        scope[ROUTE] = MCP
        return authenticator.principal(HTTPConnection(scope))

    full = workspace.settings.mcp_tools == "full"
    return HttpServer(
        workspace,
        principal_of,
        full=full,
        stateless=stateless,
        run_operation=workers.run,
        is_current=authenticator.authentication.is_current,
        activity_of=activity_of,
    )


def list_routes(endpoints: Iterable[Endpoint]) -> list[Route]:
    """Return the routes in the order in which they are tried."""
    table: dict[str, dict[str, Handler]] = {
        path: dict(handlers) for path, handlers in HANDLERS.items()
    }
    for endpoint in endpoints:
        table.setdefault(NAMESPACE + endpoint.path, {}).setdefault(
            endpoint.method, _build_handler(endpoint)
        )
    # Pages first, since they are requested most; then paths without parameters.
    order = sorted(table, key=lambda path: (path != PAGE, path == OTHER_FILE, "{" in path))
    return [Route(path, Resource(path, table[path])) for path in order]


def _build_handler(endpoint: Endpoint) -> Handler:
    handler = endpoint.handler or respond

    async def call(request: Request) -> Response:
        response: Response = await handler(request, endpoint)
        return response

    return call


class Resource:
    """One path, with a handler for each method."""

    def __init__(self, path: str, by_method: dict[str, Handler]) -> None:
        self.path = path
        self.by_method = dict(by_method)
        if "GET" in by_method:
            self.by_method["HEAD"] = by_method["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        scope[ROUTE] = self.path
        handler = self.by_method.get(scope["method"])
        if handler is None:
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.by_method))})
        response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)
