"""Four clients that write without pause until they are killed, all at the same moment.

One request a line on standard input, `[root, round, seed, seconds]`; the answer is the list of what
was acknowledged, as `[kind, what, expected, new]`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY))

from looseleaf.memory.store import Found, Written, hash_content  # noqa: E402 - the path is set above
from looseleaf.stores.disk.store import DiskStore  # noqa: E402
from tests.stores.conformance import ADA, CHANGE  # noqa: E402
from tests.stores.scenes import open_store  # noqa: E402

CLIENTS = 4
LINES = ADA.page("lines.md")
REGISTER = ADA.page("register.md")


def build_text(name: str, size: int) -> bytes:
    """Return a text that shows whether it is whole."""
    return f"{name} {size}\n".encode() + name.encode() * size


def write(store: DiskStore, name: str, chance: random.Random) -> list[str]:
    """Make one change; return what was acknowledged, if it was."""
    if chance.random() < 0.5:
        line = f"{name}\n".encode()
        store.edit(LINES, lambda page: (page or b"") + line, change=CHANGE)
        return ["line", name, "", ""]
    mine = build_text(name, chance.randrange(4_000))
    page = store.read(REGISTER)
    expected = page.hash if isinstance(page, Found) else "absent"
    if expected != "absent" and chance.random() < 0.1:
        store.delete(REGISTER, if_match=expected, change=CHANGE)
        return []
    outcome = store.write(REGISTER, mine, if_match=expected, change=CHANGE)
    if isinstance(outcome, Written):
        return ["swap", name, expected, hash_content(mine)]
    return []


def run_client(root: Path, name: str, seed: int, pipe: int) -> None:
    """Write for ever."""
    store = open_store(root)
    chance = random.Random(seed)
    number = 0
    while True:
        number += 1
        acknowledgment = write(store, f"{name}.{number}", chance)
        if acknowledgment:
            os.write(pipe, json.dumps(acknowledgment).encode() + b"\n")


def main() -> None:
    """Serve requests until there are no more."""
    print("ready", flush=True)  # noqa: T201 - the other end reads it
    for request in sys.stdin:
        root, number, seed, seconds = json.loads(request)
        read_end, write_end = os.pipe()
        pids = []
        for place in range(CLIENTS):
            pid = os.fork()
            if pid == 0:
                run_client(Path(root), f"{number}.{place}", seed + place, write_end)
            pids.append(pid)
        os.close(write_end)
        time.sleep(seconds)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for pid in pids:
            os.waitpid(pid, 0)
        with open(read_end, encoding="utf-8") as lines:
            print(json.dumps([json.loads(line) for line in lines]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
