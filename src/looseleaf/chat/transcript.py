"""What was said as a model may be given it, and as people read it."""

from __future__ import annotations

from looseleaf.models.model import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from looseleaf.chat.session import Entry, Session

INTERRUPTED = (
    "Interrupted: the turn ended before a result was kept. It is not known whether this was done; "
    "look before you do it again."
)
SUMMARY = "SUMMARY OF THE CONVERSATION SO FAR (written by a model):\n\n"


def whole(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give every call its result right after it, as providers insist.

    A turn that was killed leaves calls without one; they are told to be interrupted. Results
    without a call are left out.
    """
    kept: list[Message] = []
    waiting: dict[str, str] = {}

    def settle() -> None:
        kept.extend(
            Message("tool", INTERRUPTED, call=call, name=name, failed=True)
            for call, name in waiting.items()
        )
        waiting.clear()

    for message in messages:
        if message.role == "tool":
            if waiting.pop(message.call, None) is not None:
                kept.append(message)
            continue
        settle()
        if message.role == "assistant" and not message.text and not message.calls:
            continue  # an answer that said nothing; some providers refuse to be given it
        kept.append(message)
        waiting = {call.id: call.name for call in message.calls}
    settle()
    return tuple(kept)


def boundary(messages: Sequence[Message], recent: int) -> int:
    """Say how many messages to sum up so that about `recent` stay and no tool pair is cut."""
    at = max(len(messages) - recent, 0)
    while at > 0 and messages[at].role == "tool":
        at -= 1
    return at


def as_markdown(session: Session, entries: Sequence[Entry], agent: str, day: str) -> str:
    """Write a conversation as a page that people read."""
    parts = [f"# {session.title or session.id}\n\n{agent}, {session.mode}, {day}\n"]
    parts += [_part(entry.message, agent) for entry in entries]
    return "\n".join(part for part in parts if part)


def _part(message: Message, agent: str) -> str:
    if message.role == "tool":
        failed = " (failed)" if message.failed else ""
        return f"> {message.name}{failed}: {_quoted(message.text)}\n"
    lines = [f"## {'You' if message.role == 'user' else agent}\n"]
    lines += [f"{message.text}\n"] if message.text else []
    lines += [f"> {call.name} {_quoted(call.arguments)}\n" for call in message.calls]
    lines += [f"> attached: {one.name} ({one.reference})\n" for one in message.attachments]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text.replace("\n", "\n> ")


def as_text(messages: Iterable[Message]) -> str:
    """Write messages for a model that is to sum them up."""
    lines = []
    for message in messages:
        who = message.name if message.role == "tool" else message.role
        called = "".join(f" [{call.name} {call.arguments}]" for call in message.calls)
        lines.append(f"{who}: {message.text}{called}")
    return "\n\n".join(lines)
