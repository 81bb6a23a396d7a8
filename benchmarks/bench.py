"""What every measurement works with: a folder, how thorough to be, and pages laid into it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Amount = TypeVar("Amount")


@dataclass(frozen=True, slots=True)
class Bench:
    """One run of the benchmarks."""

    folder: Path
    seed: int
    quick: bool = False

    def amount(self, full: Amount, quick: Amount) -> Amount:
        """Choose how much to do."""
        return quick if self.quick else full

    @staticmethod
    def say(text: str) -> None:
        """Show the person who waits that something happens."""
        print(text, file=sys.stderr, flush=True)


def lay(folder: Path, pages: Iterable[tuple[str, str]]) -> int:
    """Write pages as plain files, as an editor would; give how many bytes they have."""
    size = 0
    for name, text in pages:
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        size += path.write_bytes(text.encode())
    return size


def settle() -> None:
    """Wait until the files just written count as unchanged; they do not for a moment."""
    time.sleep(0.1)
