"""Whether what several writers were told about one page is one history, in the order of time."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple


class Told(NamedTuple):
    """What a writer was told: it read `new`, or replaced `expected` by `new`; when it asked."""

    kind: str
    expected: str
    new: str
    began: float
    ended: float


def follow(initial: str, told: list[Told]) -> list[str]:
    """Give the versions of a page in order; every version is unique, so that one path fits all."""
    writes = [one for one in told if one.kind == "write"]
    edges: dict[str, Told] = {}
    for write in writes:
        assert write.expected not in edges, "fork: two writers replaced the same version"
        edges[write.expected] = write
    path = [initial]
    latest = 0.0
    while path[-1] in edges:
        write = edges[path[-1]]
        assert write.ended >= latest, "a write ended before one that it follows began"
        latest = max(latest, write.began)
        path.append(write.new)
    assert len(path) == len(writes) + 1, "the acknowledged writes are not one chain"
    check_reads(path, writes, [one for one in told if one.kind != "write"])
    return path


def check_reads(path: list[str], writes: list[Told], reads: list[Told]) -> None:
    """Check that every version someone saw was there at some time while they asked."""
    place = {version: number for number, version in enumerate(path)}
    by_end = sorted(writes, key=lambda write: write.ended)
    ends = [write.ended for write in by_end]
    done = [0]
    for write in by_end:
        done.append(max(done[-1], place[write.new]))
    began = {write.new: write.began for write in writes}
    for read in reads:
        assert read.new in place, "a version was seen that nobody wrote"
        oldest = done[bisect_left(ends, read.began)]
        assert place[read.new] >= oldest, "a version was seen after it had been replaced"
        assert began.get(read.new, 0.0) <= read.ended, "a version was seen before it was written"
