"""Edits of JSON with comments and of TOML: one member or table changes, all else stays."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from looseleaf.values import value

Path = tuple[str | int, ...]
MAX_DEPTH = 100
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_LINE_REST = re.compile(r"[ \t]*(?:/\*(?:(?!\*/)[^\n])*\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n|\Z)")


@value
class Node:
    """A value with its position in the text; `at` is the start of a member's key."""

    at: int
    start: int
    end: int
    data: Any
    children: tuple[tuple[str | int, Node], ...] = ()

    def child(self, key: str | int) -> Node | None:
        """Return the member or item of this name, if it exists."""
        return next((node for name, node in self.children if name == key), None)


def parse(text: str) -> Node:
    """Parse a text with comments and trailing commas; raise `ValueError` if it is not JSON."""
    start = _skip(text, 0)
    if start == len(text):
        return Node(start, start, start, {})
    node = _parse_value(text, start, start, MAX_DEPTH)
    end = _skip(text, node.end)
    if end < len(text):
        raise ValueError(f"line {_find_line_number(text, end)}: there is text after the end")
    return node


def set_value(text: str, path: Path, data: object) -> str:
    """Set the value at a path; missing tables on the path are created."""
    root = parse(text)
    if root.start == root.end:
        return text + json.dumps(_wrap_in_path(path, data), indent=2, ensure_ascii=False) + "\n"
    return _check_edit(_replace_or_insert(text, root, path, data), path, data)


def remove_value(text: str, path: Path) -> str:
    """Remove a value, and every table and list on its path that is then empty."""
    node, nodes = parse(text), []
    for key in path:
        child = node.child(key)
        if child is None:
            return text
        nodes.append((node, child))
        node = child
    while len(nodes) > 1 and len(nodes[-1][0].children) == 1:
        nodes.pop()
    container, node = nodes[-1]
    new_text = _cut(text, container, node)
    values = [child.data for _, child in container.children if child.at != node.at]
    place = path[: len(nodes) - 1]
    if (new_container := _find(parse(new_text), place)) is None or [
        child.data for _, child in new_container.children
    ] != values:
        raise ValueError("its layout is not supported")
    return new_text


def _replace_or_insert(text: str, node: Node, path: Path, data: object) -> str:
    depth = 0
    while depth < len(path) and (child := node.child(path[depth])) is not None:
        node, depth = child, depth + 1
    if depth == len(path):
        margin = _find_margin(text, node.at)
        is_same = node.data == data
        return (
            text if is_same else text[: node.start] + _format(text, data, margin) + text[node.end :]
        )
    if not isinstance(node.data, dict if isinstance(path[depth], str) else list):
        location = ".".join(map(str, path[:depth])) or "the file"
        raise TypeError(
            f"{location!r} is not a {'table' if isinstance(path[depth], str) else 'list'}"
        )
    return _insert(text, node, path[depth], _wrap_in_path(path[depth + 1 :], data))


def _check_edit(text: str, path: Path, data: object) -> str:
    node = _find(parse(text), path)
    if node is None or node.data != data:
        raise ValueError("its layout is not supported")
    return text


def _find(node: Node | None, path: Path) -> Node | None:
    for key in path:
        node = node.child(key) if node else None
    return node


def _wrap_in_path(path: Path, data: object) -> object:
    for key in reversed(path):
        data = {key: data} if isinstance(key, str) else [data]
    return data


def _insert(text: str, container: Node, key: str | int, data: object) -> str:
    name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    line = _detect_newline(text)
    margin = _find_margin(text, container.at)
    inside = margin + _detect_indent(text)
    if not container.children:
        inner = text[container.start + 1 : container.end - 1]
        if "\n" not in text.strip():
            insertion = name + _format(text, data, "")
            return text[: container.end - 1] + insertion + text[container.end - 1 :]
        insertion = line + inside + name + _format(text, data, inside)
        head = text[: container.start + 1] + inner.rstrip()
        return head + insertion + line + margin + text[container.end - 1 :]
    last_child = container.children[-1][1]
    comma = _find_comma_end(text, last_child.end)
    if not _starts_line(text, last_child.at):
        insertion = ", " + name + _format(text, data, margin)
        return text[: last_child.end] + insertion + text[last_child.end :]
    inside = _find_margin(text, last_child.at)
    at = comma or last_child.end
    line_rest = _LINE_REST.match(text, at)
    at = line_rest.end() if line_rest else at
    insertion = line + inside + name + _format(text, data, inside) + ("," if comma else "")
    return (
        text[: last_child.end]
        + ("" if comma else ",")
        + text[last_child.end : at]
        + insertion
        + text[at:]
    )


