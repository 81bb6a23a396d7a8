"""Lines of a log: checksums, and the provenance that they hold."""

from __future__ import annotations

import json

import pytest

from looseleaf.memory.provenance import Activity, Provenance
from looseleaf.stores.disk.history.log_line import (
    encode_line,
    encode_provenance,
    is_intact,
    read_provenance,
)

OLD = {
    "revision": 1,
    "time": "2026-04-17T09:30:00.000000Z",
    "operation": "write",
    "actor": "ada",
    "surface": "cli",
    "reason": "",
    "hash": "",
    "bytes": 0,
}
WHOLE = Provenance("ada", "agent", "chat", Activity("session", "s1"), "tool", "because")


def test_a_line_holds_a_whole_provenance() -> None:
    """As flat fields, beside those that lines always had."""
    fields = encode_provenance(WHOLE)
    assert fields == {
        "actor": "ada",
        "surface": "chat",
        "reason": "because",
        "actor_kind": "agent",
        "origin": "tool",
        "activity": "session",
        "activity_id": "s1",
    }
    line = encode_line({**OLD, **fields})
    assert is_intact(line.rstrip(b"\n"))
    assert read_provenance(json.loads(line)) == ("agent", "tool", "session", "s1")


def test_what_is_empty_takes_no_room() -> None:
    """A line without it reads as the same."""
    assert encode_provenance(Provenance()) == {"actor": "", "surface": "library", "reason": ""}
    assert read_provenance(OLD) == ("", "", "", "")


def test_an_old_outside_edit_is_known_by_its_operation() -> None:
    """It was made by a program outside, though its line has no kind."""
    assert read_provenance({**OLD, "operation": "outside"}) == ("outside", "", "", "")


@pytest.mark.parametrize("word", [b'"agent"', b'"session"', b'"tool"', b"s1"])
def test_the_checksum_covers_the_provenance(word: bytes) -> None:
    """A forged word is noticed."""
    line = encode_line({**OLD, **encode_provenance(WHOLE)}).rstrip(b"\n")
    assert word in line
    assert not is_intact(line.replace(word, word.swapcase()))
