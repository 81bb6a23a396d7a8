"""Starting: commands in a new process, beside the interpreter that does nothing."""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import workload
from benchmarks.bench import Bench, lay
from benchmarks.table import Row, compared, fact
from benchmarks.timing import Runner, output, process, race
import looseleaf
from looseleaf import Workspace

GROUP = "start"
LIMIT = "python -c pass"
READ_TARGET, HELP_TARGET = 3.0, 8.0
HELPS = (
    ("--help",),
    ("memory", "--help"),
    ("memory", "search", "--help"),
    ("memory", "daily", "append", "--help"),
    ("agents", "create", "--help"),
)
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
    for arguments in HELPS:
        run = process((*command, *arguments), env)
        shown = output((*command, *arguments), env)
        wrong = "" if b"Usage" in shown and run() == 0 else "it shows no help"
        nothing = process((sys.executable, "-c", "pass"), env)
        ours, limit = race(Runner(run), Runner(nothing), rounds=bench.amount(12, 4), batch=2)
        what = f"looseleaf {' '.join(arguments)}"
        yield compared(GROUP, what, ours, LIMIT, limit, target=HELP_TARGET, wrong=wrong)


def _memory(env: dict[str, str]) -> Iterator[Row]:
    for what, code in (("python -c pass", "pass"), ("import looseleaf, Workspace", _IMPORT)):
        resident = int(output((sys.executable, "-c", code + _MEMORY), env))
        yield fact(GROUP, f"memory after {what}", resident * 1024.0, unit="bytes")


def command_line() -> tuple[str, ...]:
    """Give the command as it is installed beside this interpreter, else as a module."""
    installed = Path(sys.executable).parent / "looseleaf"
    return (str(installed),) if installed.exists() else (sys.executable, "-m", "looseleaf")
