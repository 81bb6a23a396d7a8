"""Models of providers: answers as streams, and retries if a provider is busy."""

from __future__ import annotations

import asyncio
import random
import re

from looseleaf.errors.models import ModelFailed
from looseleaf.models.model import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Protocol

    from looseleaf.models.model import Answer, Delta, Question
    from looseleaf.models.pydantic_ai.event_loop import LoopThread
    from looseleaf.values import Secret
else:
    Protocol = object

NO_KEY = "the provider does not accept the key"
NO_ANSWER = "the provider cannot be reached, or does not answer in time"
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_MOST_CHARACTERS = 300
_SECRET = re.compile(
    r"[A-Za-z0-9_\-*.]{20,}"
)  # keys are long words, and few other words are so long


class ProviderFailure(Exception):
    """A provider gave no answer; after a temporary failure it can be asked again in `seconds`."""

    def __init__(
        self, reason: str, *, is_temporary: bool = False, seconds: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.is_temporary, self.seconds = reason, is_temporary, seconds


class ModelConnection(Protocol):
    """The connection to one model of a provider."""

    def ask(self, question: Question) -> AsyncIterator[Delta | Answer]:
        """Send a request: yield the answer in parts, then whole, or raise `ProviderFailure`."""


class RetryingModel:
    """A model that is asked again if its provider is busy."""

    def __init__(
        self,
        name: str,
        connection: ModelConnection,
        loop_thread: LoopThread,
        *,
        retries: int = 2,
        key: Secret | None = None,
    ) -> None:
        self.name = name
        self._connection, self._loop_thread = connection, loop_thread
        self._retries, self._key = retries, key

    def ask(
        self, question: Question, should_stop: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Query the provider, again if it is busy, and yield its answer as it comes."""
        return self._loop_thread.stream(self._ask_with_retries(question), should_stop)

    async def _ask_with_retries(self, question: Question) -> AsyncIterator[Delta | Retry | Answer]:
        for attempt in range(self._retries + 1):
            has_begun = False
            try:
                async for part in self._connection.ask(question):
                    has_begun = True
                    yield part
            except ProviderFailure as refusal:
                reason = self._without_key(refusal.reason)
                # If a part of the answer was shown, the provider is not asked again.
                if not refusal.is_temporary or has_begun or attempt == self._retries:
                    # Without the cause, which may contain the request and with it the key.
                    raise ModelFailed(self.name, reason) from None
                retry = Retry(attempt + 1, _choose_wait(refusal, attempt), reason)
            else:
                return
            yield retry
            await asyncio.sleep(retry.seconds)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key.reveal(), "…") if self._key is not None else text


def _choose_wait(refusal: ProviderFailure, attempt: int) -> float:
    """Choose the time to wait: as the provider says, up to a limit, else longer each time."""
    if refusal.seconds is not None:
        return min(max(refusal.seconds, 0.0), _LONGEST_WAIT)
    return _FIRST_WAIT * float(2**attempt) * (1 + random.random() / 4)  # noqa: S311 - no secret


def describe_failure(status: int | None, message: str) -> str:
    """Describe a failure in one line, by the provider's message, without possible secrets."""
    line = " ".join(_SECRET.sub("…", message).split())[:_MOST_CHARACTERS]
    return ": ".join(part for part in (f"status {status}" if status else "", line) if part)


def extract_message(body: object) -> str:
    """Find the message in the body of a provider's error."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        return message if isinstance(message, str) else ""
    return body if isinstance(body, str) else ""
