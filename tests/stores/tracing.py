"""Stopping a write at any of its system calls, or letting one of them fail, with strace."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.stores.scenes import SCENES, open_store

FORKER = Path(__file__).parent / "drivers" / "forker.py"

# Every call that changes something on disk, and those between which it does.
CHANGING = (
    *("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fchmod", "mkdir", "mkdirat"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat"),
)
CALLS = (*CHANGING, "openat", "close", "flock")


class Call(NamedTuple):
    """One system call of a scene: its name, and its number among the calls of that name."""

    name: str
    number: int


class Ending(NamedTuple):
    """How an act ended: killed, or done with an error or without."""

    killed: bool
    error: str
    message: str


def require_strace() -> None:
    """Fail if strace is missing and could be had; skip if there is none."""
    if sys.platform != "linux":
        pytest.skip("strace is for Linux")
    if not shutil.which("strace"):
        pytest.fail("strace is missing. Run: python3 dev.py test, which installs it")


class Tracer:
    """A process that acts out scenes under strace; use it in a `with` block."""

    def __init__(self, scenes: str = "tests.stores.scenes") -> None:
        require_strace()
        command = [sys.executable, str(FORKER), scenes]
        self.forker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "ready"

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.forker.communicate()

    def _answer(self) -> str:
        assert self.forker.stdout
        return self.forker.stdout.readline().strip()

    def _tell(self, line: str) -> str:
        assert self.forker.stdin
        self.forker.stdin.write(line + "\n")
        self.forker.stdin.flush()
        return self._answer()

    def act(
        self,
        scene: str,
        root: Path,
        fault: str = "",
        *,
        trace: Path | None = None,
        largest_file: int | None = None,
    ) -> Ending:
        """Act out a scene with a fault injected into one of its calls."""
        pid = self._tell(json.dumps([scene, str(root)]))
        if largest_file is not None:
            resource.prlimit(int(pid), resource.RLIMIT_FSIZE, (largest_file, largest_file))
        command = ["strace", "-f", "-p", pid, "-o", str(trace or "/dev/null")]
        command += ["-e", f"trace={','.join(CALLS)}", "-e", "signal=none"]
        command += ["-e", f"inject={fault}"] if fault else []
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr
            first = strace.stderr.readline()
            assert "attached" in first, f"strace cannot trace here: {first}"
            status, error, message = json.loads(self._tell("go"))
        return Ending(status != 0, error, message)

    def calls(self, scene: str, root: Path, trace: Path) -> list[Call]:
        """Act out a scene whole and return the calls it made, in order."""
        ending = self.act(scene, root, trace=trace)
        assert not ending.killed
        assert not ending.error, ending
        counts: dict[str, int] = {}
        calls_of_scene = []
        for name in re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE):
            counts[name] = counts.get(name, 0) + 1
            calls_of_scene.append(Call(name, counts[name]))
        return calls_of_scene


def prepare_root(scene: str, folder: Path) -> Path:
    """Make the root of a scene in a folder."""
    root = folder / "root"
    (root / "agents/ada").mkdir(parents=True)
    SCENES[scene].prepare(open_store(root), root)
    return root


def copy_of(root: Path, folder: Path) -> Path:
    """Copy a prepared root, hard links and all."""
    folder.mkdir()
    subprocess.run(["cp", "-a", str(root), str(folder)], check=True)
    return folder / "root"
