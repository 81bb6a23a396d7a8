"""Whether the results that several writers got for one page are one history, ordered by time."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple


class Observation(NamedTuple):
    """The result of a call: it read `new`, or replaced `expected` by `new`, from start to end."""

    kind: str
    expected: str
    new: str
    start: float
    end: float


def follow(initial: str, observations: list[Observation]) -> list[str]:
    """Return the versions of a page in order; each is unique, so that one path fits all."""
    writes = [observation for observation in observations if observation.kind == "write"]
    edges: dict[str, Observation] = {}
    for write in writes:
        assert write.expected not in edges, "fork: two writers replaced the same version"
        edges[write.expected] = write
    path = [initial]
    latest = 0.0
    while path[-1] in edges:
        write = edges[path[-1]]
        assert write.end >= latest, "a write ended before one that it follows began"
        latest = max(latest, write.start)
        path.append(write.new)
    assert len(path) == len(writes) + 1, "the acknowledged writes are not one chain"
    check_reads(
        path, writes, [observation for observation in observations if observation.kind != "write"]
    )
    return path


def check_reads(path: list[str], writes: list[Observation], reads: list[Observation]) -> None:
    """Check that every version someone saw was there at some time while they asked."""
    place = {version: number for number, version in enumerate(path)}
    by_end = sorted(writes, key=lambda write: write.end)
    ends = [write.end for write in by_end]
    completed_places = [0]
    for write in by_end:
        completed_places.append(max(completed_places[-1], place[write.new]))
    starts = {write.new: write.start for write in writes}
    for observation in reads:
        assert observation.new in place, "a version was seen that nobody wrote"
        oldest = completed_places[bisect_left(ends, observation.start)]
        assert place[observation.new] >= oldest, "a version was seen after it had been replaced"
        assert starts.get(observation.new, 0.0) <= observation.end, (
            "a version was seen before it was written"
        )
