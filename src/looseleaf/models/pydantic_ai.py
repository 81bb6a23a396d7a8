"""Models of every provider that pydantic-ai knows, asked through that library."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from httpx2 import AsyncClient, Limits, Timeout
from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from looseleaf.errors.operations import InvalidModel
from looseleaf.models.model import Answer, Delta, Message, ToolCall, Usage, describe_cut
from looseleaf.models.retries import (
    NO_ANSWER,
    NO_KEY,
    ProviderFailure,
    describe_failure,
    extract_message,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from httpx2 import Request, Response
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponseStreamEvent
    from pydantic_ai.models import Model as NativeModel
    from pydantic_ai.providers import Provider as NativeProvider
    from pydantic_ai.usage import RequestUsage

    from looseleaf.models.model import Question
    from looseleaf.models.retries import LoopThread
    from looseleaf.settings import Provider


# Our messages in the format of the provider library, and its answers in ours.


# Parts of an answer that our own fields do not hold, as they look in the library's JSON.
_MORE = ('"part_kind":"thinking"', 'signature":', '"phase":')


def messages_of(question: Question) -> list[ModelMessage]:
    """Return a question in the library's format; messages between two answers are one request."""
    parts: list[ModelRequestPart] = [SystemPromptPart(text) for text in question.system]
    messages: list[ModelMessage] = []
    for message in question.messages:
        if message.role == "assistant":
            if parts:
                messages.append(ModelRequest(parts=parts))
            messages.append(_build_response(message))
            parts = []
        elif message.role == "tool":
            parts.append(
                ToolReturnPart(
                    tool_name=message.name,
                    content=message.text,
                    tool_call_id=message.call,
                    outcome="failed" if message.failed else "success",
                )
            )
        else:
            parts.append(UserPromptPart(message.with_attachments))
    if parts:
        messages.append(ModelRequest(parts=parts))
    return messages


def _build_response(message: Message) -> ModelResponse:
    """Build an answer for the library, from its own JSON if that holds more and can be parsed."""
    if any(sign in message.native for sign in _MORE):
        try:
            (response,) = ModelMessagesTypeAdapter.validate_json(message.native)
        except (ValidationError, ValueError):
            response = None  # JSON of another version; our own fields hold the answer
        if isinstance(response, ModelResponse):
            return response
    parts: list[TextPart | ToolCallPart] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(call.name, call.arguments, call.id) for call in message.calls]
    return ModelResponse(parts=parts)


def answer_of(response: ModelResponse, usage: RequestUsage, name: str) -> Answer:
    """Return an answer of the library in our format, with the library's own JSON beside it."""
    calls = tuple(
        ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    if "@" in (response.provider_url or ""):
        response = replace(response, provider_url=None)  # it holds a password
    native = ModelMessagesTypeAdapter.dump_json([response], exclude_none=True).decode()
    total_usage = Usage(1, usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    message = Message(role="assistant", text=text, calls=calls, native=native)
    return Answer(message, total_usage, name, warning=describe_cut(response.finish_reason))


# A model of some provider, asked through pydantic-ai.


# Temporary failures; any other failure would repeat itself.
_PASSING = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
)
_responses: ContextVar[list[Response]] = ContextVar("_responses")


async def note(response: Response) -> None:
    """Record an open response, so that it is closed when the request ends."""
    _responses.get([]).append(response)


class ProviderConnection:
    """The connection to one model of one provider."""

    def __init__(
        self, name: str, native: NativeModel, timeout: float = 120.0, *, cache: bool = True
    ) -> None:
        self._name = name
        self._native = native
        # The timeout is for silence: a long answer may take any time while parts of it come.
        # The cache is of use, since a prompt begins with pages that stay the same between calls.
        self._settings = ModelSettings(timeout=timeout, first_event_timeout=timeout, cache=cache)

    async def ask(self, question: Question) -> AsyncIterator[Delta | Answer]:
        """Send the request once, and yield the answer as it comes."""
        messages, parameters = messages_of(question), _build_parameters(question)
        responses: list[Response] = []
        _responses.set(responses)
        try:
            async with model_request_stream(
                self._native,
                messages,
                model_settings=self._settings,
                model_request_parameters=parameters,
            ) as stream:
                async for event in stream:
                    text = _extract_text(event)
                    if text:
                        yield Delta(text)
                response = stream.get()
                _require_end(response)
                yield answer_of(response, stream.usage, self._name)
        except ProviderFailure:
            raise
        except Exception as error:  # noqa: BLE001 - libraries raise any error for an unexpected answer
            # Without the cause, which may contain the request and with it the key.
            raise _build_refusal(error) from None
        finally:
            for open_response in responses:
                await open_response.aclose()


def _build_parameters(question: Question) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.schema,
            )
            for tool in question.tools
        ]
    )


def _extract_text(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _build_refusal(error: Exception) -> ProviderFailure:
    """Convert an error of the library into a refusal."""
    if isinstance(error, _PASSING):
        return ProviderFailure(
            _describe_error(error), is_temporary=True, seconds=_find_delay(error)
        )
    if isinstance(error, exceptions.UnexpectedModelBehavior):
        # The answer was empty.
        return ProviderFailure(_describe_error(error), is_temporary=True)
    if isinstance(error, (exceptions.AgentRunError, exceptions.UserError)):
        return ProviderFailure(_describe_error(error))
    return ProviderFailure(
        f"the provider's answer makes no sense to its library: {type(error).__name__}"
    )


def _require_end(response: ModelResponse) -> None:
    """Refuse an incomplete answer; every provider marks the end of an answer."""
    ending = (response.provider_details or {}).get("finish_reason")
    if response.finish_reason == "error":
        reason = describe_failure(
            None, f"the provider gave up its answer: {ending}".replace("_", " ").lower()
        )
        raise ProviderFailure(reason, is_temporary=True)
    if response.provider_url and not response.finish_reason and not ending:
        raise ProviderFailure("the provider's answer broke off", is_temporary=True)


def _find_delay(error: exceptions.ModelAPIError) -> float | None:
    """Find the time to wait: in the headers, or in the details of Google's errors, as "34s"."""
    inner = error.body.get("error") if isinstance(error.body, dict) else None
    details = inner.get("details") if isinstance(inner, dict) else None
    for detail in details if isinstance(details, list) and error.retry_after is None else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,6}(\.\d{1,9})?s", delay):
            return float(delay[:-1])
    return error.retry_after


