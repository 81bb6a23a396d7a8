"""What every measurement uses: a folder, the amount of work, and pages written as files."""

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
        """Print progress for the person who waits."""
        print(text, file=sys.stderr, flush=True)


def write_pages(folder: Path, pages: Iterable[tuple[str, str]]) -> int:
    """Write pages as plain files, as an editor would; return the number of their bytes."""
    size = 0
    for name, text in pages:
        path = folder / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        size += path.write_bytes(text.encode())
    return size


def settle() -> None:
    """Wait until the files just written are old enough to count as unchanged."""
    time.sleep(0.1)
