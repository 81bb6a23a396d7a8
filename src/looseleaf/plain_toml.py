"""Plain lines of TOML, read without a TOML parser, which takes longer to import than to run."""

from __future__ import annotations


def parse_plain_lines(text: bytes) -> dict[str, object] | None:
    """Read `key = value` lines whose values are plain, or None for what needs a TOML parser."""
    fields: dict[str, object] = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        key, equals, rest = line.partition("=")
        if not line.isprintable() or "\ufffd" in line:
            return None
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        plain = _parse_plain_value(rest.strip()) if equals else None
        name = key.strip()
        if plain is None or not (name.isascii() and name.isidentifier()) or name in fields:
            return None
        fields[name] = plain
    return fields


def _parse_plain_value(text: str) -> object:
    if text.startswith('"'):
        inner, quote, rest = text[1:].partition('"')
        is_plain = quote and "\\" not in inner
        return inner if is_plain and rest.strip()[:1] in ("", "#") else None
    if text.startswith("["):
        return _parse_plain_list(text)
    word = text.partition("#")[0].strip()
    if word in ("true", "false"):
        return word == "true"
    is_number = word.isascii() and word.isdigit() and (word == "0" or word[0] != "0")
    return int(word) if is_number else None


def _parse_plain_list(text: str) -> list[str] | None:
    inside, bracket, rest = text[1:].partition("]")
    if not bracket or rest.strip()[:1] not in ("", "#"):
        return None
    items = [item.strip() for item in inside.split(",")]
    if not items[-1]:
        items.pop()  # of an empty list, or after a last comma
    plain = [
        item[1:-1]
        for item in items
        if len(item) > 1 and item[0] == item[-1] == '"' and item.count('"') == 2
    ]
    return plain if len(plain) == len(items) and "\\" not in inside else None