def _describe_error(error: exceptions.AgentRunError | exceptions.UserError) -> str:
    """Describe a failure in one line."""
    if isinstance(error, exceptions.ModelAuthenticationError):
        return NO_KEY
    if isinstance(error, exceptions.ModelConnectionError):
        return NO_ANSWER
    status = getattr(error, "status_code", None)
    message = extract_message(getattr(error, "body", None))
    if not message and status is None:
        message = error.message or "the provider reports an error without a message"
    return describe_failure(status, message)


# The providers of the provider library, opened with our settings.


# Google's client, if stopped at the wrong moment, leaves its response open until the next garbage
# collection. The HTTP client that we give it records each response, so that it can be closed.
_FORGETFUL = ("google", "google-cloud")
_CONNECT_SECONDS = 10.0
_MOST_CONNECTIONS = 1_000
_VARIABLE = re.compile(
    r"`([A-Z0-9_]+)` environment"
)  # of a provider's key, as the library's errors name it


class Providers:
    """The providers in use, each with its connections."""

    def __init__(self, loop_thread: LoopThread, *, cache: bool = True) -> None:
        self._loop_thread, self._cache = loop_thread, cache
        self._providers: dict[str, NativeProvider[Any]] = {}
        self._clients: list[AsyncClient] = []

    def open(self, name: str, provider_config: Provider, timeout: float) -> ProviderConnection:
        """Open the connection to a model by its whole name."""
        provider = name.partition(":")[0]
        try:
            native = infer_model(
                name, lambda provider_name: self._open_provider(provider_name, provider_config)
            )
        except ImportError:
            reason = f"the provider {provider} needs a package: pip install "
            raise InvalidModel(name, f"{reason}'pydantic-ai-slim[{provider}]'") from None
        except (UserError, ValueError) as error:
            raise InvalidModel(name, _suggest_setting(provider, provider_config, error)) from None
        except TypeError:
            if not provider_config.base_url:
                raise
            reason = f"{provider} takes no base_url; its own variables say where it is"
            raise InvalidModel(name, reason) from None
        except Exception as error:
            # Google's library looks for credentials at once, and raises its own error without them.
            if not type(error).__module__.startswith("google.auth"):
                raise
            raise InvalidModel(name, str(error).partition(". ")[0].rstrip(".")) from None
        return ProviderConnection(name, native, timeout, cache=self._cache)

    def close(self) -> None:
        """Close every connection."""
        providers, self._providers = self._providers, {}
        for provider in providers.values():
            self._loop_thread.run(provider.__aexit__(None, None, None))
        clients, self._clients = self._clients, []
        for client in clients:
            self._loop_thread.run(client.aclose())

    def _open_provider(self, provider: str, provider_config: Provider) -> NativeProvider[Any]:
        if provider not in self._providers:
            native = self._create_provider(provider, provider_config)
            # A client's own retries would multiply with ours. Setting this for each request would
            # copy the client each time, which costs more than the rest of the request.
            if hasattr(native.client, "max_retries"):
                native.client.max_retries = 0
            self._loop_thread.run(native.__aenter__())
            self._providers[provider] = native
        return self._providers[provider]

    def _create_provider(self, provider: str, provider_config: Provider) -> NativeProvider[Any]:
        key = provider_config.key.reveal() if provider_config.key is not None else None
        client = _create_noting_client() if provider in _FORGETFUL else None
        options = {"api_key": key, "base_url": provider_config.base_url, "http_client": client}
        native: NativeProvider[Any] = infer_provider_class(provider)(
            **{name: option for name, option in options.items() if option}
        )
        self._clients += [client] if client is not None else []
        return native


def _create_noting_client() -> AsyncClient:
    return AsyncClient(
        timeout=Timeout(None),
        limits=Limits(max_connections=_MOST_CONNECTIONS),
        event_hooks={"request": [_connect_soon], "response": [note]},
    )


async def _connect_soon(request: Request) -> None:
    """Limit the time to connect; an answer itself may take longer."""
    timeouts = request.extensions["timeout"]
    timeouts["connect"] = min(timeouts["connect"] or _CONNECT_SECONDS, _CONNECT_SECONDS)


def _is_known(provider: str) -> bool:
    try:
        infer_provider_class(provider)
    except ValueError:
        return False
    except ImportError:
        return True
    return True


def _suggest_setting(provider: str, provider_config: Provider, error: Exception) -> str:
    """Name the missing setting; the library's own advice names its own arguments."""
    if not _is_known(provider):
        return (
            f"there is no provider {provider}; for an OpenAI-compatible server, set "
            f"base_url under [providers.{provider}] in looseleaf.toml"
        )
    if provider_config.key is None and "key" in str(error).lower():
        prefix = provider.upper().replace("-", "_")
        match = _VARIABLE.search(str(error))
        return (
            f"there is no key; set {match[1] if match else f'{prefix}_API_KEY'} or "
            f"LOOSELEAF_KEY_{prefix}, or key under [providers.{provider}] in looseleaf.toml"
        )
    return str(error).partition(". ")[0].rstrip(".")
