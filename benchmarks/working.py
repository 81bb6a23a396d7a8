"""Working: jobs without a model, beside the durable commits that a job cannot do without."""

from __future__ import annotations

import compileall
import os
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import looseleaf
from benchmarks.bench import Bench
from benchmarks.starting import find_command
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Laps, Runner, Spread, build_process_call, race, summarize_laps
from looseleaf import Workspace
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.jobs.queue import JobFilter
from looseleaf.features.workflows.jobs.run import plan_direct_job
from looseleaf.features.workflows.jobs.worker import JobEvent
from looseleaf.features.workflows.parts import jobs_of

GROUP = "jobs"
COMMITS = "five durable commits of SQLite"
SETTINGS = "daily_memory_enabled = true\njobs_at_once = 1\n"
ADDED_SECONDS, GROWTH, IDLE_SHARE, WORKER_BYTES, STARTS = 0.06, 1.2, 0.02, 40_000_000, 80.0
_READY_SECONDS = 120.0
STEPS = (
    Step("source", "input", "", {"source": "text", "text": "A new album by Ada."}),
    Step("learn", "memory_update", "", {"target": "section", "section": "News", "mode": "set"}),
    Step("pass", "input", "", {"source": "packet"}),
)


def measure(bench: Bench) -> Iterator[Row]:
    """Measure one job, a long queue, an idle server and the first answer of a server."""
    root = bench.folder / "working"
    Workspace.create(root, agent="alpha").close()
    (root / "looseleaf.toml").write_text(SETTINGS)
    workspace = Workspace.open(root)
    runner = JobRunner(workspace)
    yield from _measure_queue(bench, workspace, runner)
    yield from _measure_job(bench, runner)
    runner.close()
    workspace.close()
    yield from _measure_idle(bench)
    yield from _measure_first_answer(bench)


