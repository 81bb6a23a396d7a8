"""Searching ten years of a journal for a text, beside ripgrep over the same folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import process_time

from benchmarks import workload
from benchmarks.bench import Bench, settle, write_pages
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Laps, Runner, compute_median, race, run_command
from benchmarks.workload import QUERIES, Query
from benchmarks.writing import format_line
from looseleaf import Change, DailyMemory, Workspace
from looseleaf.memory.history import PastPages
from looseleaf.memory.scope import Where
from looseleaf.memory.search.ranking import rank_pages
from looseleaf.memory.search.results import Bounds
from looseleaf.operations.search import find
from looseleaf.stores.index.search_index import SearchIndex
from looseleaf.times import DAY_SECONDS, format_time

GROUP = "search"
_PHRASE_PAGES = tuple(
    f"daily/{workload.FIRST_DAY + timedelta(days=day):%Y/%m/%d}.md" for day in workload.PHRASE_DAYS
)
TARGET = 0.5
_ALL = 1_000_000
_UNBOUNDED = Bounds(matches=_ALL, context=_ALL, bytes=1 << 40)
# What is asked in plain words, and how the names of the days begin that are the right answer. The
# words of the second are on about half of all days: the most work there is.
_QUESTIONS = (
    ("rare words", "When did we finish the rollback of the payment gateway?", _PHRASE_PAGES),
    ("common words", "Which customer ticket was blocked by the invoice budget?", ("daily/",)),
    ("a month", "What did we deploy in March 2019?", ("daily/2019/03/",)),
)
_AMENDED_DAYS = 200
RANKED_TARGET = 0.07  # of one run of ripgrep: about 2 ms
# What might make it read less or more than we do, or colour what it prints, is off.
_RIPGREP = ("rg", "--no-config", "--no-ignore", "--color=never", "-i", "-F")


def measure(bench: Bench) -> Iterator[Row]:
    """Build the index, ask it for the first time, then every query with and without watching."""
    root = bench.folder / "searching"
    workspace = Workspace.create(root, agent="alpha")
    folder = root / "agents" / "alpha"
    size = write_pages(folder, workload.generate_journal(bench.seed))
    settle()
    bench.say(f"  {workload.DAYS} days, {size / 1e6:.1f} MB")
    if not shutil.which("rg"):
        bench.say("  ripgrep is not installed; install it to see what the search is compared with")
        return
    yield from _measure_new_processes(bench, root, folder / "daily")
    yield from _measure_warm(bench, workspace, folder / "daily")
    yield from _measure_ranked(bench, workspace, folder / "daily")
    yield from _measure_unwatched(bench, workspace, folder / "daily")
    yield from _measure_after_append(bench, workspace, folder / "daily")
    yield from _measure_past(bench, folder / "daily")


def _measure_new_processes(bench: Bench, root: Path, folder: Path) -> Iterator[Row]:
    """Measure a process that finds no index, and processes that find one."""
    figures = _run_newcomer(root)
    yield build_figure_row(
        GROUP, "first query of all (builds the index)", figures["first"], unit="seconds"
    )
    yield build_figure_row(
        GROUP, "memory of that process at its peak", figures["peak"], unit="bytes"
    )
    yield build_figure_row(
        GROUP, "size of the index", float(_count_index_bytes(root)), unit="bytes"
    )
    query = QUERIES[1].text
    runs: list[dict[str, float]] = []
    laps: Laps = []
    for _ in range(bench.amount(10, 3)):
        runs.append(_run_newcomer(root))
        [limit] = race(Runner(lambda: _count_by_ripgrep(folder, query)), rounds=1, batch=5)
        laps += limit
    for ordinal, target in (("first", None), ("second", None), ("third", TARGET)):
        our_laps = [[run[ordinal]] for run in runs]
        title = f"{ordinal} query of a new process"
        yield build_row(GROUP, title, our_laps, "rg", laps, target=target)


def _run_newcomer(root: Path) -> dict[str, float]:
    command = (sys.executable, "-m", "benchmarks.newcomer", str(root), QUERIES[1].text)
    repository = Path(__file__).parent.parent
    figures: dict[str, float] = json.loads(run_command(command, folder=repository))
    return figures


def _count_index_bytes(root: Path) -> int:
    files = (root / ".looseleaf" / "index").rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file())


def _measure_warm(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    daily = workspace.daily("alpha")
    for query in QUERIES:
        wrong = _find_difference(bench, daily, folder, query)
        yield _race_query(bench, daily, folder, query, wrong=wrong)
    # Every match with the lines around it, where the others stop at fifty and count on.
    common = QUERIES[-1].text
    laps, limit = race(
        Runner(lambda: daily.search(common, limit=_ALL, bounds=_UNBOUNDED)),
        Runner(lambda: _run_ripgrep(folder, common, "-n", "-C2")),
        rounds=bench.amount(10, 3),
        batch=2,
    )
    yield build_row(GROUP, "every match of common, in context", laps, "rg -n -C2", limit)


def _measure_ranked(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    """Ask questions in plain words, beside ripgrep looking for a single word."""
    shelf = workspace.agents.resolve("alpha").shelf
    for name, question, right in _QUESTIONS:
        hits = rank_pages(workspace.store, shelf, question, index=workspace.index())
        first = [hit.filename for hit in hits[:5]]
        wrong = "" if all(filename.startswith(right) for filename in first) else f"{name}: {first}"
        laps, limit = race(
            Runner(lambda: rank_pages(workspace.store, shelf, question, index=workspace.index())),  # noqa: B023 - raced at once
            Runner(lambda: _count_by_ripgrep(folder, QUERIES[1].text)),
            rounds=bench.amount(20, 5),
            batch=3,
        )
        title = f"question, {name}"
        yield build_row(GROUP, title, laps, "rg -c", limit, target=RANKED_TARGET, wrong=wrong)


def _measure_unwatched(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    """Search without watching: every file is looked at each time, as where nothing is watched.

    Python takes a third to a half of ripgrep's time for that alone, so there is no target.
    """
    index = SearchIndex(workspace.store, f"{workspace.root}/.looseleaf/index", may_watch=False)
    shelf = workspace.agents.resolve("alpha").shelf
    daily = DailyMemory(workspace.pages, shelf, clock=workspace.clock, index=index)
    try:
        for query in (QUERIES[0], QUERIES[1], QUERIES[-1]):
            wrong = _find_difference(bench, daily, folder, query)
            row = _race_query(bench, daily, folder, query, wrong=wrong)
            yield replace(row, what=f"{row.what}, files checked", target=None)
        paths = [str(path) for path in folder.rglob("*.md")]
        laps, limit = race(
            Runner(lambda: daily.search(QUERIES[0].text)),
            Runner(lambda: [os.lstat(path) for path in paths]),
            rounds=bench.amount(20, 5),
            batch=3,
        )
        yield build_row(GROUP, "absent, files checked", laps, "os.lstat of each", limit)
    finally:
        index.close()


def _measure_after_append(bench: Bench, workspace: Workspace, folder: Path) -> Iterator[Row]:
    daily, query, turn = workspace.daily("alpha"), QUERIES[1], 0

    def prepare() -> None:
        nonlocal turn
        turn += 1
        daily.append("2020-02-02", f"{format_line(turn)} turn-{turn}-ends", change=Change())

    prepare()
    total = daily.search(f"turn-{turn}-ends").total
    wrong = "" if total == 1 else f"what was just written is found {total} times"
    laps, limit = race(
        Runner(lambda: daily.search(query.text), prepare),
        Runner(lambda: _count_by_ripgrep(folder, query.text)),
        rounds=bench.amount(20, 5),
        batch=3,
    )
    title = f"{query.name}, right after a write"
    yield build_row(GROUP, title, laps, "rg", limit, target=TARGET, wrong=wrong)


def _measure_past(bench: Bench, folder: Path) -> Iterator[Row]:
    """Ask the same questions as of a moment in the middle of ten years that a history knows."""
    first_noon = datetime.combine(workload.FIRST_DAY, time(12), UTC).timestamp()
    now = first_noon
    workspace = Workspace.create(bench.folder / "past", agent="alpha", clock=lambda: now)
    shelf = workspace.agents.resolve("alpha").shelf
    for count, (name, text) in enumerate(workload.generate_journal(bench.seed)):
        now = first_noon + count * DAY_SECONDS
        workspace.store.write(shelf.page(name), text.encode(), change=Change())
    names = [name for name, _ in workload.generate_journal(bench.seed)]
    for name in names[:: len(names) // _AMENDED_DAYS]:
        now += 60
        workspace.store.edit(
            shelf.page(name), lambda content: (content or b"") + b"- amended\n", change=Change()
        )
    settle()
    moment = first_noon + len(names) // 2 * DAY_SECONDS
    where, as_of = Where(agent="alpha"), format_time(moment)
    find(workspace.context, _QUESTIONS[0][1], where=where, as_of=as_of)
    workspace.close()
    for ordinal in ("first", "second"):
        start = process_time()
        find(workspace.context, _QUESTIONS[0][1], where=where, as_of=as_of)
        title = f"{ordinal} question as of the past, processor time"
        yield build_figure_row(GROUP, title, process_time() - start, unit="seconds")
    scan = PastPages(workspace.store, workspace.history, moment)
    for name, question, _ in _QUESTIONS:
        hits = find(workspace.context, question, where=where, as_of=as_of).pages
        wrong = "" if list(hits) == rank_pages(scan, shelf, question) else f"{name}: not as scanned"
        laps, limit = race(
            Runner(lambda: find(workspace.context, question, where=where, as_of=as_of)),  # noqa: B023 - raced at once
            Runner(lambda: _count_by_ripgrep(folder, QUERIES[1].text)),
            rounds=bench.amount(20, 5),
            batch=3,
        )
        title = f"question, {name}, as of the past"
        yield build_row(GROUP, title, laps, "rg -c", limit, target=RANKED_TARGET, wrong=wrong)
    workspace.close()


def _race_query(bench: Bench, daily: DailyMemory, folder: Path, query: Query, *, wrong: str) -> Row:
    """Race a query against whichever kind of ripgrep's answer is faster, counts or names."""
    laps, counts, names = race(
        Runner(lambda: daily.search(query.text)),
        Runner(lambda: _count_by_ripgrep(folder, query.text)),
        Runner(lambda: _run_ripgrep(folder, query.text, "-l")),
        rounds=bench.amount(20, 5),
        batch=3,
    )
    faster = min(
        (counts, "rg -c"), (names, "rg -l"), key=lambda candidate: compute_median(candidate[0])
    )
    title = f"{query.name} ({query.files} pages)"
    return build_row(GROUP, title, laps, faster[1], faster[0], target=TARGET, wrong=wrong)


