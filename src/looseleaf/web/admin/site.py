"""The admin site of a server: its pages as routes, signed-in people only, errors as pages."""

from __future__ import annotations

import gzip
import sys
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from looseleaf.errors import LooseleafError
from looseleaf.errors.operations import Unauthenticated
from looseleaf.plugins.admin_pages import (
    AGENT,
    BASE,
    WORKSPACE,
    AdminPages,
    Document,
    Download,
    Redirect,
    UploadedFile,
    Visit,
)
from looseleaf.values import replace, value
from looseleaf.version import __version__
from looseleaf.web.admin.forms import SURFACE, has_file, read_form, read_form_with_file
from looseleaf.web.admin.registration import register_pages
from looseleaf.web.admin.templating import open_templates, template_name_of
from looseleaf.web.admin.views import editor
from looseleaf.web.health import ROUTE
from looseleaf.web.http.authentication import csrf_token_of, session_cookie_of
from looseleaf.web.http.guard import OWN_CACHING, OWN_POLICY
from looseleaf.web.http.responses import RequestError, status_of
from looseleaf.web.rest.calls import authenticator_of, workers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.plugins.admin_pages import AdminPage, View
    from looseleaf.web.http.request_log import RecentRequests
    from looseleaf.workspace import Workspace


# The Content-Security-Policy of every page for people: only our own scripts and styles.


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'; trusted-types looseleaf"
)


# Scripts and styles of the admin site: read and compressed once, cached by browsers by version.


TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_LONG = "private, max-age=31536000, immutable"


class StaticFile(NamedTuple):
    """A file as it is sent."""

    media_type: str
    content: bytes
    gzip_content: bytes


@cache
def read_static_files() -> dict[str, StaticFile]:
    """Read every script and style of the package."""
    by_name = {}
    for path in files("looseleaf.web.admin").joinpath("static").iterdir():
        media_type = TYPES.get(path.name.rpartition(".")[2])
        if media_type:
            content = path.read_bytes()
            by_name[path.name] = StaticFile(media_type, content, gzip.compress(content, mtime=0))
    return by_name


@cache
def compute_version() -> str:
    """Hash all files, so that the version changes whenever a file does."""
    digest = sha256()
    for name, file in sorted(read_static_files().items()):
        digest.update(name.encode() + b"\0" + file.content)
    return digest.hexdigest()[:12]


