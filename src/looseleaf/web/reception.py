"""The reception: who comes in, by what they show, and as whom they act."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from looseleaf.agents.authentication import Authentication
from looseleaf.errors import Unauthenticated
from looseleaf.values import changed
from looseleaf.web.failures import Attempts
from looseleaf.web.preconditions import precondition_of
from looseleaf.web.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from looseleaf.agents.access import Principal
    from looseleaf.operations.context import Context
    from looseleaf.workspace import Workspace

SURFACE = "rest"
COOKIE = "looseleaf_session"
_PORTS = {"http": "80", "https": "443"}
CSRF_HEADERS = ("x-csrf-token", "x-wp-nonce")
REASON_HEADER = "x-looseleaf-reason"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_REMEMBER = 4096


class Reception:
    """Knows who sends a request; what it knows is forgotten when any account changes."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.authentication = Authentication(
            workspace.accounts(), workspace.agents, clock=workspace.clock
        )
        self.attempts = Attempts()
        self._contexts: dict[str, Context] = {}
        self._reading: dict[str, Context] = {}  # the same, ready for an operation that reads

    def context(self, connection: HTTPConnection, surface: str = SURFACE) -> Context:
        """Give the rooms to whoever sends the request, or raise `Unauthenticated`.

        The version that a change names in its headers comes with them, so that no address can
        forget it: the page is compared under its lock, or the operation refuses.
        """
        principal = self.principal(connection)
        reason = connection.headers.get(REASON_HEADER)
        if reason is None and surface == SURFACE:
            context = self._context(principal)
        else:
            why = unquote(reason or "")
            context = self._acting(principal, surface, why)
        if connection.scope["method"] in SAFE_METHODS:
            return context
        precondition = precondition_of(connection.headers)
        return changed(context, precondition=precondition) if precondition else context

    def principal(self, connection: HTTPConnection) -> Principal:
        """Tell who sends the request; one who failed too often is turned away."""
        self.workspace.root_folder.glance()
        address = address_of(connection)
        try:
            return self._shown(connection, address)
        except Unauthenticated:
            if _is_password(connection):
                self.attempts.fail()  # it was counted before it was tried
            elif is_showing(connection):
                self.attempts.fail_credential(address, _identity(connection))
            raise

    def _shown(self, connection: HTTPConnection, address: str) -> Principal:
        header = connection.headers.get("authorization")
        if header is None:
            return self._by_cookie(connection)
        scheme, _, told = header.partition(" ")
        if scheme.lower() == "bearer":
            return self.authentication.bearer(told.strip())
        if scheme.lower() == "basic":
            return self._by_password(*_login_and_password(told.strip()), address)
        raise Unauthenticated

    def _by_password(self, login: str, password: str, address: str) -> Principal:
        self.attempts.take(address, login)
        principal = self.authentication.basic(login, password)
        self.attempts.succeed(address, login)
        return principal

    def sender(self, connection: HTTPConnection) -> str:
        """Name who sends a body: a credential that was let in, or an address."""
        header = connection.headers.get("authorization", "")
        return header or session_cookie(connection) or address_of(connection)

    def _by_cookie(self, connection: HTTPConnection) -> Principal:
        told = session_cookie(connection)
        if not told:
            raise Unauthenticated
        principal = self.authentication.session(told)
        if connection.scope["method"] not in SAFE_METHODS:
            check_csrf(connection, told)
        return principal

    def by_token(self, header: bytes) -> Context | None:
        """Give the context of a plain `Bearer` header, to read with; None where that is not all."""
        if not header.startswith(b"Bearer "):
            return None
        try:
            principal = self.authentication.bearer(header[7:].decode("ascii"))
        except (Unauthenticated, UnicodeDecodeError):
            return None
        known = self._reading.get(principal.credential)
        if known is None or known.principal is not principal:
            if len(self._reading) >= _REMEMBER:
                self._reading.clear()
            known = self._reading[principal.credential] = self._context(principal).during("read")
        return known

    def _acting(self, principal: Principal, surface: str, reason: str = "") -> Context:
        context = self.workspace.acting(principal=principal, surface=surface, reason=reason)
        return changed(context, is_current=partial(self.authentication.is_current, principal))

    def _context(self, principal: Principal) -> Context:
        """Give a context again while its principal is the same, which any change ends."""
        known = self._contexts.get(principal.credential)
        if known is not None and known.principal is principal:
            return known
        made = self._acting(principal, SURFACE)
        if len(self._contexts) >= _REMEMBER:
            self._contexts.clear()
        self._contexts[principal.credential] = made
        return made


def address_of(connection: HTTPConnection) -> str:
    """Give the address that a request comes from."""
    return connection.client.host if connection.client else ""


def _is_password(connection: HTTPConnection) -> bool:
    return connection.headers.get("authorization", "").lower().startswith("basic ")


def _identity(connection: HTTPConnection) -> str:
    """Give what tells a wrong credential from others, without its secret."""
    shown = connection.headers.get("authorization") or session_cookie(connection)
    return "_".join(shown.split("_")[:2])


def is_showing(connection: HTTPConnection) -> bool:
    """Say whether a request shows any credential; one that shows none guesses nothing."""
    return "authorization" in connection.headers or bool(session_cookie(connection))


def cookie_name(connection: HTTPConnection) -> str:
    """Name the session cookie of this server.

    Browsers send a cookie to every port of a host. With the port in its name, two servers on one
    machine do not end each other's sessions. Over HTTPS the prefix binds it to the very host.
    """
    scheme = connection.scope.get("scheme", "http")
    host = connection.headers.get("host", "")
    port = host.rpartition("]")[2].partition(":")[2] or _PORTS.get(scheme, "80")
    return f"{'__Host-' if scheme == 'https' else ''}{COOKIE}_{port}"


def session_cookie(connection: HTTPConnection) -> str:
    """Give the text of the session that a request shows; "" where it shows none."""
    return connection.cookies.get(cookie_name(connection), "")


def csrf_token(session: str) -> str:
    """Give what a page of ours shows with a session; other sites cannot know it."""
    return hashlib.sha256(b"csrf\0" + session.encode("utf-8", "surrogatepass")).hexdigest()


def check_csrf(connection: HTTPConnection, session: str) -> None:
    """Refuse a change by cookie that may have been sent from another site's page."""
    told = next(
        (connection.headers[name] for name in CSRF_HEADERS if name in connection.headers), ""
    )
    if not hmac.compare_digest(told.encode(), csrf_token(session).encode()):
        message = "A change by session needs the header X-CSRF-Token; GET /session gives it."
        raise Problem(403, "csrf", message)


def _login_and_password(told: str) -> tuple[str, str]:
    try:
        login, colon, password = base64.b64decode(told, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Unauthenticated from None
    if not colon:
        raise Unauthenticated
    return login, password
