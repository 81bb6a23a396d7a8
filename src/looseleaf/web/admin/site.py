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

from looseleaf.errors import Invalid, LooseleafError
from looseleaf.errors.operations import Unauthenticated
from looseleaf.plugins.admin_pages import (
    AGENT,
    BASE,
    GROUPS,
    WORKSPACE,
    AdminPages,
    ConfirmationNeeded,
    Document,
    Download,
    Redirect,
    UploadedFile,
    Visit,
)
from looseleaf.values import replace, value
from looseleaf.version import __version__
from looseleaf.web.admin.forms import SURFACE, has_file, read_form, read_form_with_file
from looseleaf.web.admin.opened_forms import (
    DRAFT,
    OPENED,
    SURE,
    VERSION,
    Difference,
    OpenedForm,
    build_hidden_fields,
    find_form,
    list_differences,
    list_row_differences,
    mark_forms,
)
from looseleaf.web.admin.registration import register_pages
from looseleaf.web.admin.templating import open_templates, template_name_of
from looseleaf.web.admin.views import editor
from looseleaf.web.admin.wording import describe_for_browser, find_way_out
from looseleaf.web.health import ROUTE
from looseleaf.web.http.authentication import SAFE_METHODS, csrf_token_of, session_cookie_of
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


@value
class LinkGroup:
    """A group of the navigation: its title, its links, and whether it is about the agent."""

    title: str
    links: tuple[Link, ...]
    is_of_agent: bool


@value(kw_only=True)
class Frame:
    """The data that every template has besides its own."""

    workspace: str
    user: str
    agent: AgentRecord | None  # the agent that the page is about
    agents: tuple[AgentRecord, ...]  # in the side bar
    agent_count: int
    groups: tuple[LinkGroup, ...]  # of the menu
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
        groups=_build_groups(pages, page, visit, agent),
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


GROUP_TITLES = {
    "memory": "{agent}",
    "work": "Work of {agent}",
    AGENT: "About {agent}",
    WORKSPACE: "Workspace",
    "administration": "Administration",
}


def _build_groups(
    pages: AdminPages, page: AdminPage | None, visit: Visit, agent: AgentRecord | None
) -> tuple[LinkGroup, ...]:
    """Build the menu, with only what the signed-in person may do."""
    groups = []
    for group, section in GROUPS.items():
        subject = agent if section == AGENT else None
        if section == AGENT and subject is None:
            continue
        links = tuple(
            Link(
                entry.label,
                entry.link(subject.slug if subject else ""),
                page is not None and _is_part(page, entry),
            )
            for entry in pages.labelled(section)
            if entry.group == group and (not entry.needs or visit.may(entry.needs, subject))
        )
        if links:
            title = GROUP_TITLES[group].format(agent=subject.name if subject else "")
            groups.append(LinkGroup(title, links, subject is not None))
    return tuple(groups)


def _is_part(page: AdminPage, entry: AdminPage) -> bool:
    """Return whether a page is an entry of the navigation itself, or belongs to the entry."""
    return page is entry or page.parent == entry.name


NOTICE_COOKIE = "looseleaf_notice"
_MOST_DRAFT_NAME = 64
DRAFT_COOKIE = "looseleaf_taken"  # names the draft that the server has taken, for our own script
FRAME_TEMPLATES = ("ask.html",)  # which the frame shows for pages of plugins, too
SIGNED_IN_ANEW = (
    "You have signed in anew since this page was opened. Nothing is saved yet, and what you typed "
    "is still here: press the button once more."
)
CHANGED_ELSEWHERE = (
    "This was changed elsewhere since you opened the page. Nothing is saved yet, and what you "
    "typed is still here. Saving puts it in place of what the page has now."
)


