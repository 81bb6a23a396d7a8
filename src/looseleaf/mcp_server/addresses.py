"""The addresses of pages: `looseleaf://` and the path a page has in its workspace."""

from __future__ import annotations

import re

from looseleaf.errors import InvalidName
from looseleaf.operations.context import Where

SCHEME = "looseleaf://"
# As in urllib.parse, whose import takes as long as reading a hundred pages.
_PLAIN = re.compile(r"[A-Za-z0-9_.~/-]").fullmatch
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_SHAPE = "an address is looseleaf://agents/SLUG/FILE, users/ID/FILE, shared/FILE or network/FILE"


def address(layer: str, owner: str | int, file: str) -> str:
    """Give the address of a page; the owner is an agent's slug or a user's id."""
    place = {"agent": f"agents/{owner}", "user": f"users/{owner}"}.get(layer, layer)
    return f"{SCHEME}{place}/{_quote(file)}"


def parsed(uri: str) -> tuple[str, Where]:
    """Tell which page an address means: its filename and whose it is."""
    if not uri.startswith(SCHEME):
        raise InvalidName(uri, _SHAPE)
    first, _, rest = uri.removeprefix(SCHEME).partition("/")
    if first in ("shared", "network"):
        return _file(uri, rest), Where(layer=first)
    owner, _, file = rest.partition("/")
    if first == "agents" and owner:
        return _file(uri, file), Where(agent=_unquote(owner), layer="agent")
    if first == "users" and owner.isascii() and owner.isdigit():
        return _file(uri, file), Where(user=int(owner), layer="user")
    raise InvalidName(uri, _SHAPE)


def _file(uri: str, quoted: str) -> str:
    if not quoted:
        raise InvalidName(uri, _SHAPE)
    return _unquote(quoted)


def _quote(file: str) -> str:
    """Give a path as it stands in an address: each byte that is not plain as % and its number."""
    return "".join(
        chr(byte) if byte < 128 and _PLAIN(chr(byte)) else f"%{byte:02X}"
        for byte in file.encode("utf-8", "surrogateescape")
    )


def _unquote(text: str) -> str:
    parts = _ESCAPE.split(text)  # every second part is the number of a byte
    raw = b"".join(
        bytes.fromhex(part) if at % 2 else part.encode("utf-8", "surrogatepass")
        for at, part in enumerate(parts)
    )
    return raw.decode("utf-8", "replace")


def media_type(file: str) -> str:
    """Give the kind of text a page is."""
    return "text/plain" if file.lower().endswith(".txt") else "text/markdown"
