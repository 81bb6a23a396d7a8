"""Measure and print the table: `python -m benchmarks`, or `python3 dev.py bench`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks import (
    backing,
    chatting,
    composing,
    connecting,
    crowding,
    growing,
    keeping,
    packing,
    reading,
    searching,
    serving,
    starting,
    working,
    workload,
    writing,
)
from benchmarks.bench import Bench
from benchmarks.table import Row, encode_row, format_amount, format_table

MEASUREMENTS = {
    "reading": reading.measure,
    "writing": writing.measure,
    "composing": composing.measure,
    "searching": searching.measure,
    "starting": starting.measure,
    "connecting": connecting.measure,
    "serving": serving.measure,
    "chatting": chatting.measure,
    "growing": growing.measure,
    "crowding": crowding.measure,
    "keeping": keeping.measure,
    "backing": backing.measure,
    "working": working.measure,
    "packing": packing.measure,
}
REPOSITORY = Path(__file__).parent.parent


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen measurements; fail only if an answer is wrong, never if it is slow."""
    options = _build_parser().parse_args(arguments)
    parent = options.folder or _choose_folder()
    with tempfile.TemporaryDirectory(prefix=".looseleaf-benchmarks-", dir=parent) as folder:
        bench = Bench(Path(folder).resolve(), options.seed, quick=options.quick)
        rows = [row for name in options.only for row in _measure_group(bench, name)]
    facts = describe_machine()
    print("; ".join(f"{name} {text}" for name, text in facts.items()) + "\n")
    print(format_table(rows))
    if options.json:
        report = {"machine": facts, "seed": options.seed, "rows": [encode_row(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    faults = [f"{row.group}: {row.what}: {row.wrong}" for row in rows if row.wrong]
    misses = [f"{row.group}: {row.what} ({row.ratio:.2f})" for row in rows if row.over]
    print(
        "\n" + "\n".join([*(f"Wrong: {text}." for text in faults), _format_summary(rows, misses)])
    )
    return 1 if faults else 0


def _format_summary(rows: list[Row], misses: list[str]) -> str:
    targets = sum(row.target is not None for row in rows)
    if misses:
        return f"Over target, {len(misses)} of {targets}: {'; '.join(misses)}."
    return f"All {targets} targets are met."


def _measure_group(bench: Bench, name: str) -> list[Row]:
    bench.say(name)
    rows = []
    for row in MEASUREMENTS[name](bench):
        comparison = f", {row.ratio:.2f} × {row.against}" if row.ratio is not None else ""
        bench.say(
            f"  {row.what}: {format_amount(row.ours.p50, row.unit)}{comparison} {row.verdict}"
        )
        rows.append(row)
    return rows


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        type=_parse_names,
        default=list(MEASUREMENTS),
        help=f"some of {','.join(MEASUREMENTS)}",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller crowds")
    parser.add_argument("--seed", type=int, default=workload.SEED, help="of the data")
    parser.add_argument("--folder", type=Path, help="where to work; what is made there is removed")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    return parser


def _parse_names(text: str) -> list[str]:
    names = text.split(",")
    if not set(names) <= set(MEASUREMENTS):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(MEASUREMENTS)}")
    return names


def _choose_folder() -> Path:
    """Choose the folder to work in: the usual temporary folder is often in memory, on no disk."""
    temporary = Path(tempfile.gettempdir())
    is_same_disk = temporary.stat().st_dev == REPOSITORY.stat().st_dev
    return temporary if is_same_disk else REPOSITORY


def describe_machine() -> dict[str, str]:
    """Describe the machine that measures, and its load."""
    load = os.getloadavg()
    return {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "load": f"{load[0]:.1f}",
    }


if __name__ == "__main__":
    sys.exit(main())
