"""A machine that was booted a second ago: its monotonic clock is near zero, and nothing minds.

"Never" written as 0.0 is an hour ago on a machine that runs for long, and just now on a fresh one.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [path for name in ("src", "tests", "benchmarks") for path in (ROOT / name).rglob("*.py")]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}

# Runs tests in a process whose clock started a second ago, whatever the machine's says.
BOOTED = """
import sys, time
began = time.monotonic() - 1.0
monotonic = time.monotonic
time.monotonic = lambda: monotonic() - began
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""

# Tests of what compares times of that clock: held folders, the database's version, failed logins,
# decisions that are remembered, recent trouble.
COMPARING = (
    "tests/stores/disk/test_shelf_folders.py::test_a_single_read_holds_nothing",
    "tests/stores/disk/test_shelf_folders.py::test_a_folder_that_is_not_the_agents_is_not_held",
    "tests/stores/disk/test_shelf_folders.py::test_what_is_let_go_of_while_it_is_taken_stays_so",
    "tests/stores/database/test_accounts.py::test_another_process_sees_a_new_version",
    "tests/web/http/test_authentication.py::test_a_wrong_token_is_slowed_down_and_locks_out_nobody_else",
    "tests/web/http/test_authentication.py::test_a_page_is_read_anew_every_time",
    "tests/web/test_limits.py::test_a_degraded_server_says_so",
)


def test_a_machine_that_was_just_booted_is_no_different() -> None:
    """The tests of what compares times pass with a clock near zero."""
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    # A PostgreSQL of this process has its own runtime folder, which the child must not share.
    left_out = ("PYTEST_", "XDG_RUNTIME_DIR")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    done = subprocess.run(
        [sys.executable, "-c", BOOTED, *options, *COMPARING],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def zeros_for_never(text: str) -> Iterator[str]:
    """Name what begins as zero, in a module that reads a clock, and is taken away from a time."""
    nodes = list(ast.walk(ast.parse(text)))
    if not any(isinstance(node, ast.Attribute) and node.attr in CLOCKS for node in nodes):
        return
    subtracted = {
        name_of(node.right)
        for node in nodes
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    }
    for target, first in beginnings(nodes):
        if is_zero(first) and name_of(target) in subtracted:
            yield f"line {first.lineno}: {name_of(target)} is zero for never; write -math.inf"


def beginnings(nodes: list[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with the value it gets."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from zip(targets, values, strict=False)
            case ast.Assign(targets=targets, value=value):
                yield from ((target, value) for target in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value


def is_zero(value: ast.expr) -> bool:
    """Tell zero itself, and what a mapping gives if it has nothing."""
    match value:
        case ast.Constant(value=number):
            return type(number) in {int, float} and number == 0
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            return is_zero(default)
    return False


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_nowhere_is_never_written_as_zero() -> None:
    """Neither in the package nor in its tests and benchmarks."""
    faults = [
        f"{path.relative_to(ROOT)}: {fault}"
        for path in SOURCES
        for fault in zeros_for_never(path.read_text(encoding="utf-8"))
    ]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    "text",
    [
        "before = seen.get(shelf, 0.0)\nfresh = time.monotonic() - before < 1",
        "screen, typed = b'', 0.0\nlate = time.monotonic() - typed > 0.5",
        "class A:\n    looked: float = 0\n    def f(self):\n        time.monotonic() - self.looked",
    ],
)
def test_a_zero_for_never_is_noticed(text: str) -> None:
    """The check can fail."""
    assert list(zeros_for_never(text))
    assert not list(zeros_for_never(text.replace("0.0", "-math.inf").replace("= 0\n", "= None\n")))
