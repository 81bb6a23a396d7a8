"""Dropping prior versions of pages that a retention no longer keeps, on every shelf."""

from __future__ import annotations

from looseleaf.memory.history import ShownTime, list_outlived_revisions
from looseleaf.memory.scope import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.memory.history import History
    from looseleaf.memory.store import Retention
    from looseleaf.settings import Settings
else:
    Protocol = object


class VersionParts(Protocol):
    """The parts of a workspace that hold prior versions."""

    @property
    def agents(self) -> AgentList:
        """The list of agents."""

    @property
    def history(self) -> History:
        """The history of every page."""

    def clock(self) -> float:
        """Give the time, in seconds since 1970."""


def drop_versions(
    parts: VersionParts, settings: Settings, retention: Retention, *, dry_run: bool
) -> int:
    """Drop prior versions that a retention no longer keeps, on every shelf, or count them."""
    shelves = _list_shelves(parts, settings)
    if dry_run:
        return sum(_count_versions(parts, shelf, retention) for shelf in shelves)
    return sum(parts.history.prune(shelf, retention) for shelf in shelves)


def _count_versions(parts: VersionParts, shelf: Shelf, retention: Retention) -> int:
    history, now = parts.history, parts.clock()
    histories = [history.revisions(shelf.page(name)) for name in history.pages(shelf)]
    times = (revision.time for revisions in histories for revision in revisions)
    shown_time = ShownTime(times, now, retention)
    return sum(
        len(list_outlived_revisions(revisions, retention, now, shown_time))
        for revisions in histories
    )


def _list_shelves(parts: VersionParts, settings: Settings) -> list[Shelf]:
    """List every shelf that may have a history, except those of deleted agents."""
    records = parts.agents.records()
    owners = {record.owner for record in records} | {settings.default_user}
    candidates = [Shelf("shared"), Shelf("network"), *(Shelf("user", user) for user in owners)]
    candidates += [shelf for shelf in parts.history.shelves() if shelf.layer != "agent"]
    candidates += [record.shelf for record in records]
    return list(dict.fromkeys(candidates))
