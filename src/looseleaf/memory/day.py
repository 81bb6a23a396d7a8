"""A day of the journal: its date and its page."""

from __future__ import annotations

from looseleaf.errors import InvalidDate, InvalidName
from looseleaf.files.folders import casefold_name
from looseleaf.times import compute_day_start, format_date, is_calendar_day
from looseleaf.values import value

FOLDER = "daily"  # of the pages of the journal, below an agent's folder
_SHAPE = f"{FOLDER}/YYYY/MM/DD.md"


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
        return compute_day_start(int(self.year), int(self.month), int(self.day))

    @property
    def title(self) -> str:
        """The first line of a new page of the day: its date."""
        return f"# {self}\n"

    @property
    def heading(self) -> str:
        """The beginning of a new page of the day: its title, and an empty line."""
        return f"{self.title}\n"

    def __str__(self) -> str:
        return f"{self.year}-{self.month}-{self.day}"


def parse_date(text: str) -> Day | None:
    """Parse YYYY-MM-DD, or None unless it is a real day."""
    parts = text.split("-")
    return Day(*parts) if len(parts) == 3 and is_calendar_day(*parts) else None


def day_of(filename: str) -> Day | None:
    """Return the day whose page this is, or None for any other page."""
    folder, *parts = filename.removesuffix(".md").split("/")
    if folder != FOLDER or len(parts) != 3 or not filename.endswith(".md"):
        return None
    return Day(*parts) if is_calendar_day(*parts) else None


def resolve_day(text: str | None, now: float) -> Day:
    """Parse a date, or raise `InvalidDate`; None and "" mean the day of `now`, in UTC."""
    day = parse_date(text or format_date(now))
    if day is None:
        raise InvalidDate(text or "")
    return day


def is_in_journal(filename: str) -> bool:
    """Return whether a page lies in the folder of the journal, however its name is written."""
    return casefold_name(filename).startswith(f"{FOLDER}/")


def check_day(filename: str) -> None:
    """Raise `InvalidName` if a name has the shape of a day's page, and there is no such day."""
    parts = filename[:-3].split("/")
    has_day_shape = is_in_journal(filename) and filename[-3:].lower() == ".md" and len(parts) == 4
    digits = has_day_shape and [len(part) for part in parts[1:] if part.isdigit()] == [4, 2, 2]
    if digits and not is_calendar_day(*parts[1:]):
        raise InvalidName(filename, f"there is no such day; a day is {_SHAPE}")