def _cut(text: str, container: Node, node: Node) -> str:
    position = [inner.at for _, inner in container.children].index(node.at)
    comma = had_comma = _find_comma_end(text, node.end)
    start, end = node.at, node.end
    if comma and not text[node.end : comma - 1].strip():
        end, comma = comma, 0
    line_rest = _LINE_REST.match(text, end)
    if _starts_line(text, start) and line_rest and not line_rest[0].strip():
        start = text.rfind("\n", 0, start) + 1
        end = min(line_rest.end() + len(_detect_newline(text)), len(text))
    elif position:
        start = len(text[:start].rstrip(" \t"))
    parts = [(start, end)] + ([(comma - 1, comma)] if comma else [])
    if position and not had_comma:
        last_comma = _find_comma_end(text, container.children[position - 1][1].end)
        parts.append((last_comma - 1, last_comma))
    for cut_start, cut_end in sorted(parts, reverse=True):
        text = text[:cut_start] + text[cut_end:]
    return _close(text, container.start) if len(container.children) == 1 else text


def _close(text: str, start: int) -> str:
    """Write an empty container on one line."""
    end = start + 1 + len(text[start + 1 :]) - len(text[start + 1 :].lstrip())
    return text[: start + 1] + text[end:] if text[end] in "]}" else text


def _format(text: str, data: object, margin: str) -> str:
    if "\n" not in text.strip():
        return json.dumps(data, ensure_ascii=False)
    lines = json.dumps(data, indent=_detect_indent(text), ensure_ascii=False).split("\n")
    return (_detect_newline(text) + margin).join(lines)


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _detect_indent(text: str) -> str:
    """Return the indentation of one level, taken from the first member."""
    unit = re.search(r"\{[^\S\n]*(?://[^\n]*)?\n(?:[ \t]*//[^\n]*\n)*([ \t]+)\S", text)
    return unit[1] if unit else "  "