def _count_by_ripgrep(folder: Path, text: str) -> bytes:
    return _run_ripgrep(folder, text, "-c")


def _run_ripgrep(folder: Path, text: str, *flags: str) -> bytes:
    return run_command((*_RIPGREP, *flags, "--", text, "."), folder=folder)


def _find_difference(bench: Bench, daily: DailyMemory, folder: Path, query: Query) -> str:
    """Return how our matches differ from ripgrep's, by page and line; nothing if they do not."""
    results = daily.search(query.text, limit=_ALL, context=0, bounds=_UNBOUNDED)
    our_lines = {(match.filename, match.line) for match in results.matches}
    rg_lines = set()
    for entry in _run_ripgrep(folder, query.text, "-n", "--null").splitlines():
        name, _, rest = entry.partition(b"\0")
        place = os.path.normpath(f"daily/{name.decode()}")
        rg_lines.add((place, int(rest.partition(b":")[0])))
    counts = (results.total, results.files)
    files = len({name for name, _ in rg_lines})
    if our_lines != rg_lines or counts != (len(rg_lines), files):
        difference = f"{len(our_lines ^ rg_lines)} lines differ"
        return f"{query.name}: {difference}; {counts}, rg {len(rg_lines), files}"
    if bench.seed == workload.SEED and files != query.files:
        return f"{query.name}: {files} pages, but {query.files} were planted"
    return ""
