"""Starting: commands in a new process, beside the interpreter that does nothing."""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import looseleaf
from benchmarks import workload
from benchmarks.bench import Bench, lay
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Runner, output, process, race
from looseleaf import Workspace

GROUP = "start"
LIMIT = "python -c pass"
READ_TARGET, HELP_TARGET = 3.0, 8.0
_IMPORT = "import looseleaf; looseleaf.Workspace"
_MEMORY = "; print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"


def measure(bench: Bench) -> Iterator[Row]:
    """Read a page from the command line, ask commands for help, import the library."""
    # An installed package is compiled; a working copy that was just edited is not yet.
    compileall.compile_dir(Path(looseleaf.__file__).parent, quiet=2)
    root = bench.folder / "starting"
    Workspace.create(root, agent="alpha")
    folder = root / "agents" / "alpha"
    lay(folder, workload.core_pages(seed=bench.seed).items())
    env = {**os.environ, "LOOSELEAF_ROOT": str(root)}
    command, nothing = command_line(), (sys.executable, "-c", "pass")
    read = (*command, "memory", "read", "MEMORY.md")
    shown = output(read, env)
    wrong = "" if shown == (folder / "MEMORY.md").read_bytes() else "it shows other bytes"
    ours, limit, cat, imported = race(
        Runner(process(read, env)),
        Runner(process(nothing, env)),
        Runner(process(("cat", str(folder / "MEMORY.md")), env)),
        Runner(process((sys.executable, "-c", _IMPORT), env)),
        rounds=bench.amount(20, 5),
        batch=3,
    )
    what = "looseleaf memory read MEMORY.md"
    yield compared(GROUP, what, ours, LIMIT, limit, target=READ_TARGET, wrong=wrong)
    yield compared(GROUP, what, ours, "cat", cat)
    yield compared(GROUP, "import looseleaf, Workspace", imported, LIMIT, limit)
    yield from _helps(bench, command, env)
    if Path("/proc/self/status").exists():
        yield from _memory(env)


def _helps(bench: Bench, command: tuple[str, ...], env: dict[str, str]) -> Iterator[Row]:
    """Measure the help of the whole, and of whichever command takes longest to show its own."""
    commands = list(_commands(command, env))
    bench.say(f"  {len(commands)} commands")

    def helping(rounds: int, arguments: tuple[str, ...]) -> Row:
        ours, limit = race(
            Runner(process((*command, *arguments, "--help"), env)),
            Runner(process((sys.executable, "-c", "pass"), env)),
            rounds=rounds,
            batch=2,
        )
        what = " ".join(("looseleaf", *arguments, "--help"))
        return compared(GROUP, what, ours, LIMIT, limit, target=HELP_TARGET)

    yield helping(bench.amount(12, 4), ())
    glances = {arguments: helping(2, arguments).ratio or 0.0 for arguments in commands[1:]}
    # The highest of many glances may be noise: who gave it is looked at more closely.
    slowest = max(glances, key=lambda arguments: glances[arguments])
    row = helping(bench.amount(12, 4), slowest)
    yield replace(row, what=f"{row.what}, slowest of {len(commands)}")


def _commands(
    command: tuple[str, ...], env: dict[str, str], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Name every command, by what the help of the one above it lists."""
    yield above
    shown = output((*command, *above, "--help"), env).decode()
    _, _, listed = shown.partition("\nCommands:\n")
    for line in listed.partition("\n\n")[0].splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            yield from _commands(command, env, (*above, line.split()[0]))


def _memory(env: dict[str, str]) -> Iterator[Row]:
    for what, code in (("python -c pass", "pass"), ("import looseleaf, Workspace", _IMPORT)):
        resident = int(output((sys.executable, "-c", code + _MEMORY), env))
        yield fact(GROUP, f"memory after {what}", resident * 1024.0, unit="bytes")


def command_line() -> tuple[str, ...]:
    """Give the command as it is installed beside this interpreter, else as a module."""
    installed = Path(sys.executable).parent / "looseleaf"
    return (str(installed),) if installed.exists() else (sys.executable, "-m", "looseleaf")
