"""The application: every address, wired to a workspace."""

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
from looseleaf.mcp_server.http import HttpServer
from looseleaf.memory.scope import PAGE_SUFFIXES
from looseleaf.web import abilities, answers, explorer, health, metrics, pages, sessions
from looseleaf.web.body_budget import BodyBudget
from looseleaf.web.calls import respond
from looseleaf.web.chat import TALKING
from looseleaf.web.endpoints import ENDPOINTS, NAMESPACE
from looseleaf.web.guard import Guard
from looseleaf.web.health import Trouble
from looseleaf.web.hot import HotPages
from looseleaf.web.metrics import ROUTE, Metrics
from looseleaf.web.problems import Problem
from looseleaf.web.reception import Reception
from looseleaf.web.whole_body import WholeBody
from looseleaf.web.workers import Workers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from looseleaf.agents.access import Principal
    from looseleaf.web.endpoints import Endpoint
    from looseleaf.workspace import Workspace

    Handler = Callable[[Request], Awaitable[Response]]


class PageName(Convertor[str]):
    """A part of an address that ends as the names of pages do."""

    regex = rf".+(?i:{'|'.join(map(re.escape, PAGE_SUFFIXES))})"

    def convert(self, value: str) -> str:
        """Take the name as it is; the operation judges it."""
        return value

    def to_string(self, value: str) -> str:
        """Write the name as it is."""
        return value


register_url_convertor("page", PageName())
PAGE = f"{NAMESPACE}/files/agent/{{file:page}}"
NO_PAGE = f"{NAMESPACE}/files/agent/{{file:path}}"  # what ends otherwise: refused by its name
DAY = f"{NAMESPACE}/files/agent/daily/{{year}}/{{month}}/{{day}}"
MCP = "/mcp"
WRITING = ("PUT", "POST", "PATCH")  # all three replace, as in the original plugin

pages_methods: dict[str, Handler] = {
    "GET": pages.read_page,
    **dict.fromkeys(WRITING, pages.write_page),
    "DELETE": pages.delete_page,
}
# Handlers by address and method.
HANDLERS: dict[str, dict[str, Handler]] = {
    DAY: {
        "GET": pages.read_day,
        **dict.fromkeys(WRITING, pages.write_day),
        "DELETE": pages.delete_day,
    },
    PAGE: pages_methods,
    NO_PAGE: pages_methods,
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
    "/login": {"GET": explorer.login_page, "POST": sessions.sign_in},
    "/logout": {"POST": sessions.sign_out},
    "/session": {"GET": sessions.show_session},
    "/health": {"GET": health.show_health},
    "/metrics": {"GET": metrics.show_metrics},
    "/openapi.json": {"GET": explorer.openapi},
    "/docs": {"GET": explorer.docs_page},
    "/": {"GET": explorer.docs_page},
    "/static/{name}": {"GET": explorer.static_file},
}


def application(workspace: Workspace, *, stateless: bool = False) -> ASGIApp:
    """Make the server's application over a workspace; stateless where several processes do."""
    figures, trouble, reception = Metrics(), Trouble(), Reception(workspace)
    workers, budget = Workers(), BodyBudget()
    memory = mcp_server(workspace, reception, workers, stateless=stateless)

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        try:
            async with memory.running():
                yield
        finally:
            workspace.close()

    def of_error(request: Request, error: Exception) -> Response:
        trouble.note(error)
        return answers.of_error(request, error)

    app = Starlette(
        routes=[*routes(), Route(MCP, WholeBody(memory, reception, budget))],
        lifespan=running,
        exception_handlers={
            Problem: answers.of_problem,
            LooseleafError: of_error,
            HTTPException: answers.of_http,
            Exception: answers.of_failure,
        },
    )
    app.router.redirect_slashes = False
    app.state.reception = reception
    app.state.metrics, app.state.trouble = figures, trouble
    app.state.workers, app.state.body_budget = workers, budget
    return Guard(HotPages(app, reception), hosts=workspace.settings.allowed_hosts, metrics=figures)


def mcp_server(
    workspace: Workspace, reception: Reception, workers: Workers, *, stateless: bool
) -> HttpServer:
    """Make the MCP server, for whoever the reception knows."""

    def principal_of(scope: Scope) -> Principal:
        scope[ROUTE] = MCP
        return reception.principal(HTTPConnection(scope))

    full = workspace.settings.mcp_tools == "full"
    return HttpServer(
        workspace,
        principal_of,
        full=full,
        stateless=stateless,
        run_operation=workers.run,
        is_current=reception.authentication.is_current,
    )


def routes() -> list[Route]:
    """Give a route for every address, in the order in which they are tried."""
    table: dict[str, dict[str, Handler]] = {path: dict(found) for path, found in HANDLERS.items()}
    for endpoint in ENDPOINTS:
        handler = TALKING.get(endpoint.operation) or _calling(endpoint)
        table.setdefault(NAMESPACE + endpoint.path, {})[endpoint.method] = handler
    # Pages first, since they are asked for most; then addresses without names in them.
    order = sorted(table, key=lambda path: (path != PAGE, path == NO_PAGE, "{" in path))
    return [Route(path, Resource(path, table[path])) for path in order]


def _calling(endpoint: Endpoint) -> Handler:
    async def call(request: Request) -> Response:
        return await respond(request, endpoint)

    return call


class Resource:
    """One address: answers with the handler of the method, whatever the method."""

    def __init__(self, path: str, by_method: dict[str, Handler]) -> None:
        self.path = path
        self.by_method = dict(by_method)
        if "GET" in by_method:
            self.by_method["HEAD"] = by_method["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope[ROUTE] = self.path
        handler = self.by_method.get(scope["method"])
        if handler is None:
            raise HTTPException(405, headers={"allow": ", ".join(sorted(self.by_method))})
        response = await handler(Request(scope, receive, send))
        await response(scope, receive, send)
