"""A limit on the open sessions of clients of the older protocol, for each credential."""

from __future__ import annotations

from collections import OrderedDict

MOST_SESSIONS = 50  # of one credential
_MOST_OWNERS = 10_000


class SessionLimit:
    """The sessions of each credential, in the order of their last use.

    Programs seldom end their sessions, so a new session replaces the oldest one instead of being
    refused.
    """

    def __init__(self, limit: int = MOST_SESSIONS) -> None:
        self.limit = limit
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def use(self, owner: str, session: str) -> list[str]:
        """Register the use of a session; return the owner's oldest sessions, which must end."""
        sessions = self._sessions.setdefault(owner, OrderedDict())
        sessions[session] = None
        sessions.move_to_end(session)
        self._sessions.move_to_end(owner)
        if len(self._sessions) > _MOST_OWNERS:
            self._sessions.popitem(last=False)
        return [sessions.popitem(last=False)[0] for _ in range(len(sessions) - self.limit)]

    def end(self, owner: str, session: str) -> None:
        """Remove a session that has ended."""
        sessions = self._sessions.get(owner, OrderedDict())
        sessions.pop(session, None)
        if not sessions:
            self._sessions.pop(owner, None)
