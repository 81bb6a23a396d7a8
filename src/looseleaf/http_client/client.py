"""Requests to other servers, for every part of Looseleaf that sends one.

A request goes only to a host on the operator's allow-list, and only to an address that was checked
(`http_client/addresses.py`); each redirect is checked like the first request. Time, bytes and
redirects are bounded, and no proxy of the environment is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpcore2
import httpx2

from looseleaf.errors import InvalidArgument
from looseleaf.errors.workflows import RequestFailed, RequestRefused
from looseleaf.http_client.addresses import explain_forbidden, resolve_host, resolve_within
from looseleaf.http_client.allow_list import HOST_CHARACTERS
from looseleaf.http_client.connection import CheckedBackend, Deadline
from looseleaf.http_client.content_coding import BodyTooLarge, BodyUnreadable, read_body
from looseleaf.http_client.message import IncomingResponse, OutgoingRequest
from looseleaf.values import replace
from looseleaf.version import __version__

if TYPE_CHECKING:
    import ssl

    from looseleaf.http_client.addresses import Resolver
    from looseleaf.http_client.allow_list import AllowList

SECONDS = 10.0
MOST_REDIRECTS = 5
LONGEST_URL = 2_000
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
# Headers that identify a user, or that the library sets itself.
_RESERVED = {"authorization", "cookie", "host", "content-length", "transfer-encoding", "connection"}


class HttpClient:
    """Sends requests within the rules; it keeps no connection and no cookie."""

    def __init__(
        self,
        allow_list: AllowList,
        *,
        resolve: Resolver = resolve_host,
        ssl_context: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._allow_list, self._resolve = allow_list, resolve
        self._ssl_context, self._seconds = ssl_context, seconds

    def send(self, request: OutgoingRequest) -> IncomingResponse:
        """Send a request and return the answer, whatever its status.

        Raise `RequestRefused` if a rule forbids it, `RequestFailed` if the server does not answer
        as it should, and `InvalidArgument` if the request itself is invalid.
        """
        deadline = Deadline(self._seconds)
        url = parse_url(request.url)
        _check_headers(request)
        for _ in range(MOST_REDIRECTS + 1):
            response = self._send_once(url, request, deadline)
            if response.status not in _REDIRECTS or "location" not in response.headers:
                return response
            next_url = _resolve_redirect(url, response, request)
            if _origin_of(next_url) != _origin_of(url):
                request = replace(request, authorization=None)
            url = next_url
        raise RequestFailed(_host_of(url), f"it redirects more than {MOST_REDIRECTS} times")

    def _send_once(
        self, url: httpx2.URL, request: OutgoingRequest, deadline: Deadline
    ) -> IncomingResponse:
        host = _host_of(url)
        addresses = self._resolve_addresses(url, request, deadline)
        try:
            with (
                httpcore2.ConnectionPool(
                    ssl_context=self._choose_ssl_context(url),
                    network_backend=CheckedBackend(addresses, deadline),
                ) as pool,
                pool.stream(
                    request.method,
                    str(url.copy_with(fragment=None)),
                    headers=list(_build_headers(url, request).items()),
                    content=request.body or None,
                ) as answer,
            ):
                headers = {
                    name.decode("latin-1").lower(): text.decode("latin-1")
                    for name, text in answer.headers
                }
                coding = headers.get("content-encoding", "")
                is_redirect = answer.status in _REDIRECTS and "location" in headers
                body = b""
                if not is_redirect and request.method != "HEAD":
                    body = read_body(answer.iter_stream(), coding, request.max_bytes)
                return IncomingResponse(str(url), answer.status, headers, body)
        except BodyTooLarge:
            raise RequestFailed(
                host, f"its answer has more than {request.max_bytes} bytes"
            ) from None
        except BodyUnreadable:
            raise RequestFailed(host, "its answer is packed in a way that is not known") from None
        except httpcore2.TimeoutException:
            raise RequestFailed(
                host, f"it did not answer within {self._seconds:g} seconds"
            ) from None
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.UnsupportedProtocol,
        ) as error:
            raise RequestFailed(host, _explain(error)) from None

    def _resolve_addresses(
        self, url: httpx2.URL, request: OutgoingRequest, deadline: Deadline
    ) -> tuple[str, ...]:
        """Return the addresses to connect to, or raise if a rule forbids one of them."""
        host, port = _host_of(url), _port_of(url)
        self._allow_list.require(host, port)
        is_private = self._allow_list.allows_private(host, port)
        if request.authorization is not None and url.scheme == "http" and not is_private:
            raise RequestRefused(host, "a password would be sent over plain http; use https")
        addresses = resolve_within(self._resolve, host, port, seconds=deadline.remaining())
        for address in () if is_private else addresses:
            reason = explain_forbidden(address)
            if reason:
                raise RequestRefused(
                    host,
                    f"its name leads to {address}, and {reason}; if that server is meant, the "
                    f'operator adds outgoing_private_hosts = ["{host}:{port}"] to looseleaf.toml',
                )
        return addresses

    def _choose_ssl_context(self, url: httpx2.URL) -> ssl.SSLContext | None:
        if url.scheme == "https" and self._ssl_context is None:
            self._ssl_context = httpx2.create_ssl_context(trust_env=False)
        return self._ssl_context


def parse_url(text: str) -> httpx2.URL:
    """Parse the address of a request, or raise `InvalidArgument`, which does not repeat it."""
    try:
        url = httpx2.URL(text.strip()) if len(text) <= LONGEST_URL else httpx2.URL("")
        is_known = url.scheme in _PORTS and bool(url.host) and set(_host_of(url)) <= HOST_CHARACTERS
    except (httpx2.InvalidURL, ValueError, TypeError):
        is_known, url = False, httpx2.URL("")
    if not is_known:
        raise InvalidArgument(
            "url", f"it begins with https:// or http:// and has at most {LONGEST_URL} characters"
        )
    if url.userinfo:
        raise InvalidArgument("url", "it names a user or a password; use a secret instead")
    return url


def _check_headers(request: OutgoingRequest) -> None:
    for name, text in request.headers.items():
        is_token = name.isascii() and name.replace("-", "").isalnum()
        if not is_token or not text.isprintable() or not text.isascii():
            raise InvalidArgument("headers", "names and texts are plain ASCII on one line")
        if name.lower() in _RESERVED:
            raise InvalidArgument("headers", f"{name} is set by the request itself")
    if request.authorization is not None:
        text = request.authorization.reveal()
        if not text.isprintable() or not text.isascii():
            raise InvalidArgument("authorization", "it is plain ASCII on one line")


def _build_headers(url: httpx2.URL, request: OutgoingRequest) -> dict[str, str]:
    headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": f"looseleaf/{__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    headers |= {name.title(): text for name, text in request.headers.items()}
    if request.authorization is not None:
        headers["Authorization"] = request.authorization.reveal()
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        headers["Content-Length"] = str(len(request.body))
    return headers


def _resolve_redirect(
    url: httpx2.URL, response: IncomingResponse, request: OutgoingRequest
) -> httpx2.URL:
    """Resolve the address that a server redirects to, or raise if it may not be followed."""
    host = _host_of(url)
    try:
        target = url.join(response.headers["location"])
    except (httpx2.InvalidURL, ValueError):
        raise RequestFailed(host, "it redirects to something that is no address") from None
    if target.scheme not in _PORTS or not target.host or target.userinfo:
        raise RequestRefused(host, "it redirects to an address that may not be asked")
    if request.method not in ("GET", "HEAD"):
        raise RequestRefused(
            host,
            f"it redirects to {target.scheme}://{_host_of(target)}, and a change is sent only to "
            "the address that was meant; if that is the right one, use it",
        )
    if url.scheme == "https" and target.scheme == "http":
        raise RequestRefused(host, "it redirects from https to plain http")
    return target


def _host_of(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").lower().rstrip(".")


def _port_of(url: httpx2.URL) -> int:
    return url.port or _PORTS[url.scheme]


def _origin_of(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, _host_of(url), _port_of(url)


def _explain(error: Exception) -> str:
    if isinstance(error, httpcore2.ConnectError):
        return "there is no connection; check the address and the certificate"
    return "the connection broke, or its answer is no HTTP"
