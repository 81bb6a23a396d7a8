"""Working: jobs without a model, beside the engine that records the same parts and does nothing."""

from __future__ import annotations

import compileall
import os
import resource
import socket
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
from benchmarks.starting import command_line
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Laps, Runner, Spread, process, race, spread
from looseleaf import Workspace
from looseleaf.stores.engine import dbos_engine
from looseleaf.workflows.engine import JobFilter
from looseleaf.workflows.execution.plan import plan_direct_job
from looseleaf.workflows.pipeline import Step

GROUP = "jobs"
ENGINE = "the engine alone, three parts"
SETTINGS = "daily_memory_enabled = true\njobs_at_once = 1\n"
ADDED_SECONDS, GROWTH, IDLE_SHARE, ENGINE_BYTES, STARTS = 0.06, 1.2, 0.02, 40_000_000, 80.0
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
    yield from _drain(bench, workspace)
    yield from _one_job(bench, workspace)
    workspace.close()
    yield from _idle(bench)
    yield from _first_answer(bench)


class JobRunner:
    """Starts jobs, and bare runs of the engine, and waits for their end."""

    def __init__(self, workspace: Workspace) -> None:
        self.runtime = workspace.workflow_jobs()
        self.runtime.start_worker()
        self.agent = workspace.agents.resolve("alpha").id
        self._ended = threading.Event()
        self._bare_count = 0
        engine = dbos_engine._instance  # noqa: SLF001 - the one engine of this process
        assert engine is not None
        self._engine, self._run_job = engine, engine.run_job
        engine.run_job = self._run

    def _run(self, run_id: str, job_id: int, position: int) -> None:
        if job_id:
            self._run_job(run_id, job_id, position)
        else:
            for step in STEPS:
                self._engine.record(step.id, dict)
        self._ended.set()

    def run_job(self) -> None:
        """Start a job and wait until it has ended."""
        self._ended.clear()
        self.runtime.jobs.add(plan_direct_job("Benchmark", STEPS, agent_id=self.agent))
        assert self._ended.wait(60)

    def run_bare(self) -> None:
        """Let the engine record as many parts, each of which does nothing."""
        self._ended.clear()
        self._bare_count += 1
        self._engine.start(f"bare-{self._bare_count}", 0, 0)
        assert self._ended.wait(60)


