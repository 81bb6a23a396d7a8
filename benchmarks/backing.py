"""Backing up: a workspace of a thousand agents with thirty days each, beside tar of its folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, write_pages
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Runner, build_process_call, race
from looseleaf import Change, Workspace
from looseleaf.features.backup.archive import open_archive
from looseleaf.features.backup.operations import write_backup

GROUP = "back up"
DAYS = 30
# At least 30 % of the speed of tar.
TARGET = 3.33
TAR = "tar of the same folder, and sync"
_PEAK = """\
import re, sys
from looseleaf.features.backup.operations import write_backup
from looseleaf.settings import load
write_backup(load(sys.argv[1]), sys.argv[2], 1.0)
with open("/proc/self/status") as status:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1])
"""


def measure(bench: Bench) -> Iterator[Row]:
    """Back up and tar by turns, both to the same disk, both synced."""
    count = bench.amount(workload.AGENTS, 40)
    root, target = bench.folder / "backing", bench.folder / "backing-archives"
    workspace = build_workspace(root, count, bench.seed)
    files = sum(1 for path in root.rglob("*") if path.is_file())
    bench.say(f"  {count} agents of {DAYS} days, {files} files")
    settings = workspace.settings
    target.mkdir(exist_ok=True)
    script = 'tar cf "$1" -C "$2" . && sync "$1"'
    tar = build_process_call(("/bin/sh", "-c", script, "sh", str(target / "other.tar"), str(root)))
    laps, tar_laps = race(
        Runner(lambda: write_backup(settings, str(target), 1.0), before=lambda: _clear(target)),
        Runner(tar, before=lambda: _clear(target)),
        rounds=bench.amount(3, 2),
        batch=1,
    )
    archive = Path(write_backup(settings, str(target), 1.0).path)
    wrong = _find_fault(archive, count)
    title = f"{count:,} agents with {DAYS} days"
    yield build_row(GROUP, title, laps, TAR, tar_laps, target=TARGET, wrong=wrong)
    yield build_figure_row(GROUP, "size of the archive", archive.stat().st_size, unit="bytes")
    yield from _measure_memory(bench, root, count)


def build_workspace(root: Path, count: int, seed: int) -> Workspace:
    """Create a workspace whose agents have core pages, days, and a history of each page."""
    workspace = Workspace.create(root, agent="agent-0001")
    record = workspace.agents.resolve("agent-0001")
    for name, text in workload.generate_journal(seed, days=DAYS):
        workspace.pages.write(record.shelf.page(name), text, change=Change("write"))
    first, history = root / "agents/agent-0001", root / ".looseleaf/history"
    fields = json.loads((first / "agent.json").read_text())
    for number in range(2, count + 1):
        folder = root / f"agents/agent-{number:04}"
        shutil.copytree(first, folder)
        shutil.copytree(history / "agent-1", history / f"agent-{number}")
        write_pages(folder, [("agent.json", json.dumps({**fields, "id": number}))])
    return Workspace.open(root)


def _clear(target: Path) -> None:
    for path in target.iterdir():
        path.unlink()


def _find_fault(archive: Path, count: int) -> str:
    with open_archive(str(archive)) as reader:
        content = reader.read_all(lambda _header, _chunks: None)
    return "" if content.files > count * DAYS * 2 else "files are missing"


def _measure_memory(bench: Bench, root: Path, count: int) -> Iterator[Row]:
    """Measure the most memory of a process that backs up a tenth of the agents, and all."""
    small_count = max(2, count // 10)
    small = bench.folder / "backing-small"
    build_workspace(small, small_count, bench.seed)
    for folder, agents in ((small, small_count), (root, count)):
        target = bench.folder / f"backing-{agents}"
        command = [sys.executable, "-c", _PEAK, str(folder), str(target)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        peak = int(output) * 1024
        yield build_figure_row(GROUP, f"peak memory with {agents:,} agents", peak, unit="bytes")
