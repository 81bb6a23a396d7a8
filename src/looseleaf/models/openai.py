"""A model of any OpenAI-compatible server, asked over HTTP without a provider library.

The provider library takes more than three times as long for the same call, and two seconds to
load (docs/why.md).
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
import uuid

import httpx2

from looseleaf.errors.operations import InvalidModel
from looseleaf.models.model import Answer, Delta, Message, ModelOffer, ToolCall, Usage, describe_cut
from looseleaf.models.retries import (
    NO_ANSWER,
    NO_KEY,
    ProviderFailure,
    describe_failure,
    extract_message,
)
from looseleaf.times import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Any

    from looseleaf.models.model import Question
    from looseleaf.models.retries import LoopThread
    from looseleaf.settings import Provider
    from looseleaf.values import Secret


# OpenAI's protocol of chat completions: questions as JSON, and answers as chunks of JSON.


# The fields in which servers send a model's reasoning; some servers require it back.
_THOUGHTS = ("reasoning_content", "reasoning")
_OF_A_CALL = ("index", "id", "type", "function")


def encode_request(model: str, provider: str, question: Question) -> bytes:
    """Encode a question as the body of a request for a stream."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": item} for item in question.system
    ]
    messages += [_build_message(item, provider) for item in question.messages]
    document: dict[str, Any] = {
        "model": model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if question.tools:
        document["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.schema,
                },
            }
            for tool in question.tools
        ]
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _build_message(message: Message, provider: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if message.role == "user":
        return {"role": "user", "content": message.with_attachments}
    extra = _read_extra(message, provider)
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
            **extra.get("calls", {}).get(call.id, {}),
        }
        for call in message.calls
    ]
    document: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls:
        document["tool_calls"] = calls
    elif not message.text:
        document["content"] = ""
    return {**document, **extra.get("thoughts", {})}


def _read_extra(message: Message, provider: str) -> dict[str, Any]:
    """Read the further data of the same provider; data of another provider is ignored."""
    if not message.native.startswith(f'{{"provider": {json.dumps(provider)}'):
        return {}
    extra: dict[str, Any] = json.loads(message.native)
    return extra


class AnswerBuilder:
    """One answer, while its chunks come in."""

    def __init__(self, name: str) -> None:
        self.complete = False
        self._has_begun = False
        self._finish = ""
        self._name = name
        self._text: list[str] = []
        self._thoughts: dict[str, str] = {}
        self._calls: dict[object, dict[str, Any]] = {}
        self._usage = Usage(1)

    def add_chunk(self, chunk: dict[str, Any]) -> str:
        """Add a chunk, or a whole answer; return its text, or raise `ProviderFailure`."""
        if chunk.get("error"):
            code = (chunk["error"] if isinstance(chunk["error"], dict) else chunk).get("code")
            raise ProviderFailure(
                describe_failure(None, extract_message(chunk)),
                is_temporary=code in (429, 500, 502, 503),
            )
        if chunk.get("usage"):
            self._usage = _parse_usage(chunk["usage"])
        if not chunk.get("choices"):
            return ""
        choice = chunk["choices"][0]
        self._has_begun = True
        if choice.get("finish_reason"):
            self.complete, self._finish = True, choice["finish_reason"]
        delta = choice.get("delta") or choice.get("message") or {}
        for name in _THOUGHTS:
            if isinstance(delta.get(name), str):
                self._thoughts[name] = self._thoughts.get(name, "") + delta[name]
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        text = _extract_text(delta.get("content"))
        self._text.append(text)
        return text

    def end(self) -> None:
        """End the answer; not every server sends a finish reason with its last chunk."""
        self.complete = self._has_begun

    def _add_call(self, bit: dict[str, Any]) -> None:
        """Add a part of a call to its earlier parts; not every server numbers its calls."""
        key = bit.get("index")
        if key is None:
            key = bit.get("id") or next(reversed(self._calls), "")
        call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": "", "more": {}})
        function = bit.get("function") or {}
        arguments = function.get("arguments") or ""
        call["id"] = call["id"] or bit.get("id") or ""
        call["name"] = call["name"] or function.get("name") or ""
        call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)
        call["more"] |= {name: field for name, field in bit.items() if name not in _OF_A_CALL}

    def answer(self) -> Answer:
        """Build the whole answer."""
        raw_calls = list(self._calls.values())
        for raw_call in raw_calls:
            raw_call["id"] = raw_call["id"] or f"call_{uuid.uuid4().hex}"
        calls = tuple(
            ToolCall(raw_call["id"], raw_call["name"], raw_call["arguments"] or "{}")
            for raw_call in raw_calls
        )
        beside = {raw_call["id"]: raw_call["more"] for raw_call in raw_calls if raw_call["more"]}
        extra: dict[str, Any] = {"provider": self._name.partition(":")[0]}
        extra |= {"thoughts": self._thoughts} if self._thoughts else {}
        extra |= {"calls": beside} if beside else {}
        native = json.dumps(extra) if len(extra) > 1 else ""
        message = Message(role="assistant", text="".join(self._text), calls=calls, native=native)
        return Answer(message, self._usage, self._name, warning=describe_cut(self._finish))


