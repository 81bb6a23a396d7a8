"""The quick form of the flood: everything at once, and the server neither grows nor stops."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import flooding


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_valid_requests_are_answered_while_everything_is_tried_at_once(tmp_path: Path) -> None:
    """Every valid request is answered, and memory stays within its bound.

    The times depend on the machine; `python -m benchmarks.flooding` shows them.
    """
    tokens = flooding.prepare(tmp_path / "memory")
    figures = flooding.flood(
        list(flooding.ATTACKS), tmp_path / "memory", tokens, seconds=1.0, part=0.2
    )
    assert figures.reads
    assert figures.writes
    assert figures.memory < flooding.GROWTH
