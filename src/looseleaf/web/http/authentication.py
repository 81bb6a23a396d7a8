"""Authentication of requests: by token, password or session cookie."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakValueDictionary

from looseleaf.access.authentication import Authentication
from looseleaf.catalog.signature import with_origin
from looseleaf.errors.operations import Unauthenticated
from looseleaf.values import replace
from looseleaf.web.http.request_log import activity_of
from looseleaf.web.http.responses import RequestError, precondition_of
from looseleaf.web.http.workers import SignInQueue

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from looseleaf.access.principals import Principal
    from looseleaf.catalog.context import Context
    from looseleaf.workspace import Workspace


# A limit on wrong credentials. Secrets that we made cannot be guessed: a right one always passes,
# and only wrong ones are counted. A password that a person chose can be guessed, so that attempts
# beyond the limit are slowed down before they are checked; the right one passes a little later.


MOST = 20  # of one login from one address
MOST_OF_ADDRESS = MOST_OF_LOGIN = 100
SECONDS = 60.0
SLOW_SECONDS = 60.0  # for as many attempts as a limit has, once they are slowed down
_KEYS = 10_000
_MAX_LENGTH = 200

Key = tuple[str, ...]


class Attempts:
    """Counts attempts of the last minute, by login and address, by login, and by address.

    A program that repeats one wrong password soon reaches the narrowest limit. Its further attempts
    are not counted, so that other people behind the same address can still sign in.
    """

    def __init__(self) -> None:
        self._times: dict[Key, deque[float]] = {}
        self._queues: WeakValueDictionary[Key, SignInQueue] = WeakValueDictionary()
        self.total = 0  # failed attempts

    async def take(self, address: str, login: str) -> None:
        """Count an attempt before it is checked; beyond a limit it waits for its turn first.

        The newest attempt has the next turn, and addresses and logins take turns, so that a person
        does not wait for the guesses before.
        """
        for (key, limit), peer in zip(
            _list_bounds(address, login), ("", login, address), strict=True
        ):
            if self._find_wait(key, limit):
                queue = self._queues.setdefault(key, SignInQueue(1))
                async with queue.turn(peer[:_MAX_LENGTH]):
                    await asyncio.sleep(SLOW_SECONDS / limit)
        for key, limit in _list_bounds(address, login):
            self._add(key, limit)

    def count_failure(self, address: str, login: str) -> None:
        """Count a wrong application password, or refuse further ones."""
        for key, limit in _list_bounds(address, login):
            self._check(key, limit)
        for key, limit in _list_bounds(address, login):
            self._add(key, limit)

    def succeed(self, address: str, login: str) -> None:
        """Remove the last attempt: it succeeded."""
        for key, _ in _list_bounds(address, login):
            times = self._times.get(key)
            if times:
                times.pop()

    def fail(self) -> None:
        """Count a failure for the figures of the server."""
        self.total += 1

    def fail_credential(self, address: str, identity: str) -> None:
        """Count an unknown token or session, apart from other credentials of the same address."""
        self.total += 1
        bounds = (
            (("credential", address, identity[:_MAX_LENGTH]), MOST),
            (("credentials", address), MOST_OF_ADDRESS),
        )
        for key, limit in bounds:
            self._check(key, limit)
        for key, limit in bounds:
            self._add(key, limit)

    def _add(self, key: Key, limit: int) -> None:
        if len(self._times) >= _KEYS:
            self._drop_old()
        self._times.setdefault(key, deque(maxlen=limit)).append(time.monotonic())

    def _find_wait(self, key: Key, limit: int) -> float:
        """Return the seconds until the limit allows another attempt."""
        times = self._times.get(key)
        if times is None or len(times) < limit:
            return 0.0
        return max(0.0, times[0] + SECONDS - time.monotonic())

    def _check(self, key: Key, limit: int) -> None:
        wait = self._find_wait(key, limit)
        if wait > 0:
            seconds = int(wait) + 1
            message = f"Too many failed logins. Try again in {seconds} seconds."
            raise RequestError(
                429, "too_many_failures", message, headers={"retry-after": str(seconds)}
            )

    def _drop_old(self) -> None:
        """Remove entries older than a minute, or else the oldest half."""
        since = time.monotonic() - SECONDS
        recent_times = {
            key: times for key, times in self._times.items() if times and times[-1] > since
        }
        if len(recent_times) >= _KEYS:
            newest = sorted(recent_times, key=lambda key: recent_times[key][-1])[_KEYS // 2 :]
            recent_times = {key: recent_times[key] for key in newest}
        self._times = recent_times


def _list_bounds(address: str, login: str) -> tuple[tuple[Key, int], ...]:
    name = login[:_MAX_LENGTH].lower()
    return (
        (("pair", address, name), MOST),
        (("address", address), MOST_OF_ADDRESS),
        (("login", name), MOST_OF_LOGIN),
    )


SURFACE = "rest"
COOKIE = "looseleaf_session"
_PORTS = {"http": "80", "https": "443"}
CSRF_HEADERS = ("x-csrf-token", "x-wp-nonce")
FORM_PROOF = "looseleaf.csrf"  # in a request's scope: the CSRF token from the body of a form
REASON_HEADER = "x-looseleaf-reason"
ORIGIN_HEADER = "x-looseleaf-origin"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_MAX_CACHED = 4096
_USER = "looseleaf.user"  # in a request's scope: the user of its credential


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
            principal = self._authenticate(connection)
            connection.scope[_USER] = principal.user_id
            return principal
        except Unauthenticated:
            if _is_password(connection):
                self.attempts.fail()  # counted for its login and address already
            elif has_credential(connection):
                self.attempts.fail_credential(address_of(connection), _credential_id_of(connection))
            raise

    def require_session(self, connection: HTTPConnection) -> None:
        """Raise `Unauthenticated` unless someone is signed in; a form's proof is checked later."""
        principal = self.authentication.session(session_cookie_of(connection))
        connection.scope[_USER] = principal.user_id

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
        try:
            return self.authentication.basic(login, password)
        except Unauthenticated:
            self.attempts.count_failure(address, login)
            raise

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


def sender_of(connection: HTTPConnection) -> str:
    """Return whose share of the server a request takes: its user's, or else its address's."""
    user = connection.scope.get(_USER)
    return f"user {user}" if user is not None else address_of(connection)


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