@value
class SentForm:
    """A form as it was sent: its fields, the version it was opened with, and what differs now."""

    fields: Mapping[str, str]
    version: str
    differences: tuple[Difference, ...] = ()


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
        methods = ["GET", "POST"]
        return [
            *fixed_routes,
            *(Route(path, view, methods=methods) for path, view in answers),
            Route(f"{BASE}/{{rest:path}}", self._refuse, methods=methods),
        ]

    async def _refuse(self, request: Request) -> Response:
        """Answer an address below the site that no page has: with a page, or with the nearest."""
        path = request.scope["path"]
        if request.method in SAFE_METHODS and path in NEAREST:
            return RedirectResponse(NEAREST[path], 303)
        if request.method in SAFE_METHODS and path.endswith("/"):
            return RedirectResponse(quote(f"{BASE}/{path[len(BASE) :].strip('/')}"), 303)
        request.scope[OWN_POLICY] = POLICY
        try:
            authenticator_of(request).context(_as_get_request(request), SURFACE)
        except Unauthenticated:
            return _to_login(request)
        return await self._explain(request, HTTPException(404))

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
        fields: Mapping[str, str],
        file: UploadedFile | None = None,
    ) -> Response:
        form = {name: text for name, text in fields.items() if name not in (OPENED, DRAFT, SURE)}
        sent = SentForm(form, fields.get(OPENED, ""))
        authenticator, workers = authenticator_of(request), workers_of(request)
        try:
            context = authenticator.context(request, SURFACE)
        except RequestError as error:
            if error.code != "csrf" or not {OPENED, VERSION} & set(fields):
                raise
            # The person signed in anew, in another tab; what was typed is shown again.
            context = authenticator.context(_as_get_request(request), SURFACE)
            problem = Invalid(SIGNED_IN_ANEW)
            visit = replace(_build_visit(request, context, form), problem=problem)
            work = partial(self._render, page, page.view, visit, request, sent)
            return _with_status(await workers.read(context.principal.user_id, work), error.status)
        visit = _build_visit(request, context, form)
        visit = replace(visit, file=file, is_sure=bool(fields.get(SURE)))
        try:
            work = partial(self._submit, page, visit, request, sent)
            response = await workers.write(context.principal.user_id, work)
        except Unauthenticated:
            raise
        except LooseleafError as error:
            second_visit = replace(visit, problem=error, file=None)
            work = partial(self._render, page, page.view, second_visit, request, sent)
            response = await workers.write(context.principal.user_id, work)
            return _with_status(response, status_of(error))
        if response.status_code < 400:
            _end_draft(response, fields.get(DRAFT, ""))
        return response

    def _submit(self, page: AdminPage, visit: Visit, request: Request, sent: SentForm) -> Response:
        """Submit a form that shows what the page has now; otherwise show both."""
        visit, outdated = self._compare_with_now(page, visit, request, sent)
        if outdated is not None:
            response = self._render(page, page.view, visit, request, outdated)
            return _with_status(response, 409)
        try:
            return self._render(page, page.submit or page.view, visit, request, sent)
        except ConfirmationNeeded as question:
            fields = {**visit.form, OPENED: sent.version, SURE: "yes"}
            data = {"question": question, "fields": build_hidden_fields(fields),
                    "address": request.url.path, "back": _address_of(request)}  # fmt: skip
            document = Document("ask.html", question.question, data)
            response = self._render_document(page, document, visit, request)
            response.headers["content-security-policy"] = POLICY
            return response

    def _compare_with_now(
        self, page: AdminPage, visit: Visit, request: Request, sent: SentForm
    ) -> tuple[Visit, SentForm | None]:
        """Compare a form with what its page shows now; both are shown if they differ.

        What a form did not show may have changed meanwhile: the form applies to the newest version.
        """
        if not sent.version or visit.is_sure:
            return visit, None
        result = page.view(replace(visit, form={}, file=None))
        if not isinstance(result, Document):
            return visit, None
        html = self._render_html(page, result, replace(visit, form={}), request)
        form = find_form(html, sent.fields, sent.version)
        if form is None:
            return visit, None  # it is no longer offered; the operation says why
        if form.version != sent.version:
            differences = self._list_differences(page, visit, request, form)
            if differences:
                problem = Invalid(CHANGED_ELSEWHERE)
                outdated = SentForm(sent.fields, form.version, tuple(differences))
                return replace(visit, problem=problem, file=None), outdated
        if VERSION in visit.form:
            return replace(visit, form={**visit.form, VERSION: form.find(VERSION)}), None
        return visit, None

    def _list_differences(
        self, page: AdminPage, visit: Visit, request: Request, form: OpenedForm
    ) -> list[Difference]:
        if not form.has_rows:
            return list_differences(form, visit.form)
        result = page.view(visit)
        if isinstance(result, Document):  # its rows as they were sent
            html = self._render_html(page, result, visit, request)
            typed = find_form(html, visit.form, form.version)
            if typed is not None:
                return list_row_differences(form, typed)
        return []

    def _render(
        self,
        page: AdminPage,
        view: View,
        visit: Visit,
        request: Request,
        sent: SentForm | None = None,
    ) -> Response:
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
            response = self._render_document(page, result, visit, request, sent)
        response.headers["content-security-policy"] = POLICY
        return response

    def _render_document(
        self,
        page: AdminPage | None,
        document: Document,
        visit: Visit,
        request: Request,
        sent: SentForm | None = None,
    ) -> Response:
        html = self._render_html(page, document, visit, request, sent)
        sent = sent or SentForm({}, "")
        html = mark_forms(html, sent.fields, sent.version, refill=visit.problem is not None)
        response = HTMLResponse(html, document.status)
        if request.cookies.get(NOTICE_COOKIE):
            response.delete_cookie(NOTICE_COOKIE, path=BASE, httponly=True, samesite="strict")
        return response

    def _render_html(
        self,
        page: AdminPage | None,
        document: Document,
        visit: Visit,
        request: Request,
        sent: SentForm | None = None,
    ) -> str:
        frame = build_frame(self.pages, page, visit, csrf_token_of(session_cookie_of(request)))
        owner = page.owner if page is not None else "looseleaf"
        if document.template in FRAME_TEMPLATES:
            owner = "looseleaf"
        return self.templates.get_template(template_name_of(document, owner)).render(
            document.data,
            frame=frame,
            title=document.title,
            notice=unquote(request.cookies.get(NOTICE_COOKIE, "")),
            problem=describe_error(visit.problem)[1] if visit.problem else "",
            differences=sent.differences if sent else (),
            form=visit.form,
        )

    async def _explain(self, request: Request, error: Exception) -> Response:
        """Respond with a page about the error, within the frame if someone is signed in."""
        status, message = describe_error(error)
        label, address = find_way_out(error)
        data = {"message": message, "label": label, "address": address}
        document = Document("error.html", TITLES.get(status, "Something is wrong"), data, status)
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


NEAREST = {f"{BASE}/": BASE, f"{BASE}/agents": BASE, f"{BASE}/agents/": BASE}
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
        if isinstance(error, Unauthenticated):
            return status, str(error)  # how to sign in, for whoever sits before the server
        return status, describe_for_browser(error)
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
    back = quote(_address_of(request), safe="/")
    response = RedirectResponse(f"/login?next={back}", 303)
    response.headers["content-security-policy"] = POLICY
    return response


def _address_of(request: Request) -> str:
    """Return the address of a request below the server."""
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _with_status(response: Response, status: int) -> Response:
    response.status_code = status
    return response


def _end_draft(response: Response, draft: str) -> None:
    """Tell our script that a form is accepted, so that its draft ends; scripts alone read this."""
    if draft and len(draft) <= _MOST_DRAFT_NAME and draft.replace("-", "").isalnum():
        response.set_cookie(DRAFT_COOKIE, draft, max_age=60, path=BASE, samesite="strict")


def _keep_notice(response: Response, notice: str) -> None:
    response.set_cookie(
        NOTICE_COOKIE, quote(notice), max_age=60, path=BASE, httponly=True, samesite="strict"
    )
