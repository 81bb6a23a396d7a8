"""The connection to one server: one request at a time, with a time limit, without redirects."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote, urlsplit

import httpx2

from looseleaf import errors
from looseleaf.errors import (
    Conflicted,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
    features,
    operations,
    pages,
)
from looseleaf.errors.operations import Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from looseleaf.remote.address import Address
    from looseleaf.values import Secret


# Errors in the answers of a server, as the errors that were raised on the server.


# The error for a code that this version does not know, by the status of the answer.
_BY_STATUS: dict[int, type[LooseleafError]] = {
    **dict.fromkeys((400, 405, 406, 413, 415), Invalid),
    **dict.fromkeys((401, 403, 428), Refused),
    **dict.fromkeys((409, 412), Conflicted),
    **dict.fromkeys((408, 429, 502, 503, 504, 507), Unavailable),
    404: NotFound,
}


_MODULES = (
    errors,
    operations,
    pages,
    features,
    operations,
    operations,
    operations,
    pages,
    features,
    features,
)


def _list_kinds() -> Iterator[tuple[str, type[LooseleafError]]]:
    for module in _MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, LooseleafError) and "code" in vars(kind):
                yield kind.code, kind


_KINDS = dict(_list_kinds())


def build_error(status: int, code: str, message: str, data: Mapping[str, object]) -> LooseleafError:
    """Build the error of an answer: its class by the code, with the message of the server."""
    kind = _KINDS.get(code) or _BY_STATUS.get(status, LooseleafError)
    # Without `__init__`, which would format the message again.
    error = kind.__new__(kind, message)
    if error.code != code:
        error.code = code
    for name, detail in data.items():
        if name != "status" and name.isidentifier() and not hasattr(kind, name):
            setattr(error, name, tuple(detail) if isinstance(detail, list) else detail)
    return error


OPERATIONS = "/looseleaf/v1/operations"
PAGES = "/datamachine/v1/files/agent"
JSON, EVENTS = "application/json", "text/event-stream"
SECONDS = 90.0  # longer than the 60 seconds after which the server itself stops reading
_CONNECT_SECONDS = 10.0
_MOST_BYTES = 256_000_000
_MOST_BYTES_OF_A_LINE = 8_000_000


class _Received(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class ServerConnection:
    """A connection to a server with a token, which is sent to no other server."""

    def __init__(self, address: Address, token: Secret, *, seconds: float = SECONDS) -> None:
        if not token.is_plain:
            raise Unauthenticated("The token is invalid: a token is one plain word")
        self.address = address
        self.seconds = seconds
        self._token = token

    def run(
        self, name: str, json_arguments: Mapping[str, object], *, reason: str = "", origin: str = ""
    ) -> Any:  # noqa: ANN401
        """Run an operation on the server with JSON arguments; return its result as JSON data."""
        headers = {"accept": JSON, "content-type": JSON}
        if reason:
            headers["x-looseleaf-reason"] = quote(reason, errors="replace")
        if origin:
            headers["x-looseleaf-origin"] = origin
        answer = self._ask(
            "POST",
            f"{OPERATIONS}/{quote(name)}",
            headers=headers,
            content=_encode_body(json_arguments),
        )
        if answer.status != 200:
            self._refuse(answer)
        document = self._parse_document(answer)
        if "data" not in document:
            raise self._build_strange_error(answer)
        return document["data"]

    def listen(self, path: str, json_arguments: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """Request a stream of events; yield each event as it comes."""
        headers = {"accept": EVENTS, "content-type": JSON}
        with self._open_answer(
            "POST", path, headers=headers, content=_encode_body(json_arguments)
        ) as answer:
            if answer.status_code != 200:
                self._refuse(_Received(answer.status_code, answer.headers, self._read(answer)))
            if not answer.headers.get("content-type", "").startswith(EVENTS):
                raise self._build_strange_error(_Received(answer.status_code, answer.headers, b""))
            name = ""
            for line in self._read_lines(answer):
                field, _, text = line.partition(b":")
                if field == b"event":
                    name = text.strip().decode("utf-8", "replace")
                elif field == b"data":
                    event_answer = _Received(answer.status_code, answer.headers, text)
                    document = self._parse_document(event_answer)
                    if name == "error":
                        self._fail(event_answer, document)
                    yield document
                    if name == "ended":
                        return
        raise self._build_unavailable(
            "the connection broke; the answer may still come: look into the session"
        )

    def page(self, file: str, place: Mapping[str, str]) -> tuple[bytes, str]:
        """Read the bytes of a page, which need not be text, and their hash."""
        path = f"{PAGES}/{quote(file)}"
        answer = self._ask("GET", path, headers={"accept": "text/plain"}, params=place)
        if answer.status != 200:
            self._refuse(answer)
        return answer.body, answer.headers.get("etag", "").strip('"')

    def _ask(self, method: str, path: str, *, headers: dict[str, str], **options: Any) -> _Received:  # noqa: ANN401
        with self._open_answer(method, path, headers=headers, **options) as answer:
            return _Received(answer.status_code, answer.headers, self._read(answer))

    @contextmanager
    def _open_answer(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str],
        **options: Any,  # noqa: ANN401
    ) -> Iterator[httpx2.Response]:
        request_headers = {**headers, "authorization": f"Bearer {self._token.reveal()}"}
        limits = httpx2.Timeout(self.seconds, connect=min(self.seconds, _CONNECT_SECONDS))
        try:
            with (
                # Over plain http a proxy that the environment names would see the token.
                httpx2.Client(trust_env=self.address.is_encrypted, timeout=limits) as client,
                client.stream(
                    method, self.address.base + path, headers=request_headers, **options
                ) as answer,
            ):
                yield answer
        except httpx2.TimeoutException as error:
            self._give_up(error)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._build_unavailable(_describe_error(error)) from None

    def _read(self, answer: httpx2.Response) -> bytes:
        end = time.monotonic() + self.seconds
        parts, size = [], 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise self._build_unavailable(
                    f"its answer has more than {_MOST_BYTES} bytes; ask for less"
                )
            if time.monotonic() > end:
                self._give_up(None)
        return b"".join(parts)

    def _read_lines(self, answer: httpx2.Response) -> Iterator[bytes]:
        partial_line = b""
        for part in answer.iter_bytes():
            *lines, partial_line = (partial_line + part).split(b"\n")
            if len(partial_line) > _MOST_BYTES_OF_A_LINE:
                raise self._build_unavailable(
                    f"a line of its answer has more than {_MOST_BYTES_OF_A_LINE} bytes"
                )
            yield from lines

    def _give_up(self, error: Exception | None) -> NoReturn:
        if isinstance(error, httpx2.ConnectTimeout):
            raise self._build_unavailable(
                "nobody answers at this address; check it, and the network"
            ) from None
        raise self._build_unavailable(
            f"it did not answer within {self.seconds:g} seconds; if this was a change, look "
            "whether it was made before you repeat it (LOOSELEAF_TIMEOUT waits longer)"
        ) from None

    def _refuse(self, answer: _Received) -> NoReturn:
        if 300 <= answer.status < 400:
            parts = urlsplit(answer.headers.get("location", ""))
            where = f" to {parts.scheme}://{parts.hostname}" if parts.hostname else ""
            raise self._build_unavailable(
                f"it redirects us{where}, and a token is sent only to the address that was given; "
                "if that is the right server, give its address"
            )
        self._fail(answer, self._parse_document(answer))

    def _fail(self, answer: _Received, document: dict[str, Any]) -> NoReturn:
        code, message, data = (document.get(name) for name in ("code", "message", "data"))
        if not isinstance(code, str) or not isinstance(message, str) or code == "no_route":
            raise self._build_strange_error(answer)
        data = data if isinstance(data, dict) else {}
        status = data.get("status")  # of an error in the middle of a stream
        error_status = status if isinstance(status, int) else answer.status
        raise build_error(error_status, code, message, data)

    def _parse_document(self, answer: _Received) -> dict[str, Any]:
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            raise self._build_strange_error(answer) from None
        if not isinstance(document, dict):
            raise self._build_strange_error(answer)
        return document

    def _build_strange_error(self, answer: _Received) -> Unavailable:
        return self._build_unavailable(
            f"its answer (status {answer.status}) is not from a Looseleaf server; check the address"
        )

    def _build_unavailable(self, reason: str) -> Unavailable:
        return Unavailable(f"The server {self.address.site}", reason)


def _encode_body(json_arguments: Mapping[str, object]) -> bytes:
    # UTF-8 cannot encode a lone surrogate, so JSON escapes it.
    text = json.dumps(json_arguments, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def _describe_error(error: Exception) -> str:
    if isinstance(error, httpx2.ConnectError):
        return (
            f"there is no connection ({error}); check the address, and that the server runs "
            "(looseleaf serve)"
        )
    if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError):
        return (
            "the connection broke; if this was a change, look whether it was made before you "
            "repeat it"
        )
    return f"the request failed ({type(error).__name__}); check the address"
