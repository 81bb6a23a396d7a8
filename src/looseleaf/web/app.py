"""The web application: all routes, connected to a workspace."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.routing import Route

from looseleaf.errors import LooseleafError
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.web import api_page, health, login, metrics
from looseleaf.web.admin.site import AdminSite
from looseleaf.web.health import RecentFaults, TaskAttention
from looseleaf.web.http import responses
from looseleaf.web.http.authentication import Authenticator
from looseleaf.web.http.body_budget import BodyBudget
from looseleaf.web.http.buffered_body import BufferedBody
from looseleaf.web.http.guard import Guard
from looseleaf.web.http.open_streams import OpenStreams
from looseleaf.web.http.recent_requests import RecentRequests
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.http.request_id import activity_of
from looseleaf.web.http.workers import ServerThreads
from looseleaf.web.mcp_mount import McpMount
from looseleaf.web.metrics import ROUTE, Metrics
from looseleaf.web.rest import abilities, pages
from looseleaf.web.rest.calls import respond
from looseleaf.web.rest.endpoints import DAY, NAMESPACE, list_endpoints
from looseleaf.web.rest.fast_read import FastPageReads
from looseleaf.web.uploads import MOST_UPLOADS, OVERHEAD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.access.principals import Principal
    from looseleaf.mcp_server.http import HttpServer
    from looseleaf.plugins.endpoints import Endpoint
    from looseleaf.workspace import Workspace

    Handler = Callable[[Request], Awaitable[Response]]


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
    "/metrics": {"GET": metrics.show_metrics},
    "/openapi.json": {"GET": api_page.show_openapi},
    "/docs": {"GET": api_page.show_api},
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
    from looseleaf.mcp_server.http import HttpServer

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
