"""One turn: compose, ask, run tools, save, and again until there is an answer."""

from __future__ import annotations

import time

from looseleaf.chat.compaction import OFF, sum_up
from looseleaf.chat.events import Began, Called, Compacted, Ended, Returned, Said, Waiting
from looseleaf.chat.session import Outcome
from looseleaf.chat.transcript import SUMMARY, boundary, whole
from looseleaf.errors import LooseleafError, TurnLost
from looseleaf.models.model import Delta, Message, Question, Retry, Usage, never
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from looseleaf.chat.compaction import Compaction
    from looseleaf.chat.events import Event
    from looseleaf.chat.session import Begun, Chats, Lease, Status, Written
    from looseleaf.models.model import Answer, Model, Offer, ToolCall

_LOOK = 1.0  # seconds between two looks whether another process wants it to stop
REPEATED = (
    "You made this very call just before, and its result stands above. Use that, or do something "
    "else."
)


@value
class Result:
    """What a tool gave: text for the model, and which pages it changed."""

    text: str
    failed: bool = False
    written: tuple[Written, ...] = ()


@value
class Party:
    """Who takes part in a turn besides the person."""

    model: Model
    system: Callable[[], tuple[str, ...]]  # composed anew for every question
    offers: tuple[Offer, ...]
    run: Callable[[ToolCall], Result]
    limit: int
    compaction: Compaction = OFF
    stopped: Callable[[], bool] = never  # whether someone in this process wants it to stop


class TurnTaker:
    """The state of one turn; `take` is a generator, and to close it cancels the turn."""

    def __init__(self, chats: Chats, begun: Begun, lease: Lease, party: Party) -> None:
        self._chats, self._session, self._turn = chats, begun.session, begun.turn
        self._lease, self._party = lease, party
        self._looked = time.monotonic()
        self._base, self._summary = begun.session.summarized, begun.session.summary
        self._messages: list[Message] = []  # those after the summary
        self._compaction = party.compaction
        self._usage = Usage()
        self._written: list[Written] = []
        self._text = ""  # of an answer that is not complete
        self._before: tuple[str, str] | None = None  # the call before
        self._steps = 0
        self._over = False

    def take(self) -> Iterator[Event]:
        """Take the turn, telling every step; whatever happens, its end is saved."""
        try:
            turn = self._turn
            yield Began(self._session.id, turn.number, turn.first, self._party.model.name)
            entries = self._chats.sessions.messages(self._session.id, after=self._base)
            self._messages = [entry.message for entry in entries]
            yield from self._taken()
        except TurnLost:
            raise  # whoever has the session now says how it ends
        except (GeneratorExit, KeyboardInterrupt):
            self._give_up("cancelled")
            raise
        except LooseleafError as error:
            self._give_up("failed", str(error))
            raise
        except BaseException as error:
            # A fault of ours; the session must not wait for its lease to run out.
            self._give_up("failed", type(error).__name__)
            raise

    def _give_up(self, status: Status, error: str = "") -> None:
        if not self._over:
            self._end(status, error=error)

    def _taken(self) -> Iterator[Event]:
        while self._steps < self._party.limit:
            if self._party.stopped():
                yield self._end("cancelled")
                return
            self._steps += 1
            yield from self._compact()
            answer = yield from self._ask()
            if answer is None:
                yield self._end("cancelled")
                return
            if not answer.message.calls:
                yield self._end("completed", answer.message, warning=answer.cut)
                return
            self._save(answer.message)
            for call in answer.message.calls:
                if self._party.stopped():
                    yield self._end("cancelled")
                    return
                yield Called(call.id, call.name, call.arguments)
                yield self._use(call)
                if self._stopped():
                    yield self._end("cancelled")
                    return
        warning = f"The model was asked {self._steps} times and has not come to an end."
        yield self._end("limit", warning=warning)

    def _ask(self) -> Generator[Event, None, Answer | None]:
        system = self._party.system()
        if self._summary:
            system = (*system, SUMMARY + self._summary)
        question = Question(system, whole(self._messages), self._party.offers)
        self._text = ""
        for said in self._party.model.ask(question, self._stopped):
            if isinstance(said, Delta):
                self._text += said.text
                yield Said(said.text)
            elif isinstance(said, Retry):
                yield Waiting(said.attempt, said.seconds, said.why)
            else:
                self._usage = self._usage.plus(said.usage)
                self._text = ""
                return said
        return None

    def _use(self, call: ToolCall) -> Returned:
        """Run a tool, unless it is the very call before; its result is saved at once."""
        this = (call.name, call.arguments)
        result = Result(REPEATED, failed=True) if this == self._before else self._party.run(call)
        self._before = this
        self._written += result.written
        told = Message("tool", result.text, call=call.id, name=call.name, failed=result.failed)
        self._save(told)
        return Returned(call.id, call.name, result.text, result.failed, result.written)

    def _save(self, message: Message) -> None:
        self._chats.turns.append(self._lease, (message,))
        self._messages.append(message)

    def _stopped(self) -> bool:
        """Say whether to stop; now and then also keep the lease and ask other processes."""
        if self._party.stopped():
            return True
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return False
        self._looked = now
        return self._chats.turns.renew(self._lease)

    def _compact(self) -> Iterator[Event]:
        """Sum up the beginning where that is wanted; a failure leaves everything as it is."""
        rule, messages = self._compaction, self._messages
        cut = boundary(messages, rule.recent_messages)
        if not rule.enabled or len(messages) <= rule.max_messages or not cut:
            return
        try:
            summary, usage = sum_up(self._party.model, self._summary, messages[:cut])
        except LooseleafError as error:
            self._compaction = OFF
            yield Compacted(self._base, str(error))
            return
        self._usage = self._usage.plus(usage)
        self._base, self._summary, self._messages = self._base + cut, summary, messages[cut:]
        self._chats.sessions.change(self._session.id, summary=summary, summarized=self._base)
        yield Compacted(self._base, "")

    def _end(
        self, status: Status, last: Message | None = None, *, error: str = "", warning: str = ""
    ) -> Ended:
        """Save how it ended, and half an answer too: what someone saw is not lost."""
        self._over = True
        if last is None and self._text:
            last = Message("assistant", self._text)
        written = tuple(self._written)
        outcome = Outcome(status, self._usage, error, written)
        self._chats.turns.end(self._lease, (last,) if last else (), outcome)
        return Ended(
            self._session.id,
            self._turn.number,
            status,
            last.text if last else "",
            self._usage,
            written,
            self._steps,
            warning,
        )
