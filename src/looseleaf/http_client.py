"""Requests to other servers, for every part of Looseleaf that sends one.

A request goes only to a host on the operator's allow-list, and only to an address that was checked
(`http_client.py`); each redirect is checked like the first request. Time, bytes and
redirects are bounded, and no proxy of the environment is used.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
import zlib

import httpcore2
import httpx2

from looseleaf.allow_list import HOST_CHARACTERS, IncomingResponse, OutgoingRequest
from looseleaf.errors import InvalidArgument
from looseleaf.errors.features import RequestFailed, RequestRefused
from looseleaf.values import replace
from looseleaf.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable
    from typing import Any

    from looseleaf.allow_list import AllowList

    Resolver = Callable[[str, int], tuple[str, ...]]

    Address = ipaddress.IPv4Address | ipaddress.IPv6Address


# The addresses of a host: resolved once, in limited time, and checked before a connection.
# The owner of a name decides to which addresses it leads. So the rules check addresses, and the
# connection goes to a checked address; the name is not resolved again.


MOST_ADDRESSES = 8
# A cloud provider serves credentials of the machine here. Other providers use link-local addresses,
# which are refused anyway; this address looks public.
_METADATA = frozenset({"168.63.129.16"})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")  # IPv4 in the last four bytes, by an old convention


def explain_forbidden(address: str) -> str:
    """Return why a connection to an address is forbidden, or "" if it is public."""
    try:
        ip_address: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "it is no address of the Internet"
    inner_address = _find_embedded_ipv4(ip_address)
    if inner_address is not None:
        return explain_forbidden(str(inner_address))
    if str(ip_address) in _METADATA:
        return "it is an address of a cloud's metadata"
    for kind, is_kind in (
        ("a loopback address", ip_address.is_loopback),
        ("a link-local address", ip_address.is_link_local),
        ("a private address", ip_address.is_private),
        ("a multicast address", ip_address.is_multicast),
        ("a reserved address", not ip_address.is_global),
    ):
        if is_kind:
            return f"it is {kind}"
    return ""


def _find_embedded_ipv4(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, in any of the known ways."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    ipv4_address = address.ipv4_mapped or address.sixtofour
    if ipv4_address is not None:
        return ipv4_address
    if address.teredo is not None:
        return address.teredo[1]
    is_compatible = address in _COMPATIBLE and int(address) > 0xFFFF
    if address in _NAT64 or is_compatible:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Resolve the addresses of a host, without duplicates."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def resolve_within(resolve: Resolver, host: str, port: int, *, seconds: float) -> tuple[str, ...]:
    """Resolve a host, or raise `RequestFailed` if that fails or takes too long.

    The system's resolver cannot be interrupted, so it runs in a thread that may outlive the call.
    """
    addresses: list[str] = []
    failures: list[str] = []

    def ask() -> None:
        try:
            addresses.extend(resolve(host, port))
        except (OSError, UnicodeError) as error:
            failures.append(str(error))

    thread = threading.Thread(target=ask, name="looseleaf-resolve", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if thread.is_alive():
        raise RequestFailed(host, "its name was not resolved in time")
    if failures or not addresses:
        raise RequestFailed(host, "its name has no address; check the spelling and the network")
    return tuple(addresses[:MOST_ADDRESSES])


# One connection to an address that was checked, which ends when its time is over.


_SHORTEST_SECONDS = 0.001


class Deadline:
    """The time at which a request ends, whatever the server does."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that remain, or 0 if the time is over."""
        return max(self._end - time.monotonic(), 0.0)

    def require(self, error: type[Exception]) -> float:
        """Return the seconds that remain, or raise an error."""
        seconds = self.remaining()
        if seconds < _SHORTEST_SECONDS:
            raise error("the time of the request is over")
        return seconds


class CheckedBackend(httpcore2.NetworkBackend):
    """Connects to given addresses, one after the other, instead of to the name of the host."""

    def __init__(self, addresses: tuple[str, ...], deadline: Deadline) -> None:
        self._addresses, self._deadline = addresses, deadline
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the name; its addresses were checked already
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline of the whole request
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers."""
        failure: Exception = httpcore2.ConnectError("there is no address")
        for index, address in enumerate(self._addresses):
            # A dead address must leave time for the next one.
            seconds = self._deadline.require(httpcore2.ConnectTimeout)
            try:
                stream = self._sockets.connect_tcp(
                    address,
                    port,
                    timeout=seconds / (len(self._addresses) - index),
                    local_address=local_address,
                    socket_options=socket_options or (),
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return BoundedStream(stream, self._deadline)
        raise failure


class BoundedStream(httpcore2.NetworkStream):
    """A connection whose every read and write ends at the deadline of the whole request."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Read the bytes that have arrived."""
        seconds = self._deadline.require(httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, timeout=seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Write everything, piece by piece, so that a server that reads nothing cannot block us."""
        for start in range(0, len(buffer), 65_536):
            seconds = self._deadline.require(httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + 65_536], timeout=seconds)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """Encrypt the connection; the certificate must be that of the name, not of the address."""
        seconds = self._deadline.require(httpcore2.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout=seconds)
        return BoundedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the library has it
        """Return information about the connection."""
        return self._stream.get_extra_info(info)


# Compressed answers, unpacked no further than the limit of the request.


_WINDOWS = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyTooLarge(Exception):
    """An answer has more bytes than the request takes."""


class BodyUnreadable(Exception):
    """An answer is compressed in a way that cannot be unpacked."""


def read_body(parts: Iterable[bytes], coding: str, limit: int) -> bytes:
    """Join the parts of an answer and decompress it, never holding more bytes than the limit."""
    raw_bytes = bytearray()
    for part in parts:
        raw_bytes += part
        if len(raw_bytes) > limit:
            raise BodyTooLarge
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return bytes(raw_bytes)
    if coding not in _WINDOWS:
        raise BodyUnreadable
    unpacker = zlib.decompressobj(_WINDOWS[coding])
    try:
        body = unpacker.decompress(bytes(raw_bytes), limit + 1)
    except zlib.error:
        raise BodyUnreadable from None
    if len(body) > limit:
        raise BodyTooLarge
    if not unpacker.eof:
        raise BodyUnreadable
    return body


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
