"""Transcripts of conversations, for a model and for people."""

from __future__ import annotations

from looseleaf.models.model import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looseleaf.chat.session import Session, SessionEntry

INTERRUPTED = (
    "Interrupted: the turn ended before a result was kept. It is not known whether this was done; "
    "look before you do it again."
)
SUMMARY = "SUMMARY OF THE CONVERSATION SO FAR (written by a model):\n\n"


def pair_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Place the result of every call right after the call, as providers require.

    Calls of a killed turn have no result; they get a result that says so. Results
    without a call are left out.
    """
    result: list[Message] = []
    open_calls: dict[str, str] = {}

    def settle() -> None:
        result.extend(
            Message(role="tool", text=INTERRUPTED, call=call, name=name, failed=True)
            for call, name in open_calls.items()
        )
        open_calls.clear()

    for message in messages:
        if message.role == "tool":
            if open_calls.pop(message.call, None) is not None:
                result.append(message)
            continue
        settle()
        if message.role == "assistant" and not message.text and not message.calls:
            continue  # an empty answer, which some providers refuse
        result.append(message)
        open_calls = {call.id: call.name for call in message.calls}
    settle()
    return tuple(result)


def count_to_summarize(messages: Sequence[Message], recent: int) -> int:
    """Count the messages to sum up: about `recent` stay, and no call is cut from its result."""
    at = max(len(messages) - recent, 0)
    while at > 0 and messages[at].role == "tool":
        at -= 1
    return at


def as_markdown(session: Session, entries: Sequence[SessionEntry], agent: str, day: str) -> str:
    """Write a conversation as a page that people read."""
    parts = [f"# {session.title or session.id}\n\n{agent}, {session.mode}, {day}\n"]
    parts += [_format_message(entry.message, agent) for entry in entries]
    return "\n".join(part for part in parts if part)


def _format_message(message: Message, agent: str) -> str:
    if message.role == "tool":
        note = " (failed)" if message.failed else ""
        return f"> {message.name}{note}: {_quote(message.text)}\n"
    lines = [f"## {'You' if message.role == 'user' else agent}\n"]
    lines += [f"{message.text}\n"] if message.text else []
    lines += [f"> {call.name} {_quote(call.arguments)}\n" for call in message.calls]
    lines += [
        f"> attached: {attachment.name} ({attachment.reference})\n"
        for attachment in message.attachments
    ]
    return "\n".join(lines)


def _quote(text: str) -> str:
    return text.replace("\n", "\n> ")


def as_text(messages: Iterable[Message]) -> str:
    """Write messages for a model that is to sum them up."""
    lines = []
    for message in messages:
        speaker = message.name if message.role == "tool" else message.role
        call_texts = "".join(f" [{call.name} {call.arguments}]" for call in message.calls)
        lines.append(f"{speaker}: {message.text}{call_texts}")
    return "\n\n".join(lines)