def _extract_text(content: object) -> str:
    """Return the text of the content, which some servers send in typed parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _parse_usage(counts: dict[str, Any]) -> Usage:
    details = counts.get("prompt_tokens_details") or {}
    return Usage(
        1,
        counts.get("prompt_tokens") or 0,
        counts.get("completion_tokens") or 0,
        details.get("cached_tokens") or 0,
    )


MOST_OFFERED = 1_000  # models of one provider
_LONGEST_NAME = 200
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

    def list_models(self, providers: Sequence[Provider], seconds: float) -> list[ModelOffer]:
        """Ask servers at the same time for the names of their models, each for so long at most."""
        return self._loop_thread.run(_list_all(providers, seconds))

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


async def _list_all(providers: Sequence[Provider], seconds: float) -> list[ModelOffer]:
    return await asyncio.gather(*(_list_models(provider, seconds) for provider in providers))


async def _list_models(provider: Provider, seconds: float) -> ModelOffer:
    """Ask one server; why it gives no list is a part of the answer."""
    try:
        url = _build_url(provider.name, provider.base_url, "/models")
        headers = {"accept": "application/json"}
        if provider.key is not None and provider.key.is_plain:
            headers["authorization"] = f"Bearer {provider.key.reveal()}"
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(trust_env=url.scheme == "https") as client,
            client.stream("GET", url, headers=headers, timeout=seconds) as response,
        ):
            if response.status_code != 200:
                raise await _build_refusal(response)
            document = json.loads(await _read_bounded(response, _MOST_BYTES_OF_A_LINE))
        names = {entry["id"] for entry in document["data"]}
        usable = [name for name in names if 0 < len(name) <= _LONGEST_NAME and name.isprintable()]
    except (httpx2.TransportError, TimeoutError):
        return ModelOffer(provider.name, (), NO_ANSWER)
    except (InvalidModel, ProviderFailure) as failure:
        reason = str(failure)
        if provider.key is not None:
            reason = reason.replace(provider.key.reveal(), "[redacted]")
        return ModelOffer(provider.name, (), reason)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        return ModelOffer(provider.name, (), _STRANGE)
    offered = tuple(f"{provider.name}:{name}" for name in sorted(usable)[:MOST_OFFERED])
    return ModelOffer(provider.name, offered)


def _build_url(name: str, base: str, path: str = "/chat/completions") -> httpx2.URL:
    try:
        url = httpx2.URL(base)
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidModel(
            name, "its base_url is not an address; it must begin with https:// or http://"
        )
    return url.copy_with(path=url.path.rstrip("/") + path)
