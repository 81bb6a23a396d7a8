"""Times: the clock, how times and days are written and read, all of them in UTC.

Nothing else formats or parses a time. `datetime` is imported only when a text is parsed,
since reading a page takes less time than importing it.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

DAY_SECONDS = 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": DAY_SECONDS, "w": 7 * DAY_SECONDS}
# The times that can be written with a year of four digits; others are written as their end.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def now() -> float:
    """Return the time of this machine, in seconds since 1970."""
    return time.time()


def format_date(seconds: float) -> str:
    """Write the day of a time: 2026-04-17."""
    year, month, day, *_ = _split_utc(seconds)
    return f"{year:04}-{month:02}-{day:02}"


def format_minute(seconds: float) -> str:
    """Write a time for people: 2026-04-17 09:30."""
    return _format_time(seconds, " ")[:16]


def format_clock(seconds: float) -> str:
    """Write the time of day: 09:30:00."""
    return _format_time(seconds)[11:]


def format_time(seconds: float, zone: str = "Z") -> str:
    """Write a time to the second: 2026-04-17T09:30:00Z; some formats want +00:00 for the zone."""
    return _format_time(seconds) + zone


def format_microseconds(seconds: float) -> str:
    """Write a time to the microsecond, exact enough to find it again; from 1970 on."""
    global _date_of_day  # noqa: PLW0603 - the day of the last write is most likely that of the next
    seconds = min(max(seconds, 0.0), float(_LAST))
    whole_seconds = int(seconds)
    fraction = round((seconds - whole_seconds) * 1_000_000)
    if fraction == 1_000_000:
        whole_seconds, fraction = whole_seconds + 1, 0
    day, second = divmod(whole_seconds, DAY_SECONDS)
    if day != _date_of_day[0]:
        _date_of_day = day, format_date(whole_seconds)
    minute, second = divmod(second, 60)
    date = _date_of_day[1]
    return f"{date}T{minute // 60:02}:{minute % 60:02}:{second:02}.{fraction:06}Z"


_date_of_day = (-1, "")


def parse_time(text: str) -> float:
    """Read a time of ISO 8601 as seconds, in UTC unless it names a zone, or raise `ValueError`."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def parse_duration(text: str) -> int:
    """Read a length of time such as 30m, 12h, 90d or 2w as seconds, or 0 if it is none."""
    number, unit = text[:-1], text[-1:]
    is_plain = number.isascii() and number.isdigit() and len(number) < 10 and unit in _UNITS
    return int(number) * _UNITS[unit] if is_plain else 0


def is_calendar_day(year: str, month: str, day: str) -> bool:
    """Return whether YYYY, MM and DD are a real day; everything uses this definition."""
    digits = f"{year}{month}{day}"
    has_shape = len(year) == 4 and len(month) == 2 and len(day) == 2
    if not (has_shape and digits.isascii() and digits.isdigit()):
        return False
    years, months, days = int(year), int(month), int(day)
    if not (years > 0 and 1 <= months <= 12):
        return False
    leap = months == 2 and years % 4 == 0 and (years % 100 != 0 or years % 400 == 0)
    return 1 <= days <= _MONTH_DAYS[months - 1] + leap


def compute_day_start(year: int, month: int, day: int) -> int:
    """Return the first second of a day, in seconds since 1970."""
    from datetime import UTC, datetime

    return int(datetime(year, month, day, tzinfo=UTC).timestamp())


def weekday_of(year: int, month: int, day: int) -> int:
    """Return the weekday of a day: 0 is Monday."""
    return (compute_day_start(year, month, day) // DAY_SECONDS + 3) % 7


def convert_to_zone(seconds: float, zone: str = "UTC") -> datetime:
    """Return a time in a zone of the IANA database, or raise `ValueError` if there is none."""
    from datetime import UTC, datetime

    if zone == "UTC":
        return datetime.fromtimestamp(seconds, UTC)
    from zoneinfo import ZoneInfo

    try:
        return datetime.fromtimestamp(seconds, ZoneInfo(zone))
    except (LookupError, OSError) as error:
        raise ValueError(f"there is no time zone {zone!r}") from error


def format_local(seconds: float, zone: str) -> str:
    """Write a time of a zone for people: 2026-04-17 09:30 CEST."""
    return convert_to_zone(seconds, zone).strftime("%Y-%m-%d %H:%M %Z")


def _split_utc(seconds: float) -> time.struct_time:
    return time.gmtime(min(max(seconds, _FIRST), _LAST))


def _format_time(seconds: float, separator: str = "T") -> str:
    year, month, day, hour, minute, second, *_ = _split_utc(seconds)
    return f"{year:04}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}"
