"""The addresses of pages: `looseleaf://` and the path a page has in its workspace."""

from __future__ import annotations

from urllib.parse import quote, unquote

from looseleaf.errors import InvalidName
from looseleaf.operations.context import Where

SCHEME = "looseleaf://"
_SHAPE = "an address is looseleaf://agents/SLUG/FILE, users/ID/FILE, shared/FILE or network/FILE"


def address(layer: str, owner: str | int, file: str) -> str:
    """Give the address of a page; the owner is an agent's slug or a user's id."""
    place = {"agent": f"agents/{owner}", "user": f"users/{owner}"}.get(layer, layer)
    return f"{SCHEME}{place}/{quote(file)}"


def parsed(uri: str) -> tuple[str, Where]:
    """Tell which page an address means: its filename and whose it is."""
    if not uri.startswith(SCHEME):
        raise InvalidName(uri, _SHAPE)
    first, _, rest = uri.removeprefix(SCHEME).partition("/")
    if first in ("shared", "network"):
        return _file(uri, rest), Where(layer=first)
    owner, _, file = rest.partition("/")
    if first == "agents" and owner:
        return _file(uri, file), Where(agent=unquote(owner), layer="agent")
    if first == "users" and owner.isascii() and owner.isdigit():
        return _file(uri, file), Where(user=int(owner), layer="user")
    raise InvalidName(uri, _SHAPE)


def _file(uri: str, quoted: str) -> str:
    if not quoted:
        raise InvalidName(uri, _SHAPE)
    return unquote(quoted)


def media_type(file: str) -> str:
    """Give the kind of text a page is."""
    return "text/plain" if file.lower().endswith(".txt") else "text/markdown"
