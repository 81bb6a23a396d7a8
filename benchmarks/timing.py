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
    """Let each run a batch of calls in every round, in turns; give seconds by round."""
    for runner in runners:
        _batch(runner, min(batch, 3))
    laps: list[Laps] = [[] for _ in runners]
    for lap in range(rounds):
        gc.collect()
        # Whoever is always second would find the caches as the first has left them.
        order = range(len(runners)) if lap % 2 == 0 else reversed(range(len(runners)))
        for place in order:
            laps[place].append(_batch(runners[place], batch))
    return laps


def _batch(runner: Runner, calls: int) -> list[float]:
    run, before, clock = runner.run, runner.before, time.perf_counter
    taken = []
    for _ in range(calls):
        if before is not None:
            before()
        start = clock()
        run()
        taken.append(clock() - start)
    return taken


def spread(laps: Laps) -> Spread:
    """Sum up every call of every round."""
    taken = sorted(seconds for lap in laps for seconds in lap)
    return Spread(median(taken), taken[min(len(taken) - 1, int(0.95 * len(taken)))])


def middle(laps: Laps) -> float:
    """Give what half of the calls took at most."""
    return median(seconds for lap in laps for seconds in lap)


def ratio(ours: Laps, limit: Laps) -> float:
    """Compare round by round, each with what ran beside it, and take the middle."""
    return median(median(a) / median(b) for a, b in zip(ours, limit, strict=True))


def process(command: tuple[str, ...], env: Mapping[str, str] | None = None) -> Callable[[], int]:
    """Give a call that runs a command to its end, with the least that Python needs for that."""
    program = command[0] if os.path.isabs(command[0]) else _found(command[0])
    chosen = dict(os.environ if env is None else env)
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0o600) for stream in (0, 1, 2)]

    def run() -> int:
        child = os.posix_spawn(program, command, chosen, file_actions=silence)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


def output(
    command: Sequence[str], env: Mapping[str, str] | None = None, *, folder: Path | None = None
) -> bytes:
    """Run a command, in a folder if told, and give what it prints."""
    done = subprocess.run(command, env=env, cwd=folder, stdout=subprocess.PIPE, check=False)
    # ripgrep says 1 where there is nothing to find.
    if done.returncode > (command[0] == "rg"):
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout


def _found(name: str) -> str:
    for folder in os.get_exec_path():
        if os.access(path := os.path.join(folder, name), os.X_OK):
            return path
    raise FileNotFoundError(name)
