"""One client that writes until the power is cut, and says what was acknowledged, a line each.

Called as `until_dark.py ROOT sync|nosync|pack`; the second is how the test shows that it can fail,
and the third packs the history of a page after every few writes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY))

from looseleaf.files import atomic  # noqa: E402 - the path is set above
from looseleaf.stores.disk.history.page_history import DiskHistory  # noqa: E402
from looseleaf.stores.disk.store import DiskStore  # noqa: E402
from tests.stores.conformance import ADA, CHANGE  # noqa: E402
from tests.stores.scenes import open_store, pack_early  # noqa: E402


def build_text(number: int) -> bytes:
    """Return what the page that is packed says at a revision."""
    return b"version %d\n" % number * 60


def main() -> None:
    """Append to one page, replace another and start a new one, round after round."""
    root, syncing = sys.argv[1:]
    if syncing == "nosync":
        for name in ("sync", "sync_data"):
            setattr(atomic, name, lambda _fd: None)
    store = open_store(Path(root))
    if syncing == "pack":
        pack_early()
        write_and_pack(store)
    line_page, large_page = ADA.page("lines.md"), ADA.page("whole.md")
    number = 0
    while True:
        number += 1
        line = f"{number}\n".encode()
        store.edit(line_page, lambda page, line=line: (page or b"") + line, change=CHANGE)  # type: ignore[misc]
        os.write(1, b"line %d\n" % number)
        store.write(large_page, b"%d " % number * 900, change=CHANGE)
        os.write(1, b"whole %d\n" % number)
        day = ADA.page(f"daily/{2000 + number // 12}/{number % 12 + 1:02}/01.md")
        store.write(day, line, change=CHANGE)
        os.write(1, b"day %s\n" % day.filename.encode())


def write_and_pack(store: DiskStore) -> None:
    """Write a page a few times, pack its history, and go on with that."""
    page, history = ADA.page("packed.md"), DiskHistory(store)
    number = 0
    while True:
        number += 1
        store.write(page, build_text(number), change=CHANGE)
        os.write(1, b"version %d\n" % number)
        if number % 4 == 0:
            os.write(1, b"packed %d\n" % history.pack(page).versions)


if __name__ == "__main__":
    main()
