"""Sessions that clients of the older protocol have open: so many for each credential, no more."""

from __future__ import annotations

from collections import OrderedDict

MOST_SESSIONS = 50  # of one credential
_MOST_OWNERS = 10_000


class SessionLimit:
    """Knows the sessions of each credential, the one that was used longest ago first.

    Programs seldom end their sessions, so a new one takes the place of the oldest instead of being
    refused.
    """

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self.most = most
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def use(self, owner: str, session: str) -> list[str]:
        """Note that a session is used; give those of its owner that must end for it."""
        own = self._sessions.setdefault(owner, OrderedDict())
        own[session] = None
        own.move_to_end(session)
        self._sessions.move_to_end(owner)
        if len(self._sessions) > _MOST_OWNERS:
            self._sessions.popitem(last=False)
        return [own.popitem(last=False)[0] for _ in range(len(own) - self.most)]

    def end(self, owner: str, session: str) -> None:
        """Note that a session has ended."""
        own = self._sessions.get(owner, OrderedDict())
        own.pop(session, None)
        if not own:
            self._sessions.pop(owner, None)
