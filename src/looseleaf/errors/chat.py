"""Errors of conversations."""

from __future__ import annotations

from looseleaf.errors import Ambiguous, Invalid, LooseleafError, NotFound


class EmptyMessage(Invalid):
    """A message without text."""

    code = "empty_message"

    def __init__(self) -> None:
        super().__init__("The message is empty.")


class SessionMissing(NotFound):
    """No conversation has that id, or it belongs to someone else."""

    code = "session_not_found"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"There is no chat session {session}.")


class SessionAmbiguous(Ambiguous):
    """Several conversations have an id with this beginning."""

    code = "session_ambiguous"

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        super().__init__(
            f"Several chat sessions have an id that begins with {prefix!r}. Give more of the id."
        )


class SessionBusy(LooseleafError):
    """A turn of the conversation is running, here or in another process."""

    code = "session_busy"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} is being answered. Wait for the end, or cancel it."
        )


class TurnLost(LooseleafError):
    """The turn was silent for so long that another took its place; nothing was written."""

    code = "turn_lost"

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(
            f"The chat session {session} was taken over while this turn was silent, or it is gone."
        )
