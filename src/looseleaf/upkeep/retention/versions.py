"""Prior versions of all pages: dropping those past their retention, and packing the others."""

from __future__ import annotations

from looseleaf.errors import LooseleafError
from looseleaf.memory.history import ShownTime, list_outlived_revisions
from looseleaf.memory.scope import Shelf
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from looseleaf.agents.agent_list import AgentList
    from looseleaf.memory.history import History
    from looseleaf.memory.store import Retention
    from looseleaf.settings import Settings

    Progress = Callable[[str, int, int], None]
else:
    Protocol = object

_MOST_PROBLEMS = 20


class VersionParts(Protocol):
    """The parts of a workspace that hold prior versions."""

    @property
    def agents(self) -> AgentList:
        """The list of agents."""

    @property
    def history(self) -> History:
        """The history of every page."""

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""


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


@value(kw_only=True)
class PackReport:
    """The result of packing the histories of a workspace.

    Fields:
        pages: The number of pages with versions that went into a pack, or would.
        versions: The number of these versions.
        file_bytes: The bytes of their files.
        pack_bytes: The bytes that the packs grew by, or would grow by.
        problems: The pages that could not be packed, at most 20, each with the reason.
        problem_count: The number of pages that could not be packed.
        dry_run: Whether nothing was written.
    """

    pages: int
    versions: int
    file_bytes: int
    pack_bytes: int
    problems: tuple[str, ...] = ()
    problem_count: int = 0
    dry_run: bool = False


def pack_histories(
    history: History,
    *,
    dry_run: bool = False,
    show_progress: Progress = lambda _activity, _count, _total: None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> PackReport:
    """Pack the history of every page, of deleted pages and agents too.

    A page that cannot be packed is reported, and the others are packed all the same.
    """
    scopes = [shelf.page(name) for shelf in history.shelves() for name in history.pages(shelf)]
    results, problems = [], []
    for number, scope in enumerate(scopes, 1):
        if is_cancelled():
            break
        show_progress("Packing histories", number, len(scopes))
        try:
            result = history.pack(scope, dry_run=dry_run)
        except LooseleafError as error:
            problems.append(f"{scope.key}: {error}")
            continue
        results += [result] if result.versions else []
    return PackReport(
        pages=len(results),
        versions=sum(result.versions for result in results),
        file_bytes=sum(result.file_bytes for result in results),
        pack_bytes=sum(result.pack_bytes for result in results),
        problems=tuple(problems[:_MOST_PROBLEMS]),
        problem_count=len(problems),
        dry_run=dry_run,
    )