async def show_static_file(request: Request) -> Response:
    """Return a script or a style; browsers may cache it under its version."""
    file = read_static_files().get(request.path_params["name"])
    if file is None:
        raise HTTPException(404)
    headers = {"vary": "accept-encoding"}
    if request.path_params.get("version") == compute_version():
        request.scope[OWN_CACHING] = headers["cache-control"] = _LONG
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        return Response(file.gzip_content, headers=headers, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


# The frame around every page: the workspace, the signed-in person, agents, navigation.


MOST_AGENTS = 12  # in the side bar; the page of all agents has the others


@value
class Link:
    """An entry of the navigation."""

    label: str
    address: str
    is_here: bool


@value(kw_only=True)
class Frame:
    """The data that every template has besides its own."""

    workspace: str
    user: str
    agent: AgentRecord | None  # the agent that the page is about
    agents: tuple[AgentRecord, ...]  # in the side bar
    agent_count: int
    agent_links: tuple[Link, ...]
    workspace_links: tuple[Link, ...]
    query: str  # in the search box
    csrf: str
    static: str
    version: str


def build_frame(pages: AdminPages, page: AdminPage | None, visit: Visit, csrf: str) -> Frame:
    """Build the frame of a page, with the agents that the signed-in person may see."""
    agents: list[AgentRecord] = visit.run("looseleaf/list-agents")
    slug = visit.parameters.get("agent", "")
    agent = next(
        (record for record in agents if slug in (record.slug, str(record.id))),
        None,
    )
    if agent is None and len(agents) == 1:
        agent = agents[0]
    return Frame(
        workspace=visit.context.settings.display_name,
        user=visit.context.principal.name,
        agent=agent,
        agents=_choose_side_agents(agents, agent),
        agent_count=len(agents),
        agent_links=_build_links(pages, page, AGENT, agent.slug) if agent else (),
        workspace_links=_build_links(pages, page, WORKSPACE, ""),
        query=visit.query.get("q", "") if page is not None and page.name == "search" else "",
        csrf=csrf,
        static=f"/static/{compute_version()}",
        version=__version__,
    )


def _choose_side_agents(
    agents: list[AgentRecord], agent: AgentRecord | None
) -> tuple[AgentRecord, ...]:
    """Choose the agents of the side bar: the first ones by slug, and the agent of the page."""
    active = [record for record in agents if record.status == "active"] or agents
    side_agents = active[:MOST_AGENTS]
    if agent is not None and agent not in side_agents:
        side_agents = sorted(
            [*side_agents[: MOST_AGENTS - 1], agent], key=lambda record: record.slug
        )
    return tuple(side_agents)


def _build_links(
    pages: AdminPages, page: AdminPage | None, section: str, agent: str
) -> tuple[Link, ...]:
    return tuple(
        Link(entry.label, entry.link(agent), page is not None and _is_part(page, entry))
        for entry in pages.labelled(section)
    )


def _is_part(page: AdminPage, entry: AdminPage) -> bool:
    """Return whether a page is an entry of the navigation itself, or belongs to the entry."""
    return page is entry or page.parent == entry.name


NOTICE_COOKIE = "looseleaf_notice"


class AdminSite:
    """The pages of one workspace, ours and those of plugins."""

    def __init__(self, workspace: Workspace, recent: RecentRequests) -> None:
        pages = AdminPages()
        register_pages(pages, recent)
        self.pages = workspace.registries.fill_admin_pages(pages)
        self.templates = open_templates(self.pages, workspace.clock)

    def routes(self) -> list[Route]:
        """Return a route for every page; a page that takes the rest of an address comes last."""
        order = sorted(self.pages.all(), key=lambda page: (":path}" in page.path, page.path))
        fixed_routes = [
            Route("/static/{version}/{name}", show_static_file),
            Route("/static/{name}", show_static_file),
            Route(editor.PREVIEW_PATH, editor.show_preview, methods=["POST"]),
            Route(editor.CHANGES_PATH, editor.show_changes),
        ]
        answers = [(page.path, partial(self._answer, page)) for page in order]
        return [
            *fixed_routes,
            *(Route(path, view, methods=["GET", "POST"]) for path, view in answers),
        ]

    def bare_page(
        self, request: Request, template: str, data: Mapping[str, Any], status: int = 200
    ) -> Response:
        """Return a page without the frame, for people who need not be signed in."""
        request.scope[OWN_POLICY] = POLICY
        static = f"/static/{compute_version()}"
        html = self.templates.get_template(template).render(data, static=static)
        headers = {"content-security-policy": POLICY, "cross-origin-opener-policy": "same-origin"}
        return HTMLResponse(html, status, headers)

    async def _answer(self, page: AdminPage, request: Request) -> Response:
        request.scope[ROUTE] = page.path
        request.scope[OWN_POLICY] = POLICY
        try:
            if request.method == "POST":
                return await self._take(page, request)
            return await self._show(page, request)
        except Unauthenticated:
            return _to_login(request)
        except (LooseleafError, RequestError, HTTPException) as error:
            return await self._explain(request, error)

    async def _show(self, page: AdminPage, request: Request) -> Response:
        visit = _build_visit(request, authenticator_of(request).context(request, SURFACE), {})
        work = partial(self._render, page, page.view, visit, request)
        return await workers_of(request).read(visit.context.principal.user_id, work)

    async def _take(self, page: AdminPage, request: Request) -> Response:
        """Submit a form; show a refused form again, with the reason and the typed values."""
        if page.submit is None:
            raise HTTPException(405, headers={"allow": "GET, HEAD"})
        if page.takes_file and has_file(request):
            form, upload = await read_form_with_file(request)
            try:
                file = UploadedFile(upload.filename or "", upload.file)
                return await self._take_form(page, request, form, file)
            finally:
                await upload.close()
        return await self._take_form(page, request, await read_form(request))

    async def _take_form(
        self,
        page: AdminPage,
        request: Request,
        form: Mapping[str, str],
        file: UploadedFile | None = None,
    ) -> Response:
        visit = _build_visit(request, authenticator_of(request).context(request, SURFACE), form)
        visit, workers = replace(visit, file=file), workers_of(request)
        submit = page.submit or page.view
        try:
            work = partial(self._render, page, submit, visit, request)
            return await workers.write(visit.context.principal.user_id, work)
        except Unauthenticated:
            raise
        except LooseleafError as error:
            second_visit = replace(visit, problem=error, file=None)
            work = partial(self._render, page, page.view, second_visit, request)
            response = await workers.write(visit.context.principal.user_id, work)
            response.status_code = status_of(error)
            return response

    def _render(self, page: AdminPage, view: View, visit: Visit, request: Request) -> Response:
        result = view(visit)
        if isinstance(result, Redirect):
            response: Response = RedirectResponse(result.address, 303)
            if result.notice:
                _keep_notice(response, result.notice)
        elif isinstance(result, Download):
            response = Response(result.text, media_type=result.media_type)
            disposition = f"attachment; filename*=utf-8''{quote(result.name, safe='')}"
            response.headers["content-disposition"] = disposition
        else:
            response = self._render_document(page, result, visit, request)
        response.headers["content-security-policy"] = POLICY
        return response

    def _render_document(
        self, page: AdminPage | None, document: Document, visit: Visit, request: Request
    ) -> Response:
        frame = build_frame(self.pages, page, visit, csrf_token_of(session_cookie_of(request)))
        notice = unquote(request.cookies.get(NOTICE_COOKIE, ""))
        owner = page.owner if page is not None else "looseleaf"
        html = self.templates.get_template(template_name_of(document, owner)).render(
            document.data,
            frame=frame,
            title=document.title,
            notice=notice,
            problem=describe_error(visit.problem)[1] if visit.problem else "",
            form=visit.form,
        )
        response = HTMLResponse(html, document.status)
        if notice:
            response.delete_cookie(NOTICE_COOKIE, path=BASE, httponly=True, samesite="strict")
        return response

    async def _explain(self, request: Request, error: Exception) -> Response:
        """Respond with a page about the error, within the frame if someone is signed in."""
        status, message = describe_error(error)
        document = Document(
            "error.html", TITLES.get(status, "Something is wrong"), {"message": message}, status
        )
        try:
            context = authenticator_of(request).context(_as_get_request(request), SURFACE)
            work = partial(
                self._render_document, None, document, _build_visit(request, context, {}), request
            )
            response = await workers_of(request).read(context.principal.user_id, work)
        except (LooseleafError, RequestError):
            raise error from None
        response.headers["content-security-policy"] = POLICY
        return response


def site_of(request: Request) -> AdminSite:
    """Return the admin site of the server that answers a request."""
    site: AdminSite = request.app.state.admin
    return site


TITLES = {
    403: "Not allowed",
    404: "Not found",
    409: "Changed elsewhere",
    503: "Not available",
}


def describe_error(error: Exception) -> tuple[int, str]:
    """Return the status of an error and the sentence that people read."""
    if isinstance(error, LooseleafError):
        status = status_of(error)
        if status == 503:
            sys.stderr.write(f"looseleaf: {error}\n")
            return (
                status,
                "A part of this workspace is not available now. Its operator can see why.",
            )
        return status, str(error)
    if isinstance(error, RequestError):
        return error.status, error.message
    status = getattr(error, "status_code", 500)
    return status, "There is no such page." if status == 404 else "This address takes no form."


def _as_get_request(request: Request) -> Request:
    """Return the request as a GET, so that its principal is found without a CSRF token."""
    return type(request)({**request.scope, "method": "GET"})


def _build_visit(request: Request, context: Context, form: Mapping[str, str]) -> Visit:
    parameters = {name: str(part) for name, part in request.path_params.items()}
    base = f"{request.url.scheme}://{request.url.netloc}"
    return Visit(
        context=context,
        parameters=parameters,
        query=dict(request.query_params),
        form=form,
        base=base,
    )


def _to_login(request: Request) -> Response:
    """Redirect to the sign-in, which leads back to the same page."""
    query = f"?{request.url.query}" if request.url.query else ""
    back = quote(request.url.path + query, safe="/") if request.method == "GET" else BASE
    response = RedirectResponse(f"/login?next={back}", 303)
    response.headers["content-security-policy"] = POLICY
    return response


def _keep_notice(response: Response, notice: str) -> None:
    response.set_cookie(
        NOTICE_COOKIE, quote(notice), max_age=60, path=BASE, httponly=True, samesite="strict"
    )
