"""Signing in and out: a login link or a password begins a session, kept in a cookie.

Programs send JSON; people send a form, with or without scripts, and are redirected.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from looseleaf.access.audit import Event
from looseleaf.access.authentication import SESSION_SECONDS
from looseleaf.access.principals import SESSION
from looseleaf.errors.operations import Unauthenticated
from looseleaf.memory.provenance import FROM_USER, PERSON
from looseleaf.values import replace
from looseleaf.web.admin.forms import read_fields, read_form
from looseleaf.web.admin.site import describe_error, site_of
from looseleaf.web.http.authentication import (
    SURFACE,
    address_of,
    cookie_name_of,
    csrf_token_of,
    session_cookie_of,
)
from looseleaf.web.http.bodies import FORM, as_object, media_type_of
from looseleaf.web.http.request_log import activity_of
from looseleaf.web.http.responses import RequestError, answer, refuse_precondition
from looseleaf.web.rest.calls import authenticator_of, read_bytes, workers_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.access.authentication import IssuedCredential
    from looseleaf.web.http.authentication import Authenticator


SIGN_IN_BYTES = 8192


START = "/admin"


async def redirect_to_admin(_request: Request) -> Response:
    """Redirect from the root address of the server to its admin site."""
    return RedirectResponse(START, 303)


async def show_login(request: Request) -> Response:
    """Return the sign-in page; browsers never send the part of a link after #, so no log has it."""
    return _build_login_page(request, request.query_params.get("next", ""))


def _build_login_page(
    request: Request, next_: str, problem: str = "", status: int = 200
) -> Response:
    workspace = authenticator_of(request).workspace.settings.name
    data = {"title": "Sign in", "next": next_, "problem": problem, "workspace": workspace}
    return site_of(request).bare_page(request, "login.html", data, status)


async def sign_in(request: Request) -> Response:
    """Start a session by a one-time link, or by login and password."""
    refuse_precondition(request, "Signing in")
    if media_type_of(request) == FORM:
        return await _sign_in_by_form(request)
    fields = as_object(await read_bytes(request, SIGN_IN_BYTES))
    secret = await _admit(request, fields)
    principal = authenticator_of(request).authentication.session(secret.text)
    response = answer({"user": principal.name, "csrf": csrf_token_of(secret.text)})
    _set_cookie(request, response, secret.text)
    return response


async def _sign_in_by_form(request: Request) -> Response:
    form = await read_fields(request, SIGN_IN_BYTES)
    next_, link = form.get("next", ""), form.get("link", "")
    password = {"login": form.get("login", ""), "password": form.get("password", "")}
    try:
        issue = await _admit(request, {"link": link} if link else password)
    except (Unauthenticated, RequestError) as error:
        status, message = describe_error(error)
        return _build_login_page(request, next_, message, status)
    # Only our own pages: a redirect to another site would help phishing.
    is_own = next_ == START or next_.startswith((f"{START}/", f"{START}?"))
    response = RedirectResponse(next_ if is_own else START, 303)
    _set_cookie(request, response, issue.text)
    return response


async def _admit(request: Request, sign_in: dict[str, Any]) -> IssuedCredential:
    authenticator = authenticator_of(request)
    authenticator.workspace.root_folder.check_available_cached()
    address = address_of(request)
    login = sign_in.get("login", "")
    attempts, name = authenticator.attempts, login if isinstance(login, str) else ""
    await attempts.take(address, name)
    try:
        work = partial(
            _start_session, authenticator, sign_in, _build_event(request, "sign in", address)
        )
        issue = await workers_of(request).hash_password(address, work)
    except Unauthenticated:
        attempts.fail()
        raise
    attempts.succeed(address, name)
    return issue


def _set_cookie(request: Request, response: Response, text: str) -> None:
    response.set_cookie(
        cookie_name_of(request),
        text,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


def _build_event(request: Request, action: str, address: str = "") -> Event:
    """Build the audit event of a person who signs in or out."""
    activity = activity_of(request.scope)
    return Event(
        action=action,
        kind=SESSION,
        surface=SURFACE,
        detail=f"from {address}" if address else "",
        actor_kind=PERSON,
        origin=FROM_USER,
        activity=activity.kind,
        activity_id=activity.id,
    )


def _start_session(
    authenticator: Authenticator, fields: dict[str, Any], event: Event
) -> IssuedCredential:
    match fields:
        case {"link": str(link), **extra_fields} if not extra_fields:
            code = link.rpartition("#")[2].strip()  # pasted, often with a space
            return authenticator.authentication.follow_link(code, event)
        case {"login": str(login), "password": str(password), **extra_fields} if not extra_fields:
            return authenticator.authentication.sign_in(login, password, event)
    message = 'Sign in with {"link": "…"} or {"login": "…", "password": "…"}.'
    raise RequestError(400, "invalid_argument", message)


async def sign_out(request: Request) -> Response:
    """End the session."""
    refuse_precondition(request, "Signing out")
    is_form = media_type_of(request) == FORM
    if is_form:
        await read_form(request)
    authenticator = authenticator_of(request)
    principal = authenticator.principal(request)
    if principal.kind != SESSION:
        raise RequestError(
            400, "no_session", "There is no session to end: the request uses another credential."
        )
    event = replace(
        _build_event(request, "sign out"),
        actor=principal.name,
        user_id=principal.user_id,
        credential=principal.credential,
    )
    cookie = session_cookie_of(request)
    await run_in_threadpool(authenticator.authentication.sign_out, cookie, event)
    response = RedirectResponse("/login", 303) if is_form else answer({"signed_out": True})
    is_secure = request.url.scheme == "https"
    name = cookie_name_of(request)
    response.delete_cookie(name, httponly=True, samesite="strict", secure=is_secure)
    return response


async def show_session(request: Request) -> Response:
    """Describe the principal of the request, with the CSRF token of a session."""
    principal = authenticator_of(request).principal(request)
    data = {
        "user": principal.name,
        "user_id": principal.user_id,
        "kind": principal.kind,
        "agent_id": principal.agent_id,
        "role": principal.role,
        "capabilities": sorted(principal.capabilities),
    }
    if principal.kind == SESSION:
        data["csrf"] = csrf_token_of(session_cookie_of(request))
    return answer(data)
