"""A model that needs no provider: it says again what it is told, for demos and tests."""

from __future__ import annotations

import re

from looseleaf.models.model import Answer, Delta, Message, ToolCall, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from looseleaf.models.model import Question

CALL = "/call "


class EchoModel:
    """Says again what it is told; `/call TOOL {…}` calls a tool, and its result is said again."""

    def __init__(self, name: str = "echo") -> None:
        self.name = name

    def ask(self, question: Question, stopped: Callable[[], bool]) -> Iterator[Delta | Answer]:
        """Answer word by word."""
        last = question.messages[-1]
        calls: tuple[ToolCall, ...] = ()
        text = f"{last.name} said: {last.text}" if last.role == "tool" else last.text
        if last.role == "user" and text.startswith(CALL):
            tool, _, arguments = text[len(CALL) :].strip().partition(" ")
            place = f"echo-{len(question.messages)}"
            calls, text = (ToolCall(place, tool, arguments or "{}"),), ""
        for word in re.findall(r"\S+\s*|\s+", text):
            if stopped():
                return
            yield Delta(word)
        given = sum(len(one.split()) for one in question.system)
        given += sum(len(one.text.split()) for one in question.messages)
        usage = Usage(1, given, len(text.split()))
        yield Answer(Message("assistant", text, calls), usage, self.name)