class JobRunner:
    """Starts jobs and waits for their end; commits as often to a database of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self.runtime = jobs_of(workspace)
        self.agent = workspace.agents.resolve("alpha").id
        self._end_event = threading.Event()
        self._bare = sqlite3.connect(Path(workspace.root).parent / "bare.db", isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            self._bare.execute(f"PRAGMA {pragma}")
        self._bare.execute("CREATE TABLE outcomes (text TEXT)")

    def start_worker(self) -> None:
        """Start the worker that runs the jobs."""
        self.runtime.start_worker(self._note_event)

    def _note_event(self, event: JobEvent) -> None:
        if event.name in {"ended", "failed"}:
            self._end_event.set()

    def add_job(self) -> None:
        """Queue a job."""
        self.runtime.jobs.add(plan_direct_job("Benchmark", STEPS, agent_id=self.agent))

    def run_job(self) -> None:
        """Start a job and wait until it has ended."""
        self._end_event.clear()
        self.add_job()
        assert self._end_event.wait(60)

    def run_bare(self) -> None:
        """Commit what a job must: itself, the outcome of each step, and its end."""
        for _ in range(len(STEPS) + 2):
            self._bare.execute("INSERT INTO outcomes VALUES ('x')")

    def close(self) -> None:
        """Close the database of its own."""
        self._bare.close()


def _measure_job(bench: Bench, runner: JobRunner) -> Iterator[Row]:
    """Compare a job with its durable commits, by the clock and by the work of this process."""
    rounds, batch = bench.amount(10, 4), 10
    laps, bare_laps = race(
        Runner(runner.run_job), Runner(runner.run_bare), rounds=rounds, batch=batch
    )
    title = "three steps without a model"
    failure_count = runner.runtime.jobs.list(JobFilter(statuses=("failed",)))[1]
    wrong = f"{failure_count} jobs failed" if failure_count else ""
    yield build_row(GROUP, title, laps, COMMITS, bare_laps, wrong=wrong)
    yield _build_limit_row(
        f"{title}: added", _compute_differences(laps, bare_laps), "60 ms", ADDED_SECONDS
    )
    works: tuple[Laps, Laps] = ([], [])
    for _ in range(rounds):
        for work, run in zip(works, (runner.run_job, runner.run_bare), strict=True):
            work.append([_measure_work(run, batch)])
    yield build_row(GROUP, f"{title}, work", works[0], COMMITS, works[1])
    yield _build_limit_row(
        f"{title}, work: added", _compute_differences(*works), "60 ms", ADDED_SECONDS
    )


def _measure_work(run: Callable[[], None], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


def _compute_differences(laps: Laps, bare_laps: Laps) -> Spread:
    medians = zip(map(median, laps), map(median, bare_laps), strict=True)
    return summarize_laps(
        [[max(lap_seconds - bare_seconds, 0.0) for lap_seconds, bare_seconds in medians]]
    )


def _build_limit_row(title: str, seconds: Spread, limit: str, maximum: float) -> Row:
    """Return the row of a figure that has an upper bound of its own."""
    ratio = seconds.p50 / maximum
    return Row(GROUP, title, seconds, limit, Spread(maximum, maximum), ratio, target=1.0)


def _measure_queue(bench: Bench, workspace: Workspace, runner: JobRunner) -> Iterator[Row]:
    """Queue many jobs, and compare the work for each of the last fifth with the first fifth."""
    count = bench.amount(1_000, 200)
    for _ in range(count):
        runner.add_job()
    runner.start_worker()
    marks, fifth = [], count // 5
    for part in range(1, 6):
        _wait(partial(_has_ended, workspace, part * fifth))
        marks.append((time.process_time(), _count_ended(workspace)))
    costs = [
        (work - work_before) / max(total - total_before, 1)
        for (work_before, total_before), (work, total) in pairwise(marks)
    ]
    title = f"{count:,} queued jobs, work for each of the last fifth"
    wrong = "" if _count_ended(workspace) == count else "some are missing"
    last, first = Spread(costs[-1], costs[-1]), Spread(costs[0], costs[0])
    against = "each of the second fifth"
    growth = costs[-1] / costs[0]
    yield Row(GROUP, title, last, against, first, growth, target=GROWTH, wrong=wrong)


def _has_ended(workspace: Workspace, count: int) -> bool:
    return _count_ended(workspace) >= count


def _count_ended(workspace: Workspace) -> int:
    return jobs_of(workspace).jobs.list(JobFilter(statuses=("completed",)), limit=1)[1]


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 1_200
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.1)


class Server:
    """`looseleaf serve` in a process of its own."""

    def __init__(self, root: Path, settings: str) -> None:
        if not root.exists():
            Workspace.create(root, agent="alpha").close()
        (root / "looseleaf.toml").write_text(settings)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [*find_command(), "--root", str(root), "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait_for_answer(self) -> None:
        """Ask until the server answers, and read the answer whole."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                    connection.sendall(b"GET /health HTTP/1.0\r\nhost: localhost\r\n\r\n")
                    if connection.recv(12).endswith(b" 200"):
                        return
            except OSError:
                time.sleep(0.005)
        raise TimeoutError

    def busy_seconds(self) -> float:
        """Return how long the process has worked so far, in all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Return the bytes that the process has in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait()


def _measure_idle(bench: Bench) -> Iterator[Row]:
    """Compare an idle server that runs a worker with one that does not."""
    if not Path("/proc/self/stat").exists():
        return
    with_worker = Server(bench.folder / "idle-worker", "")
    without_worker = Server(bench.folder / "idle", "serve_jobs = false\n")
    try:
        for server in (with_worker, without_worker):
            server.wait_for_answer()
        workspace = Workspace.open(bench.folder / "idle-worker")
        _wait(jobs_of(workspace).has_live_worker)
        workspace.close()
        time.sleep(bench.amount(15.0, 8.0))  # whatever starts behind the first answer
        busy = [server.busy_seconds() for server in (with_worker, without_worker)]
        seconds = bench.amount(60.0, 15.0)
        time.sleep(seconds)
        shares = [
            (server.busy_seconds() - before) / seconds
            for server, before in zip((with_worker, without_worker), busy, strict=True)
        ]
        share = Spread(shares[0], shares[0])
        yield _build_limit_row("idle server: work in a second", share, "2 % of a core", IDLE_SHARE)
        yield build_figure_row(GROUP, "idle server without a worker", shares[1], unit="seconds")
        added_bytes = with_worker.memory() - without_worker.memory()
        yield Row(
            GROUP,
            "memory that the worker adds to a server",
            Spread(added_bytes, added_bytes),
            "40 MB",
            Spread(WORKER_BYTES, WORKER_BYTES),
            added_bytes / WORKER_BYTES,
            target=1.0,
            unit="bytes",
        )
    finally:
        with_worker.stop()
        without_worker.stop()


def _measure_first_answer(bench: Bench) -> Iterator[Row]:
    """Compare the time from the start of a server to its first answer with starts of Python."""
    # An installed package is compiled; a working copy that was just edited is not yet.
    compileall.compile_dir(Path(looseleaf.__file__).parent, quiet=2)
    root = bench.folder / "first-answer"
    Workspace.create(root, agent="alpha").close()
    run_python = build_process_call((sys.executable, "-c", "pass"))
    clocks: tuple[Laps, Laps] = ([], [])
    works: tuple[Laps, Laps] = ([], [])
    for _ in range(bench.amount(10, 4)):
        start = time.perf_counter()
        server = Server(root, "")
        server.wait_for_answer()
        clocks[0].append([time.perf_counter() - start])
        works[0].append([server.busy_seconds()])
        server.stop()
        starts, work = [], _read_children_seconds()
        for _ in range(10):
            start = time.perf_counter()
            run_python()
            starts.append(time.perf_counter() - start)
        clocks[1].append(starts)
        works[1].append([(_read_children_seconds() - work) / 10])
    title, limit = "looseleaf serve, first answer", "python -c pass"
    yield build_row(GROUP, title, clocks[0], limit, clocks[1], target=STARTS)
    yield build_row(GROUP, f"{title}, work", works[0], limit, works[1], target=STARTS)


def _read_children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
