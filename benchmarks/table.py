"""The rows that are measured, and how people and programs read them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from benchmarks.timing import Laps, Spread, compute_ratio, summarize_laps

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
        """Return whether the target is missed."""
        return self.ratio is not None and self.target is not None and self.ratio > self.target

    @property
    def verdict(self) -> str:
        """The result in one word."""
        if self.wrong:
            return "WRONG"
        if self.target is None:
            return ""
        return "over" if self.over else "ok"


def build_row(
    group: str,
    title: str,
    laps: Laps,
    against: str,
    limit: Laps,
    *,
    target: float | None = None,
    wrong: str = "",
) -> Row:
    """Return the row of a race."""
    middle = compute_ratio(laps, limit)
    return Row(
        group,
        title,
        summarize_laps(laps),
        against,
        summarize_laps(limit),
        middle,
        target=target,
        wrong=wrong,
    )


def build_figure_row(
    group: str, title: str, amount: float, *, unit: Literal["seconds", "bytes"]
) -> Row:
    """Return the row of a figure that has no limit to be compared with."""
    return Row(group, title, Spread(amount, amount), unit=unit)


def format_table(rows: list[Row]) -> str:
    """Render the rows as a Markdown table that is also legible as it is."""
    cells = [HEADS, *map(_format_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    left_mark, right_mark = "-" * 2, "-" * 1 + ":"
    marks = [left_mark if column in (0, 3, 8) else right_mark for column in range(len(HEADS))]
    rule = "|" + "|".join(
        mark[0] * (width + 1) + mark[1] for mark, width in zip(marks, widths, strict=True)
    )
    return "\n".join([lines[0], rule + "|", *lines[1:]])


def _format_cells(row: Row) -> tuple[str, ...]:
    single = row.limit is None and row.ours.p50 == row.ours.p95
    return (
        f"{row.group}: {row.what}",
        format_amount(row.ours.p50, row.unit),
        "" if single else format_amount(row.ours.p95, row.unit),
        row.against,
        format_amount(row.limit.p50, row.unit) if row.limit else "",
        format_amount(row.limit.p95, row.unit) if row.limit else "",
        f"{row.ratio:.2f}" if row.ratio is not None else "",
        f"≤ {row.target:g}" if row.target is not None else "",
        row.verdict,
    )


def format_amount(number: float, unit: str) -> str:
    """Write seconds or bytes so that people can read them."""
    steps = (
        ((1e6, "MB"), (1e3, "kB"), (1.0, "B"))
        if unit == "bytes"
        else ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
    )
    size, name = next((step for step in steps if number >= step[0]), steps[-1])
    quantity = number / size
    return f"{quantity:.{0 if quantity >= 100 else 1 if quantity >= 10 else 2}f} {name}"


def encode_row(row: Row) -> dict[str, object]:
    """Return a row as JSON holds it."""
    return {**asdict(row), "verdict": row.verdict}
