"""JSON of bundles: one text for one document, and nothing that two programs read differently."""

from __future__ import annotations

import pytest

from looseleaf.errors.features import InvalidBundle
from looseleaf.features.bundles.manifest import format_json, hash_payload, parse_json


def test_the_order_of_keys_changes_nothing() -> None:
    """Keys are sorted at every level, lists stay, and the hash does not see blanks."""
    first = {"b": [2, 1], "a": {"d": "ü/", "c": None}}
    second = {"a": {"c": None, "d": "ü/"}, "b": [2, 1]}
    assert format_json(first) == format_json(second)
    assert format_json(first).decode().endswith("}\n")
    assert "ü/" in format_json(first).decode()
    assert hash_payload(first) == hash_payload(second) != hash_payload({"b": [1, 2]})
    assert parse_json("a.json", format_json(first)) == first


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"1",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b"\xff",
        b'{"a":' * 50 + b"1" + b"}" * 50,
        b"[" * 200_000,
        b'{"a": ' + b"9" * 5_000 + b"}",
        b'{"a": 1e999}',
        b'{"a": "\\ud800"}',
        b'{"a": [' + b"[]," * 100_000 + b"[]]}",
    ],
    ids=range(12),
)
def test_other_json_is_refused(text: bytes) -> None:
    """No object, a key twice, NaN, no UTF-8, too deep, numbers too long or large, half letters."""
    with pytest.raises(InvalidBundle):
        parse_json("a.json", text)
