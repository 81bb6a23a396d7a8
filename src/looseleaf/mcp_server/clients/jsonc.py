"""Editing JSON with comments: one member is set or removed, every other byte stays."""

from __future__ import annotations

import json
import re
from typing import Any

from looseleaf.values import value

Path = tuple[str | int, ...]
MAX_DEPTH = 100
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_LINE_REST = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n|\Z)")


@value
class Node:
    """A value and the place where it stands; `at` begins before the key of a member."""

    at: int
    start: int
    end: int
    data: Any
    children: tuple[tuple[str | int, Node], ...] = ()

    def child(self, key: str | int) -> Node | None:
        """Give the member or item of this name, if there is one."""
        return next((node for name, node in self.children if name == key), None)


def parse(text: str) -> Node:
    """Read a text with its comments and trailing commas; `ValueError` where it is no JSON."""
    start = _skip(text, 0)
    if start == len(text):
        return Node(start, start, start, {})
    node = _value(text, start, start, MAX_DEPTH)
    end = _skip(text, node.end)
    if end < len(text):
        raise ValueError(f"line {_line(text, end)}: there is more after the end")
    return node


def set_value(text: str, path: Path, data: object) -> str:
    """Put a value at a path; tables that are missing on the way there are made."""
    root = parse(text)
    if root.start == root.end:
        return text + json.dumps(_nested(path, data), indent=2, ensure_ascii=False) + "\n"
    return _checked(_changed(text, root, path, data), path, data)


def remove_value(text: str, path: Path) -> str:
    """Take a value out, and with it every table and list on its path that is then empty."""
    node, nodes = parse(text), []
    for key in path:
        inner = node.child(key)
        if inner is None:
            return text
        nodes.append((node, inner))
        node = inner
    while len(nodes) > 1 and len(nodes[-1][0].children) == 1:
        nodes.pop()
    container, node = nodes[-1]
    after = _cut(text, container, node)
    rest = [inner.data for _, inner in container.children if inner.at != node.at]
    place = path[: len(nodes) - 1]
    if (kept := _find(parse(after), place)) is None or [
        inner.data for _, inner in kept.children
    ] != rest:
        raise ValueError("it is not laid out as we would")
    return after


def _changed(text: str, node: Node, path: Path, data: object) -> str:
    depth = 0
    while depth < len(path) and (inner := node.child(path[depth])) is not None:
        node, depth = inner, depth + 1
    if depth == len(path):
        margin = _margin(text, node.at)
        is_same = node.data == data
        return (
            text if is_same else text[: node.start] + _format(text, data, margin) + text[node.end :]
        )
    if not isinstance(node.data, dict if isinstance(path[depth], str) else list):
        where = ".".join(map(str, path[:depth])) or "the whole"
        raise TypeError(f"{where!r} is no {'table' if isinstance(path[depth], str) else 'list'}")
    return _insert(text, node, path[depth], _nested(path[depth + 1 :], data))


def _checked(text: str, path: Path, data: object) -> str:
    node = _find(parse(text), path)
    if node is None or node.data != data:
        raise ValueError("it is not laid out as we would")
    return text


def _find(node: Node | None, path: Path) -> Node | None:
    for key in path:
        node = node.child(key) if node else None
    return node


def _nested(path: Path, data: object) -> object:
    for key in reversed(path):
        data = {key: data} if isinstance(key, str) else [data]
    return data


def _insert(text: str, container: Node, key: str | int, data: object) -> str:
    name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    line = _newline(text)
    margin = _margin(text, container.at)
    inside = margin + _unit(text)
    if not container.children:
        inner = text[container.start + 1 : container.end - 1]
        if "\n" not in text.strip():
            added = name + _format(text, data, "")
            return text[: container.end - 1] + added + text[container.end - 1 :]
        added = line + inside + name + _format(text, data, inside)
        head = text[: container.start + 1] + inner.rstrip()
        return head + added + line + margin + text[container.end - 1 :]
    last = container.children[-1][1]
    comma = _comma(text, last.end)
    if not _alone(text, last.at):
        added = ", " + name + _format(text, data, margin)
        return text[: last.end] + added + text[last.end :]
    inside = _margin(text, last.at)
    at = comma or last.end
    rest = _LINE_REST.match(text, at)
    at = rest.end() if rest else at
    added = line + inside + name + _format(text, data, inside) + ("," if comma else "")
    return text[: last.end] + ("" if comma else ",") + text[last.end : at] + added + text[at:]


