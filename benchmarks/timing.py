"""Timing what is ours and its limit by turns, so that a busy machine slows both alike."""

from __future__ import annotations

import gc
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Laps = list[list[float]]


@dataclass(frozen=True, slots=True)
class Runner:
    """Something to time; `before` runs ahead of each call and is not timed."""

    run: Callable[[], object]
    before: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """What half of the calls and what nineteen in twenty took at most, in seconds (or bytes)."""

    p50: float
    p95: float


def race(*runners: Runner, rounds: int, batch: int) -> list[Laps]:
    """Have each run a batch of calls in every round, in turns; return seconds by round."""
    for runner in runners:
        _measure_batch(runner, min(batch, 3))
    laps: list[Laps] = [[] for _ in runners]
    for lap in range(rounds):
        gc.collect()
        # A runner that is always second would profit from caches that the first has filled.
        order = range(len(runners)) if lap % 2 == 0 else reversed(range(len(runners)))
        for place in order:
            laps[place].append(_measure_batch(runners[place], batch))
    return laps


def _measure_batch(runner: Runner, calls: int) -> list[float]:
    run, before, clock = runner.run, runner.before, time.perf_counter
    times = []
    for _ in range(calls):
        if before is not None:
            before()
        start = clock()
        run()
        times.append(clock() - start)
    return times


def summarize_laps(laps: Laps) -> Spread:
    """Sum up every call of every round."""
    times = sorted(seconds for lap in laps for seconds in lap)
    return Spread(median(times), times[min(len(times) - 1, int(0.95 * len(times)))])


def compute_median(laps: Laps) -> float:
    """Return the median of all calls."""
    return median(seconds for lap in laps for seconds in lap)


def compute_ratio(laps: Laps, limit: Laps) -> float:
    """Divide the medians round by round, and return the median of the ratios."""
    return median(median(a) / median(b) for a, b in zip(laps, limit, strict=True))


def build_process_call(
    command: tuple[str, ...], env: Mapping[str, str] | None = None
) -> Callable[[], int]:
    """Return a call that runs a command to its end, with the least that Python needs for that."""
    program = command[0] if os.path.isabs(command[0]) else _resolve_program(command[0])
    environment = dict(os.environ if env is None else env)
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0o600) for stream in (0, 1, 2)]

    def run() -> int:
        child = os.posix_spawn(program, command, environment, file_actions=silence)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


def run_command(
    command: Sequence[str], env: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> bytes:
    """Run a command, in a folder if one is named, and return its output."""
    result = subprocess.run(command, env=env, cwd=folder, stdout=subprocess.PIPE, check=False)
    # ripgrep exits with 1 if it finds nothing.
    if result.returncode > (command[0] == "rg"):
        raise subprocess.CalledProcessError(result.returncode, command)
    return result.stdout


def _resolve_program(name: str) -> str:
    for folder in os.get_exec_path():
        if os.access(path := os.path.join(folder, name), os.X_OK):
            return path
    raise FileNotFoundError(name)