def _one_job(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Compare a job with the bare engine, by the clock and by the work of this process."""
    runner = JobRunner(workspace)
    rounds, batch = bench.amount(10, 4), 10
    ours, bare = race(Runner(runner.run_job), Runner(runner.run_bare), rounds=rounds, batch=batch)
    what = "three steps without a model"
    failed = runner.runtime.jobs.list(JobFilter(statuses=("failed",)))[1]
    wrong = f"{failed} jobs failed" if failed else ""
    yield compared(GROUP, what, ours, ENGINE, bare, wrong=wrong)
    yield _limited(f"{what}: added", _differences(ours, bare), "60 ms", ADDED_SECONDS)
    works: tuple[Laps, Laps] = ([], [])
    for _ in range(rounds):
        for work, run in zip(works, (runner.run_job, runner.run_bare), strict=True):
            work.append([_work(run, batch)])
    yield compared(GROUP, f"{what}, work", works[0], ENGINE, works[1])
    yield _limited(f"{what}, work: added", _differences(*works), "60 ms", ADDED_SECONDS)


def _work(run: Callable[[], None], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


def _differences(ours: Laps, bare: Laps) -> Spread:
    medians = zip(map(median, ours), map(median, bare), strict=True)
    return spread([[max(mine - theirs, 0.0) for mine, theirs in medians]])


def _limited(what: str, seconds: Spread, limit: str, most: float) -> Row:
    """Make the row of a figure that has an upper bound of its own."""
    ratio = seconds.p50 / most
    return Row(GROUP, what, seconds, limit, Spread(most, most), ratio, target=1.0)


def _drain(bench: Bench, workspace: Workspace) -> Iterator[Row]:
    """Queue many jobs, and compare the work for each of the last fifth with the first fifth."""
    runtime = workspace.workflow_jobs()
    count = bench.amount(1_000, 200)
    agent = workspace.agents.resolve("alpha").id
    for _ in range(count):
        runtime.jobs.add(plan_direct_job("Benchmark", STEPS, agent_id=agent))
    runtime.start_worker()
    marks, fifth = [], count // 5
    for part in range(1, 6):
        _wait(partial(_have_ended, workspace, part * fifth))
        marks.append((time.process_time(), _count_ended(workspace)))
    costs = [
        (work - work_before) / max(ended - ended_before, 1)
        for (work_before, ended_before), (work, ended) in pairwise(marks)
    ]
    what = f"{count:,} queued jobs, work for each of the last fifth"
    wrong = "" if _count_ended(workspace) == count else "some are missing"
    last, first = Spread(costs[-1], costs[-1]), Spread(costs[0], costs[0])
    against = "each of the second fifth"
    growth = costs[-1] / costs[0]
    yield Row(GROUP, what, last, against, first, growth, target=GROWTH, wrong=wrong)


def _have_ended(workspace: Workspace, count: int) -> bool:
    return _count_ended(workspace) >= count


def _count_ended(workspace: Workspace) -> int:
    return workspace.workflow_jobs().jobs.list(JobFilter(statuses=("completed",)), limit=1)[1]


def _wait(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 1_200
    while not is_so():
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
        command = [*command_line(), "--root", str(root), "serve", "--port", str(self.port)]
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


def _idle(bench: Bench) -> Iterator[Row]:
    """Compare an idle server that runs a worker with one that does not."""
    if not Path("/proc/self/stat").exists():
        return
    with_worker = Server(bench.folder / "idle-worker", "")
    without = Server(bench.folder / "idle", "serve_jobs = false\n")
    try:
        for server in (with_worker, without):
            server.wait_for_answer()
        watched = Workspace.open(bench.folder / "idle-worker")
        _wait(watched.workflow_jobs().has_live_worker)
        watched.close()
        time.sleep(bench.amount(15.0, 8.0))  # whatever starts behind the first answer
        busy = [server.busy_seconds() for server in (with_worker, without)]
        seconds = bench.amount(60.0, 15.0)
        time.sleep(seconds)
        shares = [
            (server.busy_seconds() - before) / seconds
            for server, before in zip((with_worker, without), busy, strict=True)
        ]
        share = Spread(shares[0], shares[0])
        yield _limited("idle server: work in a second", share, "2 % of a core", IDLE_SHARE)
        yield fact(GROUP, "idle server without a worker", shares[1], unit="seconds")
        added = with_worker.memory() - without.memory()
        yield Row(
            GROUP,
            "memory that the worker adds to a server",
            Spread(added, added),
            "40 MB",
            Spread(ENGINE_BYTES, ENGINE_BYTES),
            added / ENGINE_BYTES,
            target=1.0,
            unit="bytes",
        )
    finally:
        with_worker.stop()
        without.stop()


def _first_answer(bench: Bench) -> Iterator[Row]:
    """Compare the time from the start of a server to its first answer with starts of Python."""
    # An installed package is compiled; a working copy that was just edited is not yet.
    compileall.compile_dir(Path(looseleaf.__file__).parent, quiet=2)
    root = bench.folder / "first-answer"
    Workspace.create(root, agent="alpha").close()
    nothing = process((sys.executable, "-c", "pass"))
    clocks: tuple[Laps, Laps] = ([], [])
    works: tuple[Laps, Laps] = ([], [])
    for _ in range(bench.amount(10, 4)):
        start = time.perf_counter()
        server = Server(root, "")
        server.wait_for_answer()
        clocks[0].append([time.perf_counter() - start])
        works[0].append([server.busy_seconds()])
        server.stop()
        starts, work = [], _children_seconds()
        for _ in range(10):
            start = time.perf_counter()
            nothing()
            starts.append(time.perf_counter() - start)
        clocks[1].append(starts)
        works[1].append([(_children_seconds() - work) / 10])
    what, limit = "looseleaf serve, first answer", "python -c pass"
    yield compared(GROUP, what, clocks[0], limit, clocks[1], target=STARTS)
    yield compared(GROUP, f"{what}, work", works[0], limit, works[1], target=STARTS)


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
