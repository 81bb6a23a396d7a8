"""One client that writes until the power is cut, and says what was acknowledged, a line each.

Called as `until_dark.py ROOT sync|nosync`; the second is how the test shows that it can fail.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY))

from looseleaf.files import atomic  # noqa: E402 - the path is set above
from tests.stores.conformance import ADA, CHANGE  # noqa: E402
from tests.stores.scenes import open_store  # noqa: E402


def main() -> None:
    """Append to one page, replace another and start a new one, round after round."""
    root, syncing = sys.argv[1:]
    if syncing == "nosync":
        for name in ("sync", "sync_data"):
            setattr(atomic, name, lambda _fd: None)
    store = open_store(Path(root))
    lines, whole = ADA.page("lines.md"), ADA.page("whole.md")
    number = 0
    while True:
        number += 1
        line = f"{number}\n".encode()
        store.edit(lines, lambda page, line=line: (page or b"") + line, change=CHANGE)  # type: ignore[misc]
        os.write(1, b"line %d\n" % number)
        store.write(whole, b"%d " % number * 900, change=CHANGE)
        os.write(1, b"whole %d\n" % number)
        day = ADA.page(f"daily/{2000 + number // 12}/{number % 12 + 1:02}/01.md")
        store.write(day, line, change=CHANGE)
        os.write(1, b"day %s\n" % day.filename.encode())


if __name__ == "__main__":
    main()
