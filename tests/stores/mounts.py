"""Small disks of one's own, if mounting is permitted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 2 MB in memory; skip the test if that is not permitted."""
    if sys.platform != "linux":
        pytest.skip("mounting a small disk takes Linux")
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        pytest.skip(f"mounting a small disk is not permitted here: {result.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
