"""A model of any OpenAI-compatible server, asked over HTTP without a provider library.

The provider library takes more than three times as long for the same call, and two seconds to
load (docs/why.md).
"""

from __future__ import annotations

import email.utils
import json
import time
from typing import TYPE_CHECKING

import httpx2

from looseleaf.errors.models import InvalidModel
from looseleaf.models.model import Delta
from looseleaf.models.openai.completions import AnswerBuilder, encode_request
from looseleaf.models.retries import (
    NO_ANSWER,
    NO_KEY,
    ProviderFailure,
    describe_failure,
    extract_message,
)
from looseleaf.times import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from looseleaf.models.model import Answer, Question
    from looseleaf.models.pydantic_ai.event_loop import LoopThread
    from looseleaf.setting_tables import Provider
    from looseleaf.values import Secret

_CONNECT_SECONDS = 10.0
_MOST_CONNECTIONS = 1_000
_MOST_BYTES = 64_000_000
_MOST_BYTES_OF_A_LINE = 8_000_000
_MOST_BYTES_OF_AN_ERROR = 64_000
_BUSY = (408, 409, 425, 429)
_STRANGE = "its answer is not OpenAI-compatible; check base_url"
_BROKEN = "the answer breaks off"
_ENDLESS = "the answer does not end"
_DONE = b"[DONE]"


class OpenAIClients:
    """The servers in use, each with its connections."""

    def __init__(self, loop_thread: LoopThread) -> None:
        self._loop_thread = loop_thread
        self._clients: dict[str, httpx2.AsyncClient] = {}

    def open(self, name: str, provider_config: Provider, timeout: float) -> OpenAIConnection:
        """Open the connection to a model by its whole name."""
        url = _build_url(name, provider_config.base_url)
        if provider_config.name not in self._clients:
            self._clients[provider_config.name] = httpx2.AsyncClient(
                # Over plain http a proxy that the environment names would see the key.
                trust_env=url.scheme == "https",
                limits=httpx2.Limits(max_connections=_MOST_CONNECTIONS),
            )
        return OpenAIConnection(
            name, url, provider_config.key, self._clients[provider_config.name], timeout
        )

    def close(self) -> None:
        """Close every connection."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            self._loop_thread.run(client.aclose())


class OpenAIConnection:
    """The connection to one model of an OpenAI-compatible server."""

    def __init__(
        self,
        name: str,
        url: httpx2.URL,
        key: Secret | None,
        client: httpx2.AsyncClient,
        timeout: float,
    ) -> None:
        self._name, self._url, self._client = name, url, client
        self._provider, _, self._model = name.partition(":")
        self._silence = timeout
        self._timeout = httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS))
        self._headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if key is not None:
            if not key.is_plain:
                raise InvalidModel(name, "its key is invalid: a key is one plain word")
            self._headers["authorization"] = f"Bearer {key.reveal()}"

    async def ask(self, question: Question) -> AsyncIterator[Delta | Answer]:
        """Send the request once, and yield the answer as it comes."""
        builder = AnswerBuilder(self._name)
        body = encode_request(self._model, self._provider, question)
        try:
            async with self._client.stream(
                "POST", self._url, content=body, headers=self._headers, timeout=self._timeout
            ) as response:
                if response.status_code != 200:
                    raise await _build_refusal(response)
                async for data in self._read_data(response):
                    if data == _DONE:
                        builder.end()
                    elif text := builder.add_chunk(json.loads(data)):
                        yield Delta(text)
        except httpx2.TransportError:
            raise ProviderFailure(NO_ANSWER, is_temporary=True) from None
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            raise ProviderFailure(_STRANGE) from None
        if not builder.complete:
            raise ProviderFailure(_BROKEN, is_temporary=True)
        yield builder.answer()

    async def _read_data(self, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Read the events of a stream, or the one document of a server that does not stream."""
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            yield await _read_bounded(response, _MOST_BYTES_OF_A_LINE)
            yield _DONE
            return
        last_data = time.monotonic()
        async for line in _read_lines(response):
            if line.startswith(b"data:"):
                last_data = time.monotonic()
                yield line[5:].strip()
            # Comments keep a connection alive, but do not count as an answer.
            elif time.monotonic() - last_data > self._silence:
                raise ProviderFailure(NO_ANSWER, is_temporary=True)


async def _read_lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    size, rest = 0, b""
    async for part in response.aiter_bytes():
        size += len(part)
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line
        if size > _MOST_BYTES or len(rest) > _MOST_BYTES_OF_A_LINE:
            raise ProviderFailure(_ENDLESS)
    yield rest


async def _read_bounded(response: httpx2.Response, limit: int) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > limit:
            break
    return b"".join(parts)[:limit]


async def _build_refusal(response: httpx2.Response) -> ProviderFailure:
    """Build the refusal for a response without an answer."""
    status = response.status_code
    body = await _read_bounded(response, _MOST_BYTES_OF_AN_ERROR)
    if status == 401:
        return ProviderFailure(NO_KEY)
    try:
        message = extract_message(json.loads(body))
    except (ValueError, RecursionError):
        message = body.decode("utf-8", "replace")
    if status < 400:
        message = "the server redirects us, or does not answer as a model should; check base_url"
    busy = status in _BUSY or status >= 500
    return ProviderFailure(
        describe_failure(status, message),
        is_temporary=busy,
        seconds=_parse_retry_after(response.headers),
    )


def _parse_retry_after(headers: httpx2.Headers) -> float | None:
    """Parse the time to wait that a server names: milliseconds, seconds or a date."""
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1000
        after = headers.get("retry-after", "")
        if after.replace(".", "", 1).isdecimal():
            return float(after)
        return email.utils.parsedate_to_datetime(after).timestamp() - now()
    except (ValueError, OverflowError):
        return None


def _build_url(name: str, base: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base)
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidModel(
            name, "its base_url is not an address; it must begin with https:// or http://"
        )
    return url.copy_with(path=url.path.rstrip("/") + "/chat/completions")