def _cut(text: str, container: Node, node: Node) -> str:
    position = [inner.at for _, inner in container.children].index(node.at)
    comma = had_comma = _comma(text, node.end)
    start, end = node.at, node.end
    if comma and not text[node.end : comma - 1].strip():
        end, comma = comma, 0
    rest = _LINE_REST.match(text, end)
    if _alone(text, start) and rest and not rest[0].strip():
        start = text.rfind("\n", 0, start) + 1
        end = min(rest.end() + len(_newline(text)), len(text))
    elif position:
        start = len(text[:start].rstrip(" \t"))
    parts = [(start, end)] + ([(comma - 1, comma)] if comma else [])
    if position and not had_comma:
        before = _comma(text, container.children[position - 1][1].end)
        parts.append((before - 1, before))
    for first, after in sorted(parts, reverse=True):
        text = text[:first] + text[after:]
    return _close(text, container.start) if len(container.children) == 1 else text


def _close(text: str, start: int) -> str:
    """Write a container that has nothing left in it on one line."""
    end = start + 1 + len(text[start + 1 :]) - len(text[start + 1 :].lstrip())
    return text[: start + 1] + text[end:] if text[end] in "]}" else text


def _format(text: str, data: object, margin: str) -> str:
    if "\n" not in text.strip():
        return json.dumps(data, ensure_ascii=False)
    lines = json.dumps(data, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_newline(text) + margin).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """Give the margin of one level: that of the first member of the whole."""
    unit = re.search(r"\{[^\S\n]*(?://[^\n]*)?\n(?:[ \t]*//[^\n]*\n)*([ \t]+)\S", text)
    return unit[1] if unit else "  "


def _margin(text: str, at: int) -> str:
    """Give the white space that begins the line of a place."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return line[: len(line) - len(line.lstrip())]


def _alone(text: str, at: int) -> bool:
    """Say whether only white space stands before a place in its line."""
    begin = text.rfind("\n", 0, at) + 1
    return begin > 0 and not text[begin:at].strip()


def _comma(text: str, at: int) -> int:
    """Give the place after the comma that follows a value; 0 where none does."""
    at = _skip(text, at)
    return at + 1 if text[at : at + 1] == "," else 0


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _value(text: str, at: int, start: int, depth: int) -> Node:
    sign = text[start : start + 1]
    if not depth:
        raise ValueError(f"line {_line(text, start)}: it is nested too deeply")
    if sign in ("{", "["):
        return _container(text, at, start, depth)
    found = (_STRING if sign == '"' else _SCALAR).match(text, start)
    if not found:
        raise ValueError(f"line {_line(text, start)}: a value is missing or is no JSON")
    return Node(at, start, found.end(), json.loads(found[0]))


def _container(text: str, at: int, start: int, depth: int) -> Node:
    close = {"{": "}", "[": "]"}[text[start]]
    children: dict[str | int, Node] = {}
    place = _skip(text, start + 1)
    while text[place : place + 1] != close:
        key, node = _child(text, place, len(children) if close == "]" else None, depth)
        if key in children:
            raise ValueError(f"line {_line(text, place)}: it has the key {key!r} twice")
        children[key] = node
        after = _comma(text, node.end)
        place = _skip(text, after or node.end)
        if not after and text[place : place + 1] != close:
            raise ValueError(f"line {_line(text, place)}: a comma or {close!r} is missing")
    data = {key: node.data for key, node in children.items()}
    whole = data if close == "}" else [*data.values()]
    return Node(at, start, place + 1, whole, tuple(children.items()))


def _child(text: str, place: int, index: int | None, depth: int) -> tuple[str | int, Node]:
    if index is not None:
        return index, _value(text, place, place, depth - 1)
    name = _STRING.match(text, place)
    colon = _skip(text, name.end()) if name else place
    if not name or text[colon : colon + 1] != ":":
        raise ValueError(f"line {_line(text, place)}: a key with its colon is missing")
    start = _skip(text, colon + 1)
    return json.loads(name[0]), _value(text, place, start, depth - 1)
