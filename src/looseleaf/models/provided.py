"""A model of some provider, asked through pydantic-ai; the only module that talks to providers."""

from __future__ import annotations

import asyncio
import random
import re
from typing import TYPE_CHECKING

from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model as NativeModel
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from looseleaf.errors import ModelFailed
from looseleaf.models.model import Answer, Delta, Retry
from looseleaf.models.native import answer_of, messages_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from pydantic_ai.messages import ModelMessage, ModelResponseStreamEvent

    from looseleaf.models.bridge import Bridge
    from looseleaf.models.model import Question

# What goes away by itself; whatever else a provider says, it would say again.
_PASSING = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
)
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_MOST_CHARACTERS = 300
_SECRET = re.compile(r"[A-Za-z0-9_\-*.]{20,}")  # keys are long words; so is little else


class ProvidedModel:
    """One model of one provider."""

    def __init__(
        self,
        name: str,
        native: NativeModel,
        bridge: Bridge,
        *,
        timeout: float = 120.0,
        retries: int = 2,
    ) -> None:
        self.name = name
        self._native = native
        self._bridge = bridge
        self._retries = retries
        # Silence ends an answer, not length: a long one may take its time as long as it comes.
        self._settings = ModelSettings(timeout=timeout, first_event_timeout=timeout)

    def ask(
        self, question: Question, stopped: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Ask the provider, again where it is only busy, and give its answer as it comes."""
        return self._bridge.stream(self._asked(question), stopped)

    async def _asked(self, question: Question) -> AsyncIterator[Delta | Retry | Answer]:
        native = messages_of(question), _parameters(question)
        for attempt in range(self._retries + 1):
            begun = False
            try:
                async for said in self._once(*native):
                    begun = True
                    yield said
            except _PASSING as error:
                # Half an answer that was shown already is not begun anew.
                if begun or attempt == self._retries:
                    raise ModelFailed(self.name, told(error)) from None
                again = Retry(attempt + 1, waiting(error, attempt), told(error))
            except (exceptions.AgentRunError, exceptions.UserError) as error:
                # Without its cause, which may hold what was sent, and so the key.
                raise ModelFailed(self.name, told(error)) from None
            else:
                return
            yield again
            await asyncio.sleep(again.seconds)

    async def _once(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> AsyncIterator[Delta | Answer]:
        async with model_request_stream(
            self._native,
            messages,
            model_settings=self._settings,
            model_request_parameters=parameters,
        ) as stream:
            async for event in stream:
                text = _text(event)
                if text:
                    yield Delta(text)
            yield answer_of(stream.get(), stream.usage, self.name)


def _parameters(question: Question) -> ModelRequestParameters:
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


def _text(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def waiting(error: exceptions.ModelAPIError, attempt: int) -> float:
    """Choose how long to wait: as the provider asks, within reason, else longer each time."""
    if error.retry_after is not None:
        return min(max(error.retry_after, 0.0), _LONGEST_WAIT)
    return _FIRST_WAIT * float(2**attempt) * (1 + random.random() / 4)  # noqa: S311 - no secret


def told(error: exceptions.AgentRunError | exceptions.UserError) -> str:
    """Say in one line what a provider said, and nothing that could be a secret."""
    if isinstance(error, exceptions.ModelAuthenticationError):
        return "the provider does not accept the key"
    if isinstance(error, exceptions.ModelConnectionError):
        return "the provider cannot be reached, or does not answer in time"
    status = getattr(error, "status_code", None)
    said = _message(getattr(error, "body", None)) or (str(error) if status is None else "")
    line = " ".join(_SECRET.sub("…", said).split())[:_MOST_CHARACTERS]
    return ": ".join(part for part in (f"status {status}" if status else "", line) if part)


def _message(body: object) -> str:
    """Find the sentence in what a provider sent."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        found = inner.get("message") if isinstance(inner, dict) else inner
        return found if isinstance(found, str) else ""
    return body if isinstance(body, str) else ""
