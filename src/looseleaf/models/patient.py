"""Models of providers: asked bit by bit through one loop, and again where one is only busy."""

from __future__ import annotations

import asyncio
import random
import re

from looseleaf.errors import ModelFailed
from looseleaf.models.model import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Protocol

    from looseleaf.models.bridge import Bridge
    from looseleaf.models.model import Answer, Delta, Question
    from looseleaf.values import Secret
else:
    Protocol = object

NO_KEY = "the provider does not accept the key"
NO_ANSWER = "the provider cannot be reached, or does not answer in time"
_LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_MOST_CHARACTERS = 300
_SECRET = re.compile(r"[A-Za-z0-9_\-*.]{20,}")  # keys are long words; so is little else


class Refusal(Exception):
    """A provider gave no answer; `passing` is what goes away by itself, maybe after `seconds`."""

    def __init__(self, why: str, *, passing: bool = False, seconds: float | None = None) -> None:
        super().__init__(why)
        self.why, self.passing, self.seconds = why, passing, seconds


class Line(Protocol):
    """A way to one model of a provider."""

    def ask(self, question: Question) -> AsyncIterator[Delta | Answer]:
        """Ask once: give the answer bit by bit and whole at its end, or raise `Refusal`."""


class PatientModel:
    """A model at the end of a line."""

    def __init__(
        self,
        name: str,
        line: Line,
        bridge: Bridge,
        *,
        retries: int = 2,
        key: Secret | None = None,
    ) -> None:
        self.name = name
        self._line, self._bridge, self._retries, self._key = line, bridge, retries, key

    def ask(
        self, question: Question, stopped: Callable[[], bool]
    ) -> Iterator[Delta | Retry | Answer]:
        """Ask the provider, again where it is only busy, and give its answer as it comes."""
        return self._bridge.stream(self._asked(question), stopped)

    async def _asked(self, question: Question) -> AsyncIterator[Delta | Retry | Answer]:
        for attempt in range(self._retries + 1):
            begun = False
            try:
                async for said in self._line.ask(question):
                    begun = True
                    yield said
            except Refusal as refusal:
                why = self._without_key(refusal.why)
                # Half an answer that was shown already is not begun anew.
                if not refusal.passing or begun or attempt == self._retries:
                    # Without its cause, which may hold what was sent, and so the key.
                    raise ModelFailed(self.name, why) from None
                again = Retry(attempt + 1, _waiting(refusal, attempt), why)
            else:
                return
            yield again
            await asyncio.sleep(again.seconds)

    def _without_key(self, said: str) -> str:
        return said.replace(self._key.reveal(), "…") if self._key is not None else said


def _waiting(refusal: Refusal, attempt: int) -> float:
    """Choose how long to wait: as the provider asks, within reason, else longer each time."""
    if refusal.seconds is not None:
        return min(max(refusal.seconds, 0.0), _LONGEST_WAIT)
    return _FIRST_WAIT * float(2**attempt) * (1 + random.random() / 4)  # noqa: S311 - no secret


def told(status: int | None, said: str) -> str:
    """Say in one line what a provider said, and nothing that could be a secret."""
    line = " ".join(_SECRET.sub("…", said).split())[:_MOST_CHARACTERS]
    return ": ".join(part for part in (f"status {status}" if status else "", line) if part)


def message_in(body: object) -> str:
    """Find the sentence in what a provider sent."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        found = inner.get("message") if isinstance(inner, dict) else inner
        return found if isinstance(found, str) else ""
    return body if isinstance(body, str) else ""
