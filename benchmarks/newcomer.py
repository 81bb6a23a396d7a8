"""A new process that searches three times and prints what that cost, as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time

from looseleaf import Workspace


def main(root: str, text: str) -> None:
    """Search the journal of alpha."""
    daily = Workspace.open(root).daily("alpha")
    figures = {}
    for ordinal in ("first", "second", "third"):
        start = time.perf_counter()
        daily.search(text)
        figures[ordinal] = time.perf_counter() - start
    print(json.dumps({**figures, "peak": read_peak_memory()}))


def read_peak_memory() -> float:
    """Return the most memory this process ever had, in bytes."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            lines = dict(line.split(":", 1) for line in status)
    except FileNotFoundError:
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return float(lines["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
