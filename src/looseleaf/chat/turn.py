"""One turn: compose, ask, run tools, save, and again until there is an answer."""

from __future__ import annotations

import time

from looseleaf.agents.config import CompactionConfig
from looseleaf.chat.events import (
    Compacted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    Waiting,
)
from looseleaf.chat.session import TurnOutcome
from looseleaf.chat.summary import sum_up
from looseleaf.chat.transcript import SUMMARY, count_to_summarize, pair_calls
from looseleaf.errors import LooseleafError
from looseleaf.errors.chat import TurnLost
from looseleaf.models.model import Delta, Message, Question, Retry, Usage, never
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from looseleaf.chat.events import Event
    from looseleaf.chat.session import BegunTurn, Chats, Lease, Status, WrittenPage
    from looseleaf.models.model import Answer, Model, Offer, ToolCall

_LOOK = 1.0  # seconds between two checks whether another process cancelled the turn
REPEATED = (
    "You made this very call just before, and its result stands above. Use that, or do something "
    "else."
)


@value
class Result:
    """The result of a tool: text for the model, and the pages that the tool changed."""

    text: str
    failed: bool = False
    written: tuple[WrittenPage, ...] = ()


@value(kw_only=True)
class TurnSetup:
    """The model, the tools and the limits of a turn."""

    model: Model
    system: Callable[[], tuple[str, ...]]  # composed anew for every question
    offers: tuple[Offer, ...]
    run: Callable[[ToolCall], Result]
    limit: int
    compaction: CompactionConfig = CompactionConfig()
    should_stop: Callable[[], bool] = never  # whether this process cancels the turn


class TurnRunner:
    """The state of one turn; `run` is a generator, and closing it cancels the turn."""

    def __init__(
        self,
        chats: Chats,
        begun_turn: BegunTurn,
        lease: Lease,
        setup: TurnSetup,
        first_message: Message | None = None,  # the only message of its session, if that is known
    ) -> None:
        self._chats, self._session, self._turn = chats, begun_turn.session, begun_turn.turn
        self._lease, self._setup = lease, setup
        self._first_message = first_message
        self._last_look = time.monotonic()
        self._base, self._summary = begun_turn.session.summarized, begun_turn.session.summary
        self._messages: list[Message] = []  # the messages after the summary
        self._compaction = setup.compaction
        self._usage = Usage()
        self._written_pages: list[WrittenPage] = []
        self._text = ""  # of an answer that is not complete
        self._before: tuple[str, str] | None = None  # the previous call
        self._steps = 0
        self._over = False

    def run(self) -> Iterator[Event]:
        """Run the turn and yield its events; its end is saved in every case."""
        try:
            turn = self._turn
            yield TurnStarted(self._session.id, turn.number, turn.first, self._setup.model.name)
            self._messages = self._read_messages()
            yield from self._run_steps()
        except TurnLost:
            raise  # another process has taken the session over, and ends the turn
        except (GeneratorExit, KeyboardInterrupt):
            self._give_up("cancelled")
            raise
        except LooseleafError as error:
            self._give_up("failed", str(error))
            raise
        except BaseException as error:
            # A fault of ours; without an end, the session would wait until its lease expires.
            self._give_up("failed", type(error).__name__)
            raise

    def _read_messages(self) -> list[Message]:
        if self._first_message is not None:
            return [self._first_message]
        entries = self._chats.sessions.messages(self._session.id, after=self._base)
        return [entry.message for entry in entries]

    def _give_up(self, status: Status, error: str = "") -> None:
        if not self._over:
            self._end(status, error=error)

    def _run_steps(self) -> Iterator[Event]:
        while self._steps < self._setup.limit:
            if self._setup.should_stop():
                yield self._end("cancelled")
                return
            self._steps += 1
            yield from self._compact()
            answer = yield from self._ask()
            if answer is None:
                yield self._end("cancelled")
                return
            if not answer.message.calls:
                yield self._end("completed", answer.message, warning=answer.warning)
                return
            self._save(answer.message)
            for call in answer.message.calls:
                if self._setup.should_stop():
                    yield self._end("cancelled")
                    return
                yield ToolCalled(call.id, call.name, call.arguments)
                yield self._use(call)
                if self._should_stop():
                    yield self._end("cancelled")
                    return
        warning = f"The model was asked {self._steps} times without a final answer."
        yield self._end("limit", warning=warning)

    def _ask(self) -> Generator[Event, None, Answer | None]:
        system = self._setup.system()
        if self._summary:
            system = (*system, SUMMARY + self._summary)
        question = Question(system, pair_calls(self._messages), self._setup.offers)
        self._text = ""
        for part in self._setup.model.ask(question, self._should_stop):
            if isinstance(part, Delta):
                self._text += part.text
                yield TextDelta(part.text)
            elif isinstance(part, Retry):
                yield Waiting(part.attempt, part.seconds, part.reason)
            else:
                self._usage = self._usage.plus(part.usage)
                self._text = ""
                return part
        return None

    def _use(self, call: ToolCall) -> ToolReturned:
        """Run a tool, unless it repeats the previous call; the result is saved at once."""
        signature = (call.name, call.arguments)
        result = (
            Result(REPEATED, failed=True) if signature == self._before else self._setup.run(call)
        )
        self._before = signature
        self._written_pages += result.written
        message = Message(
            role="tool", text=result.text, call=call.id, name=call.name, failed=result.failed
        )
        self._save(message)
        return ToolReturned(call.id, call.name, result.text, result.failed, result.written)

    def _save(self, message: Message) -> None:
        self._chats.turns.append(self._lease, (message,))
        self._messages.append(message)

    def _should_stop(self) -> bool:
        """Return whether to stop; from time to time, also renew the lease and ask the database."""
        if self._setup.should_stop():
            return True
        now = time.monotonic()
        if now - self._last_look < _LOOK:
            return False
        self._last_look = now
        return self._chats.turns.renew(self._lease)

    def _compact(self) -> Iterator[Event]:
        """Sum up the beginning if the rule says so; a failure changes nothing."""
        rule, messages = self._compaction, self._messages
        count = count_to_summarize(messages, rule.recent_messages)
        if not rule.enabled or len(messages) <= rule.max_messages or not count:
            return
        try:
            summary, usage = sum_up(self._setup.model, self._summary, messages[:count])
        except LooseleafError as error:
            self._compaction = CompactionConfig()  # off, for the rest of the turn
            yield Compacted(self._base, str(error))
            return
        self._usage = self._usage.plus(usage)
        self._base, self._summary, self._messages = self._base + count, summary, messages[count:]
        self._chats.sessions.change(self._session.id, summary=summary, summarized=self._base)
        yield Compacted(self._base, "")

    def _end(
        self, status: Status, last: Message | None = None, *, error: str = "", warning: str = ""
    ) -> TurnEnded:
        """Save the outcome, and the part of an answer that was already shown."""
        self._over = True
        if last is None and self._text:
            last = Message(role="assistant", text=self._text)
        written_pages = tuple(self._written_pages)
        outcome = TurnOutcome(status, self._usage, error, written_pages)
        self._chats.turns.end(self._lease, (last,) if last else (), outcome)
        return TurnEnded(
            session=self._session.id,
            turn=self._turn.number,
            status=status,
            text=last.text if last else "",
            usage=self._usage,
            written=written_pages,
            steps=self._steps,
            warning=warning,
        )
