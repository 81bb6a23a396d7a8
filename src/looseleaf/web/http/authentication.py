"""Authentication of requests: by token, password or session cookie."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from looseleaf.access.authentication import Authentication
from looseleaf.catalog.stated_origin import with_origin
from looseleaf.errors.access import Unauthenticated
from looseleaf.values import replace
from looseleaf.web.http.preconditions import precondition_of
from looseleaf.web.http.request_errors import RequestError
from looseleaf.web.http.request_id import activity_of
from looseleaf.web.http.sign_in_attempts import Attempts

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.workspace import Workspace

SURFACE = "rest"
COOKIE = "looseleaf_session"
_PORTS = {"http": "80", "https": "443"}
CSRF_HEADERS = ("x-csrf-token", "x-wp-nonce")
FORM_PROOF = "looseleaf.csrf"  # in a request's scope: the CSRF token from the body of a form
REASON_HEADER = "x-looseleaf-reason"
ORIGIN_HEADER = "x-looseleaf-origin"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_MAX_CACHED = 4096


class Authenticator:
    """Authenticates requests; its cache is dropped when any account changes."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.authentication = Authentication(
            workspace.accounts(), workspace.agents, clock=workspace.clock
        )
        self.attempts = Attempts()
        self._contexts: dict[str, Context] = {}
        self._read_contexts: dict[
            str, Context
        ] = {}  # the same contexts, prepared for an operation that reads

    def context(self, connection: HTTPConnection, surface: str = SURFACE) -> Context:
        """Return the context of a request's principal, or raise `Unauthenticated`.

        The precondition of a change's headers is a part of the context, so that no route can ignore
        the precondition: the page is compared under its lock, or the operation refuses.
        """
        principal = self.principal(connection)
        reason = connection.headers.get(REASON_HEADER)
        if reason is None and surface == SURFACE:
            context = self._get_context(principal)
        else:
            reason_text = unquote(reason or "")
            context = self._build_context(principal, surface, reason_text)
        activity = activity_of(connection.scope)
        if connection.scope["method"] in SAFE_METHODS:
            return replace(context, activity=activity)
        precondition = precondition_of(connection.headers)
        request_context = replace(context, activity=activity, precondition=precondition)
        return with_origin(request_context, connection.headers.get(ORIGIN_HEADER))

    def principal(self, connection: HTTPConnection) -> Principal:
        """Return the principal of a request; too many failures are refused."""
        self.workspace.root_folder.check_available_cached()
        try:
            return self._authenticate(connection)
        except Unauthenticated:
            if _is_password(connection):
                self.attempts.fail()  # the attempt was counted before the check
            elif has_credential(connection):
                self.attempts.fail_credential(address_of(connection), _credential_id_of(connection))
            raise

    def _authenticate(self, connection: HTTPConnection) -> Principal:
        header = connection.headers.get("authorization")
        if header is None:
            return self._by_cookie(connection)
        scheme, _, credential = header.partition(" ")
        if scheme.lower() == "bearer":
            return self.authentication.bearer(credential.strip())
        if scheme.lower() == "basic":
            address = address_of(connection)
            return self._by_password(*_decode_basic(credential.strip()), address)
        raise Unauthenticated

    def _by_password(self, login: str, password: str, address: str) -> Principal:
        self.attempts.take(address, login)
        principal = self.authentication.basic(login, password)
        self.attempts.succeed(address, login)
        return principal

    def sender(self, connection: HTTPConnection) -> str:
        """Return the sender of a body: a valid credential, or an address."""
        header = connection.headers.get("authorization", "")
        return header or session_cookie_of(connection) or address_of(connection)

    def _by_cookie(self, connection: HTTPConnection) -> Principal:
        cookie = session_cookie_of(connection)
        if not cookie:
            raise Unauthenticated
        principal = self.authentication.session(cookie)
        if connection.scope["method"] not in SAFE_METHODS:
            check_csrf(connection, cookie)
        return principal

    def by_token(self, header: bytes) -> Context | None:
        """Return a context for reading, by a plain `Bearer` header, or None for other headers."""
        if not header.startswith(b"Bearer "):
            return None
        try:
            principal = self.authentication.bearer(header[7:].decode("ascii"))
        except (Unauthenticated, UnicodeDecodeError):
            return None
        context = self._read_contexts.get(principal.credential)
        if context is None or context.principal is not principal:
            if len(self._read_contexts) >= _MAX_CACHED:
                self._read_contexts.clear()
            context = self._read_contexts[principal.credential] = self._get_context(
                principal
            ).with_permission("read")
        return context

    def _build_context(self, principal: Principal, surface: str, reason: str = "") -> Context:
        context = self.workspace.acting(principal=principal, surface=surface, reason=reason)
        return replace(context, is_current=partial(self.authentication.is_current, principal))

    def _get_context(self, principal: Principal) -> Context:
        """Return the context of a principal, cached until any account changes."""
        cached_context = self._contexts.get(principal.credential)
        if cached_context is not None and cached_context.principal is principal:
            return cached_context
        context = self._build_context(principal, SURFACE)
        if len(self._contexts) >= _MAX_CACHED:
            self._contexts.clear()
        self._contexts[principal.credential] = context
        return context


