"""One of several processes that write to the same root at the same time.

Arguments: root, task, own name, how often. It says `ready`, waits for a line on standard input,
works, and prints what was acknowledged as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY))

from looseleaf.memory.sections import append_to_section  # noqa: E402 - the path is set just above
from looseleaf.memory.store import Conflict, Found, Written, hash_content  # noqa: E402
from looseleaf.stores.disk.store import DiskStore  # noqa: E402
from tests.stores.conformance import ADA, CHANGE, MEMORY, append_line  # noqa: E402
from tests.stores.scenes import open_store  # noqa: E402


def append(store: DiskStore, name: str, count: int) -> list[object]:
    """Append lines to one page."""
    for number in range(count):
        append_line(f"{name}.{number}\n".encode(), store, MEMORY)
    return []


def swap(store: DiskStore, name: str, count: int) -> list[object]:
    """Replace the version that was read, so many times; return each result with its times."""
    observations: list[object] = []
    count_done = 0
    while count_done < count:
        start = time.monotonic()
        page = store.read(MEMORY)
        assert isinstance(page, Found)
        observations.append(["read", "", page.hash, start, time.monotonic()])
        mine = f"{name}.{count_done}".encode()
        start = time.monotonic()
        outcome = store.write(MEMORY, mine, if_match=page.hash, change=CHANGE)
        end = time.monotonic()
        if isinstance(outcome, Written):
            assert outcome.previous == page.hash
            observations.append(["write", page.hash, hash_content(mine), start, end])
            count_done += 1
        else:
            assert isinstance(outcome, Conflict)
            observations.append(["conflict", page.hash, outcome.actual, start, end])
    return observations


def section(store: DiskStore, name: str, count: int) -> list[object]:
    """Append to a section of one's own in a page that all share."""

    def add(number: int) -> Callable[[bytes | None], bytes]:
        line = f"{name}.{number}"
        return lambda page: append_to_section((page or b"").decode(), name, line).encode()

    for number in range(count):
        store.edit(MEMORY, add(number), change=CHANGE)
    return []


def page(store: DiskStore, name: str, count: int) -> list[object]:
    """Append lines to a page of one's own."""
    for number in range(count):
        append_line(f"{name}.{number}\n".encode(), store, ADA.page(f"pages/{name}.md"))
    return []


TASKS = {"append": append, "swap": swap, "section": section, "page": page}


def main(root: str, task: str, name: str, count: str) -> None:
    """Do one task."""
    store = open_store(Path(root))
    print("ready", flush=True)  # noqa: T201 - the other end reads it
    sys.stdin.readline()
    print(json.dumps(TASKS[task](store, name, int(count))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
