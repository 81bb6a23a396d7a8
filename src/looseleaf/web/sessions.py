"""Signing in and out: a login link or a password begins a session, kept in a cookie."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from looseleaf.agents.access import SESSION
from looseleaf.agents.accounts import Event
from looseleaf.agents.authentication import SESSION_SECONDS
from looseleaf.errors import Unauthenticated
from looseleaf.web.answers import answer
from looseleaf.web.bodies import as_object
from looseleaf.web.calls import body_of, reception_of, workers_of
from looseleaf.web.preconditions import refuse_precondition
from looseleaf.web.problems import Problem
from looseleaf.web.reception import (
    SURFACE,
    address_of,
    cookie_name,
    csrf_token,
    session_cookie,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.agents.authentication import Shown
    from looseleaf.web.reception import Reception


SIGN_IN_BYTES = 8192


async def sign_in(request: Request) -> Response:
    """Begin a session by a one-time link, or by login and password."""
    refuse_precondition(request, "Signing in")
    reception = reception_of(request)
    address = address_of(request)
    given = as_object(await body_of(request, size=SIGN_IN_BYTES))
    login = given.get("login", "")
    attempts, name = reception.attempts, login if isinstance(login, str) else ""
    attempts.take(address, name)
    try:
        work = partial(_begin, reception, given, address)
        shown = await workers_of(request).hash_password(work)
    except Unauthenticated:
        attempts.fail()
        raise
    attempts.succeed(address, name)
    principal = reception.authentication.session(shown.text)
    response = answer({"user": principal.name, "csrf": csrf_token(shown.text)})
    response.set_cookie(
        cookie_name(request),
        shown.text,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


def _begin(reception: Reception, given: dict[str, Any], address: str) -> Shown:
    event = Event("sign in", kind=SESSION, surface=SURFACE, detail=f"from {address}")
    match given:
        case {"link": str(link), **rest} if not rest:
            code = link.rpartition("#")[2].strip()  # pasted, often with a space
            return reception.authentication.follow_link(code, event)
        case {"login": str(login), "password": str(password), **rest} if not rest:
            return reception.authentication.sign_in(login, password, event)
    message = 'Sign in with {"link": "…"} or {"login": "…", "password": "…"}.'
    raise Problem(400, "invalid_argument", message)


async def sign_out(request: Request) -> Response:
    """End the session."""
    refuse_precondition(request, "Signing out")
    reception = reception_of(request)
    principal = reception.principal(request)
    if principal.kind != SESSION:
        raise Problem(400, "no_session", "There is no session to end: you came by another way.")
    event = Event("sign out", principal.name, principal.user_id, SESSION, principal.credential)
    told = session_cookie(request)
    await run_in_threadpool(reception.authentication.sign_out, told, event)
    response = answer({"signed_out": True})
    is_secure = request.url.scheme == "https"
    name = cookie_name(request)
    response.delete_cookie(name, httponly=True, samesite="strict", secure=is_secure)
    return response


async def show_session(request: Request) -> Response:
    """Say who one is here, and what a page needs to make changes by session."""
    principal = reception_of(request).principal(request)
    data = {
        "user": principal.name,
        "user_id": principal.user_id,
        "kind": principal.kind,
        "agent_id": principal.agent_id,
        "role": principal.role,
        "capabilities": sorted(principal.capabilities),
    }
    if principal.kind == SESSION:
        data["csrf"] = csrf_token(session_cookie(request))
    return answer(data)
