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
from benchmarks.table import Row, amount, drawn, plain

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
    """Run what was asked for; fail only where an answer is wrong, never for being slow."""
    asked = _parser().parse_args(arguments)
    where = asked.folder or _same_disk()
    with tempfile.TemporaryDirectory(prefix=".looseleaf-benchmarks-", dir=where) as folder:
        bench = Bench(Path(folder).resolve(), asked.seed, quick=asked.quick)
        rows = [row for name in asked.only for row in _measured(bench, name)]
    facts = machine()
    print("; ".join(f"{name} {told}" for name, told in facts.items()) + "\n")
    print(drawn(rows))
    if asked.json:
        told = {"machine": facts, "seed": asked.seed, "rows": [plain(row) for row in rows]}
        asked.json.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    wrong = [f"{row.group}: {row.what}: {row.wrong}" for row in rows if row.wrong]
    over = [f"{row.group}: {row.what} ({row.ratio:.2f})" for row in rows if row.over]
    print("\n" + "\n".join([*(f"Wrong: {text}." for text in wrong), _summary(rows, over)]))
    return 1 if wrong else 0


def _summary(rows: list[Row], over: list[str]) -> str:
    targets = sum(row.target is not None for row in rows)
    if over:
        return f"Over target, {len(over)} of {targets}: {'; '.join(over)}."
    return f"All {targets} targets are met."


def _measured(bench: Bench, name: str) -> list[Row]:
    bench.say(name)
    rows = []
    for row in MEASUREMENTS[name](bench):
        times = f", {row.ratio:.2f} × {row.against}" if row.ratio is not None else ""
        bench.say(f"  {row.what}: {amount(row.ours.p50, row.unit)}{times} {row.verdict}")
        rows.append(row)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument(
        "--only", type=_names, default=list(MEASUREMENTS), help=f"some of {','.join(MEASUREMENTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller crowds")
    parser.add_argument("--seed", type=int, default=workload.SEED, help="of the data")
    parser.add_argument("--folder", type=Path, help="where to work; what is made there is removed")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    if not set(names) <= set(MEASUREMENTS):
        raise argparse.ArgumentTypeError(f"choose from {', '.join(MEASUREMENTS)}")
    return names


def _same_disk() -> Path:
    """Choose a folder for what is made: a temporary one lies often on no disk at all."""
    temporary = Path(tempfile.gettempdir())
    same = temporary.stat().st_dev == REPOSITORY.stat().st_dev
    return temporary if same else REPOSITORY


def machine() -> dict[str, str]:
    """Say on what it was measured, and how busy that was."""
    load = os.getloadavg()
    return {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "load": f"{load[0]:.1f}",
    }


if __name__ == "__main__":
    sys.exit(main())
