"""A page as it was at a time or revision."""

from __future__ import annotations

from looseleaf.errors import Invalid, PageMissing
from looseleaf.memory.history import DAY, pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.memory.history import History
    from looseleaf.memory.scope import Scope


def parse_moment(text: str) -> int | float:
    """Read a revision number, or a UTC time or day (meaning its end) as seconds."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    from datetime import UTC, date, datetime

    try:
        if len(text) == len("2026-04-17"):
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + DAY - 1e-6
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"{text!r} is neither a revision number nor a time such as 2026-04-17 or "
            "2026-04-17T09:30Z."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def at(history: History, scope: Scope, as_of: str) -> bytes:
    """Read what a page said at a time or revision, or raise `PageMissing` if it was not there."""
    content = content_at(history, scope, parse_moment(as_of))
    if content is None:
        raise PageMissing(scope.filename, f"the history as of {as_of}")
    return content


def content_at(history: History, scope: Scope, moment: int | float) -> bytes | None:
    """Read what a page said at a time or revision; None where it was not there."""
    chosen = pick(scope.filename, history.revisions(scope), moment)
    return history.content(scope, chosen.number) if chosen is not None and chosen.hash else None
