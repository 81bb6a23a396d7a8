"""A model of some provider, asked through pydantic-ai."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from looseleaf.models.model import Delta
from looseleaf.models.pydantic_ai.messages import answer_of, messages_of
from looseleaf.models.retries import (
    NO_ANSWER,
    NO_KEY,
    ProviderFailure,
    describe_failure,
    extract_message,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from httpx2 import Response
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import Model as NativeModel

    from looseleaf.models.model import Answer, Question

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
