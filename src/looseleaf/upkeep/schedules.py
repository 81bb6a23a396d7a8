"""Schedules: which operations are to be run when; what runs them comes later."""

from __future__ import annotations

from looseleaf.errors import InvalidSchedule
from looseleaf.memory.named import Named
from looseleaf.memory.registry import check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from typing import Any

SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CRON = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)


@value
class Schedule:
    """An operation, its arguments and when it runs: `15m`, `6h`, or five fields of cron in UTC."""

    name: str
    operation: str
    when: str
    arguments: Mapping[str, Any] = {}
    enabled: bool = True
    owner: str = ""

    @property
    def interval(self) -> int:
        """Seconds between two runs; 0 where the clock decides."""
        return seconds(self.when)


class Schedules(Named):
    """The schedules of one workspace."""

    what, hook = "schedule", "register_schedules"

    def __init__(self, operations: Container[str]) -> None:
        super().__init__()
        self.operations = operations

    def register(
        self,
        name: str,
        operation: str,
        when: str,
        *,
        arguments: Mapping[str, Any] | None = None,
        enabled: bool = True,
        owner: str = "",
    ) -> Schedule:
        """Add a schedule, or refuse one that could not be kept."""
        self._refuse_if_frozen(name)
        check_word(name, "schedule's name")
        if name in self._known:
            raise InvalidSchedule(name, "there is one of that name; deregister it first")
        if operation not in self.operations:
            raise InvalidSchedule(name, f"there is no operation {operation!r}")
        if not isinstance(arguments or {}, dict) or type(enabled) is not bool:
            raise InvalidSchedule(name, "its arguments are a dict, and enabled is True or False")
        why = why_not(when)
        if why is not None:
            raise InvalidSchedule(name, why)
        schedule = Schedule(name, operation, when, dict(arguments or {}), enabled, owner)
        self._known[name] = schedule
        return schedule

    def all(self) -> tuple[Schedule, ...]:
        """Give every schedule, by name."""
        return tuple(self._known[name] for name in sorted(self._known))


def seconds(when: str) -> int:
    """Give the length of an interval such as `15m`; 0 for what is none."""
    number, unit = when[:-1], when[-1:]
    plain = number.isascii() and number.isdigit() and unit in SECONDS
    return int(number) * SECONDS[unit] if plain else 0


def why_not(when: object) -> str | None:
    """Say why nothing can run then; None where it can."""
    if not isinstance(when, str):
        return f"{when!r} is not text"
    fields = when.split()
    if len(fields) != len(_CRON):
        known = "a number with s, m, h or d, or five fields of cron"
        return None if seconds(when) else f"{when!r} is neither {known}"
    for text, (name, low, high) in zip(fields, _CRON, strict=True):
        if not all(_is_cron(part, low, high) for part in text.split(",")):
            return f"{text!r} is no {name}: numbers {low} to {high}, *, ranges, steps and lists"
    return None


def _is_cron(part: str, low: int, high: int) -> bool:
    """Check one item of a list: `*`, `5`, `1-5`, each also with a step, `*/15`."""
    span, slash, step = part.partition("/")
    if slash and not (_number(step) and int(step) > 0):
        return False
    first, dash, last = span.partition("-")
    if span == "*":
        return True
    if not _number(first) or (dash and not _number(last)):
        return False
    return low <= int(first) <= int(last or first) <= high and (bool(dash) or not slash)


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit()
