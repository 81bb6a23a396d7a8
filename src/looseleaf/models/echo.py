"""A model that needs no provider: it repeats the message, for demos and tests."""

from __future__ import annotations

import re

from looseleaf.models.model import Answer, Delta, Message, ToolCall, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.models.model import Question

CALL = "/call "


class EchoModel:
    """Repeats the message; `/call TOOL {…}` calls a tool, and its result is repeated."""

    def __init__(self, name: str = "echo") -> None:
        self.name = name

    def ask(self, question: Question, should_stop: Callable[[], bool]) -> Iterator[Delta | Answer]:
        """Stream the answer word by word."""
        last = question.messages[-1]
        calls: tuple[ToolCall, ...] = ()
        text = f"{last.name} said: {last.text}" if last.role == "tool" else last.text
        if last.role == "user" and text.startswith(CALL):
            tool, _, arguments = text[len(CALL) :].strip().partition(" ")
            place = f"echo-{len(question.messages)}"
            calls, text = (ToolCall(place, tool, arguments or "{}"),), ""
        for word in re.findall(r"\S+\s*|\s+", text):
            if should_stop():
                return
            yield Delta(word)
        input_words = sum(len(part.split()) for part in question.system)
        input_words += sum(len(part.text.split()) for part in question.messages)
        usage = Usage(1, input_words, len(text.split()))
        yield Answer(Message(role="assistant", text=text, calls=calls), usage, self.name)
