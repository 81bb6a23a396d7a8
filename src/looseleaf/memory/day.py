"""A day of the journal: its date, and the page it has."""

from __future__ import annotations

from datetime import UTC, datetime

from looseleaf.errors import InvalidDate
from looseleaf.memory.scope import is_calendar_day
from looseleaf.values import value

FOLDER = "daily"


@value
class Day:
    """A calendar day as the parts of its page's name."""

    year: str
    month: str
    day: str

    @property
    def filename(self) -> str:
        """The page of the day: daily/YYYY/MM/DD.md."""
        return f"{FOLDER}/{self.year}/{self.month}/{self.day}.md"

    @property
    def timestamp(self) -> int:
        """When the day begins in UTC, in seconds since 1970."""
        year, month, day = map(int, (self.year, self.month, self.day))
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())

    def __str__(self) -> str:
        return f"{self.year}-{self.month}-{self.day}"


def parse_date(text: str) -> Day | None:
    """Read YYYY-MM-DD; None unless it is a real day."""
    parts = text.split("-")
    return Day(*parts) if len(parts) == 3 and is_calendar_day(*parts) else None


def day_of(filename: str) -> Day | None:
    """Give the day whose page this is; None for any other page."""
    folder, *parts = filename.removesuffix(".md").split("/")
    if folder != FOLDER or len(parts) != 3 or not filename.endswith(".md"):
        return None
    return Day(*parts) if is_calendar_day(*parts) else None


def day_named(text: str | None, now: float) -> Day:
    """Read a date, or raise `InvalidDate`; None and "" are the day of now, in UTC."""
    if not text:
        today = datetime.fromtimestamp(now, UTC)
        return Day(f"{today.year:04}", f"{today.month:02}", f"{today.day:02}")
    found = parse_date(text)
    if found is None:
        raise InvalidDate(text)
    return found