def address_of(connection: HTTPConnection) -> str:
    """Return the address of a request's client."""
    return connection.client.host if connection.client else ""


def _is_password(connection: HTTPConnection) -> bool:
    return connection.headers.get("authorization", "").lower().startswith("basic ")


def _credential_id_of(connection: HTTPConnection) -> str:
    """Return the public part of a wrong credential, without its secret."""
    credential = connection.headers.get("authorization") or session_cookie_of(connection)
    return "_".join(credential.split("_")[:2])


def has_credential(connection: HTTPConnection) -> bool:
    """Return whether a request has a credential; a request without one is no guess."""
    return "authorization" in connection.headers or bool(session_cookie_of(connection))


def cookie_name_of(connection: HTTPConnection) -> str:
    """Name the session cookie of this server.

    Browsers send a cookie to every port of a host. With the port in its name, two servers on one
    machine do not end each other's sessions. Over HTTPS the prefix binds the cookie to its host.
    """
    scheme = connection.scope.get("scheme", "http")
    host = connection.headers.get("host", "")
    port = host.rpartition("]")[2].partition(":")[2] or _PORTS.get(scheme, "80")
    return f"{'__Host-' if scheme == 'https' else ''}{COOKIE}_{port}"


def session_cookie_of(connection: HTTPConnection) -> str:
    """Return the session cookie of a request, or "" without one."""
    return connection.cookies.get(cookie_name_of(connection), "")


def csrf_token_of(cookie: str) -> str:
    """Return the CSRF token of a session, by its cookie; other sites cannot know the token."""
    return hashlib.sha256(b"csrf\0" + cookie.encode("utf-8", "surrogatepass")).hexdigest()


def check_csrf(connection: HTTPConnection, cookie: str) -> None:
    """Refuse a change by cookie that another site's page may have sent."""
    token = next(
        (connection.headers[name] for name in CSRF_HEADERS if name in connection.headers),
        connection.scope.get(FORM_PROOF, ""),
    )
    if not hmac.compare_digest(
        token.encode("utf-8", "surrogatepass"), csrf_token_of(cookie).encode()
    ):
        message = "A change by session needs the header X-CSRF-Token; GET /session gives it."
        raise RequestError(403, "csrf", message)


def _decode_basic(encoded_pair: str) -> tuple[str, str]:
    try:
        login, colon, password = (
            base64.b64decode(encoded_pair, validate=True).decode().partition(":")
        )
    except (binascii.Error, UnicodeDecodeError):
        raise Unauthenticated from None
    if not colon:
        raise Unauthenticated
    return login, password
