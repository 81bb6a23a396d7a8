"""Clients under load that are killed, and what must be true of the root they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from looseleaf.memory.store import Found, hash_content
from looseleaf.stores.disk.history.page_history import DiskHistory
from tests.stores.drivers.clients import CLIENTS, LINES, REGISTER, build_text
from tests.stores.scenes import open_store
from tests.stores.state import list_leftovers, state_of

DRIVER = Path(__file__).parent / "drivers" / "clients.py"


class Load:
    """A process whose children write until they are killed; use it in a `with` block."""

    def __init__(self) -> None:
        self.driver = subprocess.Popen(
            [sys.executable, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "ready"

    def __enter__(self) -> Load:
        return self

    def __exit__(self, *_outcome: object) -> None:
        self.driver.communicate()

    def _answer(self) -> str:
        assert self.driver.stdout
        return self.driver.stdout.readline().strip()

    def begin(self, root: Path) -> None:
        """Begin with a fresh root."""
        self.root = root
        (root / "agents/ada").mkdir(parents=True)
        self.lines: set[str] = set()
        self.swaps: dict[str, str] = {}
        self.rounds = 0
        self.fresh = 0

    def run(self, number: int, *, seed: int, seconds: float) -> None:
        """Have the clients write for some seconds, then kill them."""
        assert self.driver.stdin
        self.driver.stdin.write(json.dumps([str(self.root), number, seed, seconds]) + "\n")
        self.driver.stdin.flush()
        acknowledgments = json.loads(self._answer())
        self.rounds += 1
        self.fresh = len(acknowledgments)
        for kind, name, expected, new in acknowledgments:
            if kind == "line":
                self.lines.add(name)
            else:
                self.swaps[new] = expected

    def check(self) -> int:
        """Check the root as a process starting now finds it; return how much was acknowledged."""
        store = open_store(self.root)
        for page in (LINES, REGISTER):
            result = store.read(page)
            assert isinstance(result, Found) or page is REGISTER or not self.lines
        store.recover()
        assert not list_leftovers(self.root)
        lines = (state_of(store, LINES).page or b"").decode().split("\n")
        assert lines.pop() == ""
        assert len(set(lines)) == len(lines), "a line was written twice"
        assert self.lines <= set(lines), f"lost: {self.lines - set(lines)}"
        # Each client may have had one write under way that was done and not yet acknowledged.
        assert len(lines) <= len(self.lines) + CLIENTS * self.rounds
        self._check_register()
        return self.fresh

    def _check_register(self) -> None:
        state = state_of(open_store(self.root), REGISTER)
        for version in state.versions:
            name, size = version.split(b"\n")[0].decode().split()
            assert version == build_text(name, int(size)), f"torn: {name}"
        hashes_of_versions = {hash_content(version) for version in state.versions}
        assert self.swaps.keys() <= hashes_of_versions, "an acknowledged version is lost"
        revisions = DiskHistory(open_store(self.root)).revisions(REGISTER)
        if not revisions:
            assert not self.swaps
            return
        hashes = ["absent" if not revision.hash else revision.hash for revision in revisions]
        before = dict(zip(hashes[1:], hashes, strict=False)) | {hashes[0]: "absent"}
        wrong = {new for new, expected in self.swaps.items() if before[new] != expected}
        assert not wrong, "a write replaced another version than it had read"