def _find_margin(text: str, at: int) -> str:
    """Return the white space at the start of a position's line."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return line[: len(line) - len(line.lstrip())]


def _starts_line(text: str, at: int) -> bool:
    """Return whether only white space precedes a position in its line."""
    begin = text.rfind("\n", 0, at) + 1
    return begin > 0 and not text[begin:at].strip()


def _find_comma_end(text: str, at: int) -> int:
    """Return the position after the comma that follows a value, or 0 without a comma."""
    at = _skip(text, at)
    return at + 1 if text[at : at + 1] == "," else 0


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _find_line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _parse_value(text: str, at: int, start: int, depth: int) -> Node:
    character = text[start : start + 1]
    if not depth:
        raise ValueError(f"line {_find_line_number(text, start)}: it is nested too deeply")
    if character in ("{", "["):
        return _parse_container(text, at, start, depth)
    match = (_STRING if character == '"' else _SCALAR).match(text, start)
    if not match:
        raise ValueError(
            f"line {_find_line_number(text, start)}: a value is missing or is not JSON"
        )
    return Node(at, start, match.end(), json.loads(match[0]))


def _parse_container(text: str, at: int, start: int, depth: int) -> Node:
    close = {"{": "}", "[": "]"}[text[start]]
    children: dict[str | int, Node] = {}
    position = _skip(text, start + 1)
    while text[position : position + 1] != close:
        key, node = _parse_child(text, position, len(children) if close == "]" else None, depth)
        if key in children:
            raise ValueError(
                f"line {_find_line_number(text, position)}: it has the key {key!r} twice"
            )
        children[key] = node
        comma_end = _find_comma_end(text, node.end)
        position = _skip(text, comma_end or node.end)
        if not comma_end and text[position : position + 1] != close:
            raise ValueError(
                f"line {_find_line_number(text, position)}: a comma or {close!r} is missing"
            )
    data = {key: node.data for key, node in children.items()}
    content = data if close == "}" else [*data.values()]
    return Node(at, start, position + 1, content, tuple(children.items()))


def _parse_child(text: str, position: int, index: int | None, depth: int) -> tuple[str | int, Node]:
    if index is not None:
        return index, _parse_value(text, position, position, depth - 1)
    name = _STRING.match(text, position)
    colon = _skip(text, name.end()) if name else position
    if not name or text[colon : colon + 1] != ":":
        raise ValueError(
            f"line {_find_line_number(text, position)}: a key with its colon is missing"
        )
    start = _skip(text, colon + 1)
    return json.loads(name[0]), _parse_value(text, position, start, depth - 1)


# Edits of TOML: one table is set or removed; every other line stays, comments too.


def set_table(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    """Set the table `[key.name]`, in its old place if it exists; without an entry, remove it.

    Raise `ValueError` if the edit would change anything else, because of the layout of the file.
    """
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        # A file with Windows line ends keeps them.
        unix_text = set_table(text.replace("\r\n", "\n"), key, name, entry)
        return unix_text.replace("\n", "\r\n")
    old_data = tomllib.loads(text)
    complete_text = text if not text or text.endswith("\n") else text + "\n"
    header = rf'\[{re.escape(key)}\.(?:{re.escape(name)}|"{re.escape(name)}")(?:\.[^\n]*)?\]'
    # Our table and the tables inside it, each with the lines right below its header.
    pattern = rf"(?m)(?:^\n)?^[ \t]*{header}[^\n]*\n(?:(?![ \t]*(?:\[|#|\n))[^\n]*\n)*"
    old = re.search(pattern, complete_text)
    new_text = re.sub(pattern, "", complete_text) if old else text
    if entry:
        new_text, position = (
            re.sub(pattern, "", complete_text),
            old.start() if old else len(complete_text),
        )
        new_text = (
            new_text[:position]
            + ("\n" if position else "")
            + format_table(key, name, entry)
            + new_text[position:]
        )
    data = tomllib.loads(new_text)
    is_kept = _without_server(old_data, key, name) == _without_server(data, key, name)
    if not is_kept or data.get(key, {}).get(name) != entry:
        raise ValueError("the layout of its tables is not supported")
    return new_text


def set_line(text: str, table: str, key: str, entry: str | None) -> str:
    """Set one line of the table `[table]`; without an entry, remove it.

    Raise `ValueError` if the edit would change anything else, because of the layout of the file.
    """
    data = tomllib.loads(text)
    line = f"{_quote(key)} = {_quote(entry)}\n" if entry is not None else ""
    lines = text.splitlines(keepends=True)
    header = next((at for at, old in enumerate(lines) if _is_header(old, table)), None)
    if header is None:
        margin = "\n" * (text != "" and not text.endswith("\n")) + "\n" * (text != "")
        new_text = f"{text}{margin}[{table}]\n{line}" if line else text
    else:
        later = lines[header + 1 :]
        size = next((at for at, old in enumerate(later) if old.lstrip()[:1] == "["), len(later))
        body = [old for old in later[:size] if not _has_key(old, key)]
        while body and not body[-1].strip():
            later.insert(size, body.pop())
        new_text = "".join([*lines[: header + 1], *body, line, *later[size:]])
    entries = {name: old for name, old in data.get(table, {}).items() if name != key}
    expected = {**data, table: {**entries, **({key: entry} if entry is not None else {})}}
    if {table: {}, **tomllib.loads(new_text)} != expected:
        raise ValueError("the layout of its tables is not supported")
    return new_text


def _is_header(line: str, table: str) -> bool:
    return re.fullmatch(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?", line.rstrip("\n")) is not None


def _has_key(line: str, key: str) -> bool:
    try:
        return key in tomllib.loads(line)
    except ValueError:
        return False


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def format_table(key: str, name: str, entry: dict[str, Any]) -> str:
    """Write one table as lines; a JSON value without surrogate escapes is a TOML value too."""
    lines = [f"{field} = {json.dumps(data, ensure_ascii=False)}" for field, data in entry.items()]
    return "\n".join([f"[{key}.{name}]", *lines]) + "\n"


def _without_server(table: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    servers = {
        server: server_entry
        for server, server_entry in table.get(key, {}).items()
        if server != name
    }
    other_fields = {field: data for field, data in table.items() if field != key}
    return {**other_fields, key: servers}
