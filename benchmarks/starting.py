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
from benchmarks.bench import Bench, write_pages
from benchmarks.table import Row, build_figure_row, build_row
from benchmarks.timing import Runner, build_process_call, race, run_command
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
    write_pages(folder, workload.build_core_pages(seed=bench.seed).items())
    env = {**os.environ, "LOOSELEAF_ROOT": str(root)}
    command, bare_python = find_command(), (sys.executable, "-c", "pass")
    read_command = (*command, "memory", "read", "MEMORY.md")
    printed_bytes = run_command(read_command, env)
    wrong = "" if printed_bytes == (folder / "MEMORY.md").read_bytes() else "it shows other bytes"
    laps, limit, cat_laps, import_laps = race(
        Runner(build_process_call(read_command, env)),
        Runner(build_process_call(bare_python, env)),
        Runner(build_process_call(("cat", str(folder / "MEMORY.md")), env)),
        Runner(build_process_call((sys.executable, "-c", _IMPORT), env)),
        rounds=bench.amount(20, 5),
        batch=3,
    )
    title = "looseleaf memory read MEMORY.md"
    yield build_row(GROUP, title, laps, LIMIT, limit, target=READ_TARGET, wrong=wrong)
    yield build_row(GROUP, title, laps, "cat", cat_laps)
    yield build_row(GROUP, "import looseleaf, Workspace", import_laps, LIMIT, limit)
    yield from _measure_helps(bench, command, env)
    if Path("/proc/self/status").exists():
        yield from _measure_memory(env)


def _measure_helps(bench: Bench, command: tuple[str, ...], env: dict[str, str]) -> Iterator[Row]:
    """Measure the help of the whole, and of whichever command takes longest to show its own."""
    commands = list(_list_commands(command, env))
    bench.say(f"  {len(commands)} commands")

    def compare_help(rounds: int, arguments: tuple[str, ...]) -> Row:
        laps, limit = race(
            Runner(build_process_call((*command, *arguments, "--help"), env)),
            Runner(build_process_call((sys.executable, "-c", "pass"), env)),
            rounds=rounds,
            batch=2,
        )
        title = " ".join(("looseleaf", *arguments, "--help"))
        return build_row(GROUP, title, laps, LIMIT, limit, target=HELP_TARGET)

    yield compare_help(bench.amount(12, 4), ())
    glances = {arguments: compare_help(2, arguments).ratio or 0.0 for arguments in commands[1:]}
    # The highest of many short races may be noise: that command is measured again, for longer.
    slowest = max(glances, key=lambda arguments: glances[arguments])
    row = compare_help(bench.amount(12, 4), slowest)
    yield replace(row, what=f"{row.what}, slowest of {len(commands)}")


def _list_commands(
    command: tuple[str, ...], env: dict[str, str], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Name every command, as the help of its parent lists it."""
    yield above
    help_text = run_command((*command, *above, "--help"), env).decode()
    _, _, command_lines = help_text.partition("\nCommands:\n")
    for line in command_lines.partition("\n\n")[0].splitlines():
        if line.startswith("  ") and not line.startswith("   "):
            yield from _list_commands(command, env, (*above, line.split()[0]))


def _measure_memory(env: dict[str, str]) -> Iterator[Row]:
    for title, code in (("python -c pass", "pass"), ("import looseleaf, Workspace", _IMPORT)):
        resident = int(run_command((sys.executable, "-c", code + _MEMORY), env))
        yield build_figure_row(GROUP, f"memory after {title}", resident * 1024.0, unit="bytes")


def find_command() -> tuple[str, ...]:
    """Return the command as it is installed beside this interpreter, else as a module."""
    program = Path(sys.executable).parent / "looseleaf"
    return (str(program),) if program.exists() else (sys.executable, "-m", "looseleaf")
