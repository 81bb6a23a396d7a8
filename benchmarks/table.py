"""The rows that are measured, and how people and programs read them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from benchmarks.timing import Laps, Spread, ratio, spread

HEADS = ("", "ours p50", "p95", "limit", "p50", "p95", "ratio", "target", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its limit; `target` is the most that the ratio may be."""

    group: str
    what: str
    ours: Spread
    against: str = ""
    limit: Spread | None = None
    ratio: float | None = None
    target: float | None = None
    unit: Literal["seconds", "bytes"] = "seconds"
    wrong: str = ""

    @property
    def over(self) -> bool:
        """Say whether the target is missed."""
        return self.ratio is not None and self.target is not None and self.ratio > self.target

    @property
    def verdict(self) -> str:
        """What there is to say in a word."""
        if self.wrong:
            return "WRONG"
        if self.target is None:
            return ""
        return "over" if self.over else "ok"


def compared(
    group: str,
    what: str,
    ours: Laps,
    against: str,
    limit: Laps,
    *,
    target: float | None = None,
    wrong: str = "",
) -> Row:
    """Make the row of a race."""
    middle = ratio(ours, limit)
    return Row(
        group, what, spread(ours), against, spread(limit), middle, target=target, wrong=wrong
    )


def fact(group: str, what: str, amount: float, *, unit: Literal["seconds", "bytes"]) -> Row:
    """Make the row of a figure that has no limit to be compared with."""
    return Row(group, what, Spread(amount, amount), unit=unit)


def drawn(rows: list[Row]) -> str:
    """Draw the rows as a Markdown table that is also legible as it is."""
    cells = [HEADS, *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    left, right = "-" * 2, "-" * 1 + ":"
    marks = [left if column in (0, 3, 8) else right for column in range(len(HEADS))]
    rule = "|" + "|".join(
        mark[0] * (width + 1) + mark[1] for mark, width in zip(marks, widths, strict=True)
    )
    return "\n".join([lines[0], rule + "|", *lines[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    single = row.limit is None and row.ours.p50 == row.ours.p95
    return (
        f"{row.group}: {row.what}",
        amount(row.ours.p50, row.unit),
        "" if single else amount(row.ours.p95, row.unit),
        row.against,
        amount(row.limit.p50, row.unit) if row.limit else "",
        amount(row.limit.p95, row.unit) if row.limit else "",
        f"{row.ratio:.2f}" if row.ratio is not None else "",
        f"≤ {row.target:g}" if row.target is not None else "",
        row.verdict,
    )


def amount(number: float, unit: str) -> str:
    """Write seconds or bytes so that people can read them."""
    steps = (
        ((1e6, "MB"), (1e3, "kB"), (1.0, "B"))
        if unit == "bytes"
        else ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    )
    size, name = next((step for step in steps if number >= step[0]), steps[-1])
    scaled = number / size
    return f"{scaled:.{0 if scaled >= 100 else 1 if scaled >= 10 else 2}f} {name}"


def plain(row: Row) -> dict[str, object]:
    """Give a row as JSON holds it."""
    return {**asdict(row), "verdict": row.verdict}
