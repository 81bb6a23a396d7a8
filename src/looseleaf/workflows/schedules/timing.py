"""Time plans: keys of intervals, cron expressions, one time; and the next times of each.

Intervals keep their phase: the next run is a whole number of intervals after the first one, even
if runs in between were late. Cron expressions are read in the time zone of the site.
"""

from __future__ import annotations

from zlib import crc32

from cronsim import CronSim, CronSimError

from looseleaf.errors.workflows import InvalidSchedule
from looseleaf.times import DAY_SECONDS, convert_to_zone, parse_duration, parse_time
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MANUAL, ONE_TIME, CRON = "manual", "one_time", "cron"
SPECIAL = (MANUAL, ONE_TIME, CRON)
INTERVALS: dict[str, int] = {
    "every_5_minutes": 300,
    "hourly": 3_600,
    "every_2_hours": 7_200,
    "every_4_hours": 14_400,
    "qtrdaily": 21_600,
    "twicedaily": 43_200,
    "daily": DAY_SECONDS,
    "every_3_days": 3 * DAY_SECONDS,
    "weekly": 7 * DAY_SECONDS,
    "monthly": 30 * DAY_SECONDS,
}
ALIASES = {"every_6_hours": "qtrdaily", "every_12_hours": "twicedaily"}
_CRON_WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LONGEST_PLAN = 200
_WIDEST_STAGGER = 3_600


@value
class Timing:
    """A checked time plan; `cron` and `at` are set for the intervals of these names only.

    Fields:
        interval: The key of an interval, a duration such as 6h, or manual, one_time, cron.
        cron: With cron: the expression, five fields, or six with seconds first.
        at: With one_time: the time in seconds since 1970.
    """

    interval: str = MANUAL
    cron: str = ""
    at: float = 0.0

    @property
    def seconds(self) -> int:
        """The seconds between two runs, or 0 if it is no interval."""
        return INTERVALS.get(self.interval) or parse_duration(self.interval)

    @property
    def is_manual(self) -> bool:
        """Whether nothing runs by itself."""
        return self.interval == MANUAL

    def describe(self) -> str:
        """Return when it runs, in a word or two."""
        return f"cron {self.cron}" if self.interval == CRON else self.interval


def read_timing(interval: str, *, cron: str = "", at: float | str = 0.0) -> Timing:
    """Check a time plan and return it in its usual form, or raise `InvalidSchedule`.

    `interval` may also be a cron expression.
    """
    if len(interval) > _LONGEST_PLAN:
        raise InvalidSchedule(interval[:40], f"it is longer than {_LONGEST_PLAN} characters")
    interval = ALIASES.get(interval, interval)
    if _looks_like_cron(interval):
        interval, cron = CRON, interval
    if interval == CRON:
        return Timing(CRON, cron=check_cron(cron))
    if interval == ONE_TIME:
        return Timing(ONE_TIME, at=_read_time(at))
    if interval != MANUAL and not INTERVALS.get(interval) and not parse_duration(interval):
        keys = ", ".join(sorted((*INTERVALS, *ALIASES, *SPECIAL)))
        reason = f"available: {keys}, a number with s, m, h, d or w, or a cron expression"
        raise InvalidSchedule(interval, reason)
    return Timing(interval)


def check_cron(expression: str) -> str:
    """Return a cron expression of five or six fields, or raise `InvalidSchedule`."""
    if not expression:
        raise InvalidSchedule(CRON, "cron needs an expression such as '30 3 * * *'")
    if len(expression) > _LONGEST_PLAN:
        raise InvalidSchedule(expression[:40], f"it is longer than {_LONGEST_PLAN} characters")
    if expression.startswith("@") and expression not in _CRON_WORDS:
        words = ", ".join(sorted(_CRON_WORDS))
        raise InvalidSchedule(expression, f"the words are {words}")
    fields = _CRON_WORDS.get(expression, expression).replace("?", "*")
    try:
        next(CronSim(fields, convert_to_zone(0.0)))
    except CronSimError as error:
        reason = f"{str(error).lower()}: five fields of cron, or six with seconds first"
        raise InvalidSchedule(expression, reason) from None
    except StopIteration:
        raise InvalidSchedule(expression, "it names no day that there is") from None
    return " ".join(fields.split())


def _looks_like_cron(text: str) -> bool:
    return text.startswith("@") or len(text.split()) in {5, 6}


def _read_time(at: float | str) -> float:
    if not at:
        raise InvalidSchedule(ONE_TIME, "one_time needs a time such as 2026-04-17T09:30Z")
    if isinstance(at, str):
        try:
            return parse_time(at)
        except ValueError:
            raise InvalidSchedule(
                ONE_TIME, f"{at!r} is no time such as 2026-04-17T09:30Z"
            ) from None
    return float(at)


def compute_stagger(seed: int, interval: int) -> int:
    """Return the delay that spreads the first runs of many schedules, or 0 for seed 0."""
    span = min(interval, _WIDEST_STAGGER)
    return crc32(f"datamachine_stagger_{seed}".encode()) % span if seed and span > 0 else 0


def find_first_time(
    timing: Timing, now: float, *, zone: str = "UTC", seed: int = 0
) -> float | None:
    """Return the first time of a new plan, or None if nothing runs by itself."""
    if timing.seconds:
        return float(int(now)) + compute_stagger(seed, timing.seconds)
    if timing.interval == ONE_TIME:
        return timing.at
    return next(_iterate_cron_times(timing, now, zone), None)


def find_next_time(timing: Timing, due: float, now: float, *, zone: str = "UTC") -> float | None:
    """Return the next time after one that was due, later than now; missed times are skipped."""
    if timing.seconds:
        missed_count = max(0, int((now - due) // timing.seconds))
        return due + (missed_count + 1) * timing.seconds
    if timing.interval == ONE_TIME:
        return None
    return next(_iterate_cron_times(timing, max(due, now), zone), None)


def list_times(timing: Timing, start: float, count: int, *, zone: str = "UTC") -> tuple[float, ...]:
    """Return the next times of a plan, beginning with a known one."""
    times = [start]
    while len(times) < count:
        later = find_next_time(timing, times[-1], times[-1], zone=zone)
        if later is None:
            break
        times.append(later)
    return tuple(times)


def _iterate_cron_times(timing: Timing, after: float, zone: str) -> Iterator[float]:
    if timing.interval == CRON:
        for moment in CronSim(timing.cron, convert_to_zone(after, zone)):
            yield moment.timestamp()
