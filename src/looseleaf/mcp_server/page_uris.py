"""The addresses of pages: `looseleaf://` and the path a page has in its workspace."""

from __future__ import annotations

import re

from looseleaf.errors import InvalidName
from looseleaf.memory.scope import Where

SCHEME = "looseleaf://"
# Not urllib.parse: its import takes as long as reading a hundred pages.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~/-")
_ESCAPE = "%([0-9A-Fa-f]{2})"
_SHAPE = "an address is looseleaf://agents/SLUG/FILE, users/ID/FILE, shared/FILE or network/FILE"


def build_address(layer: str, owner: str | int, file: str) -> str:
    """Build the address of a page; the owner is an agent's slug or a user's id."""
    place = {"agent": f"agents/{owner}", "user": f"users/{owner}"}.get(layer, layer)
    return f"{SCHEME}{place}/{_quote(file)}"


def parse_address(uri: str) -> tuple[str, Where]:
    """Parse the address of a page into its filename and its owner."""
    if not uri.startswith(SCHEME):
        raise InvalidName(uri, _SHAPE)
    layer, _, path = uri.removeprefix(SCHEME).partition("/")
    if layer in ("shared", "network"):
        return _parse_file(uri, path), Where(layer=layer)
    owner, _, file = path.partition("/")
    if layer == "agents" and owner:
        return _parse_file(uri, file), Where(agent=_unquote(owner), layer="agent")
    if layer == "users" and owner.isascii() and owner.isdigit():
        return _parse_file(uri, file), Where(user=int(owner), layer="user")
    raise InvalidName(uri, _SHAPE)


def _parse_file(uri: str, quoted_name: str) -> str:
    if not quoted_name:
        raise InvalidName(uri, _SHAPE)
    return _unquote(quoted_name)


def _quote(file: str) -> str:
    """Quote a path for an address: other bytes than plain ones become % and their number."""
    return "".join(
        chr(byte) if byte in _PLAIN else f"%{byte:02X}"
        for byte in file.encode("utf-8", "surrogateescape")
    )


def _unquote(text: str) -> str:
    parts = re.split(_ESCAPE, text)  # every second part is the number of a byte
    raw = b"".join(
        bytes.fromhex(part) if index % 2 else part.encode("utf-8", "surrogatepass")
        for index, part in enumerate(parts)
    )
    return raw.decode("utf-8", "replace")


def media_type_of(file: str) -> str:
    """Return the media type of a page."""
    return "text/plain" if file.lower().endswith(".txt") else "text/markdown"
