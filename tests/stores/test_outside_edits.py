"""People edit pages with their own programs while Looseleaf writes: neither side loses anything."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from looseleaf import atomic
from looseleaf.memory.store import Conflict, Found, Written
from looseleaf.stores.disk import DiskStore
from looseleaf.stores.history import DiskHistory
from tests.stores.conformance import CHANGE, MEMORY, adding
from tests.stores.scenes import open_store, page_file
from tests.stores.state import left_behind, state_of

EDITOR = Path(__file__).parent / "drivers" / "editor.py"


class Editor:
    """A process that edits a page, and what it saved once it is done."""

    def __init__(self, root: Path, count: int, seed: int, *kinds: str) -> None:
        self.notes = root.parent / "saved.json"
        arguments = [str(page_file(root)), str(self.notes), str(count), str(seed), *kinds]
        self.process = subprocess.Popen(
            [sys.executable, str(EDITOR), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.saved: list[tuple[str, bytes]] = []

    def at_work(self) -> bool:
        """Say whether it is still editing."""
        return self.process.poll() is None

    def finish(self) -> None:
        """Wait for it and take what it says it saved."""
        self.process.communicate()
        assert self.process.returncode == 0
        told = json.loads(self.notes.read_text())
        self.saved = [(kind, content.encode()) for kind, content in told]
