"""Someone who edits a page with other programs, at random, while Looseleaf writes to it.

Arguments: the page's file, a file for its own notes, how often, a seed, and maybe the kinds of
saves. It says `ready`, waits for a line on standard input, saves again and again in the ways that
editors do, and notes each save: its kind and bytes (of an append, the line alone). Between saves
it waits until Looseleaf has written: what an outsider overwrites of his own, nobody can keep.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path


def move_over(page: Path, content: bytes, chance: random.Random) -> None:
    """Write a new file and rename it over the page."""
    fresh = page.with_name(".fresh")
    fresh.write_bytes(content)
    linger(chance)
    fresh.rename(page)


def in_place(page: Path, content: bytes, chance: random.Random) -> None:
    """Empty the page, then write it."""
    fd = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    linger(chance)
    os.write(fd, content)
    os.close(fd)


def over_itself(page: Path, content: bytes, chance: random.Random) -> None:
    """Overwrite the page without emptying it first, then cut off the rest."""
    fd = os.open(page, os.O_WRONLY | os.O_CREAT, 0o600)
    linger(chance)
    os.write(fd, content)
    os.ftruncate(fd, len(content))
    os.close(fd)


def append(page: Path, content: bytes, chance: random.Random) -> None:
    """Add a line to the end of the page."""
    fd = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    linger(chance)
    os.write(fd, content)
    os.close(fd)


def with_backup(page: Path, content: bytes, chance: random.Random) -> None:
    """Rename the page to a backup, then write a new one under its name, as vi does."""
    page.rename(page.with_name("MEMORY.md~"))
    linger(chance)
    in_place(page, content, chance)


KINDS = {
    "move over": move_over,
    "in place": in_place,
    "over itself": over_itself,
    "append": append,
    "with backup": with_backup,
}


def linger(chance: random.Random) -> None:
    """Take one's time now and then, as a busy program does between opening and writing."""
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0, 0.01))


def wait_for_others(page: Path, content: bytes) -> None:
    """Wait until someone else has written, or has had time enough."""
    for _ in range(20_000):
        try:
            if not page.read_bytes().endswith(content):
                return
        except FileNotFoundError:
            return
        time.sleep(0.000_5)


def main(path: str, notes: str, count: str, seed: str, *kinds: str) -> None:
    """Save so many times."""
    page = Path(path)
    chance = random.Random(int(seed))
    saves = []
    print("ready", flush=True)  # noqa: T201 - the other end reads it
    sys.stdin.readline()
    for number in range(int(count)):
        kind = chance.choice(kinds or tuple(KINDS))
        content = f"outside {number} {kind}\n".encode()
        if kind != "append":
            content *= chance.randrange(1, 400)
        KINDS[kind](page, content, chance)
        saves.append([kind, content.decode()])
        wait_for_others(page, content)
        time.sleep(chance.uniform(0, 0.01))
    Path(notes).write_text(json.dumps(saves), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
