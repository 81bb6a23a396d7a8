"""A command line to type at: in this process, in one of its own, or on a terminal."""

from __future__ import annotations

import io
import json
import math
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.cli import main


class Answer(NamedTuple):
    """What a command came to."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.out.decode()

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever the document is
        """Standard output as one JSON document."""
        return json.loads(self.out)


Run = Callable[..., Answer]


class Stdin(io.TextIOWrapper):
    """Standard input with these bytes, on a terminal or not."""

    def __init__(self, content: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        """Return whether someone types."""
        return self.terminal


@pytest.fixture
def command_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a fresh workspace with the agent main, and stand in its folder."""
    for name in [name for name in os.environ if name.startswith(("LOOSELEAF_", "_LOOSELEAF"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("LOOSELEAF_ACTOR", "tester")
    workspace_root = tmp_path.resolve() / "memory"
    Workspace.create(workspace_root)
    monkeypatch.chdir(workspace_root)
    return workspace_root


@pytest.fixture
def page(command_root: Path) -> Path:
    """Return the file of the agent's MEMORY.md, with three sections that tests know."""
    file = command_root / "agents" / "main" / "MEMORY.md"
    file.write_text("# Memory\n\n## State\n\n- one\n\n## Lessons\n\n- two\n\n## State\n\n- three\n")
    return file


@pytest.fixture
def run(
    command_root: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Type a command and get its answer."""
    assert command_root.exists()

    def type_command(
        *words: str, stdin: bytes | None = None, way: Callable[..., int] = main
    ) -> Answer:
        monkeypatch.setattr(sys, "stdin", Stdin(stdin or b""))
        capsysbinary.readouterr()
        code = way(list(words))
        out, err = capsysbinary.readouterr()
        return Answer(code, out, err.decode())

    return type_command


COMMAND = [sys.executable, "-m", "looseleaf"]
# Only a controlling terminal turns Ctrl-C into a signal.
TAKE_CONTROL = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("looseleaf", run_name="__main__")
"""
CONTROLLED = [sys.executable, "-c", TAKE_CONTROL]


@pytest.fixture
def start(command_root: Path) -> Run:
    """Run a command in a process of its own, its output in a pipe."""
    assert command_root.exists()

    def start_command(*words: str, stdin: bytes = b"") -> Answer:
        result = subprocess.run([*COMMAND, *words], input=stdin, capture_output=True, check=False)
        return Answer(result.returncode, result.stdout, result.stderr.decode())

    return start_command


@pytest.fixture
def on_terminal(command_root: Path) -> Run:
    """Run a command on a terminal; type something when the screen shows a prompt."""
    assert command_root.exists()

    def run_on_terminal(*words: str, prompt: bytes = b"", keys: bytes = b"") -> Answer:
        terminal, far_end = pty.openpty()
        process = subprocess.Popen(
            [*CONTROLLED, *words],
            stdin=far_end,
            stdout=far_end,
            stderr=far_end,
            start_new_session=True,
        )
        os.close(far_end)
        screen, last_press, end = b"", -math.inf, time.monotonic() + 30
        try:
            while (part := _read(terminal)) is not None and time.monotonic() < end:
                screen += part
                # A key pressed before the program listens is lost, so it is pressed again.
                if keys and prompt in screen and time.monotonic() - last_press > 0.5:
                    last_press = time.monotonic()
                    os.write(terminal, keys)
        finally:
            os.close(terminal)
        return Answer(process.wait(timeout=5), screen.replace(b"\r\n", b"\n"), "")

    return run_on_terminal


def _read(terminal: int) -> bytes | None:
    """Read what is there; None at the end, which Linux reports as an error."""
    if not select.select([terminal], [], [], 0.1)[0]:
        return b""
    try:
        return os.read(terminal, 65_536) or None
    except OSError:
        return None
