"""The address of a server: what may be one, and what it is safe to send a token to."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from looseleaf.errors import Invalid
from looseleaf.values import value

_SCHEMES = ("https", "http")


@value
class Address:
    """Where a server is: the beginning of its addresses, and whether nobody can listen in."""

    base: str
    site: str  # without what comes after the host, as it is shown
    encrypted: bool


def parsed(text: str, *, insecure: bool = False) -> Address:
    """Read an address such as https://memory.example.com, or say what is wrong with it.

    It is never said again in an error: someone may have put a password into it.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _wrong("it is no address") from error
    if parts.scheme not in _SCHEMES or not host:
        raise _wrong("it begins with https:// (or http:// on this machine) and has a host")
    if parts.username is not None or parts.password is not None:
        raise _wrong("it names a user or a password; show a token instead, by LOOSELEAF_TOKEN")
    if parts.query or parts.fragment:
        raise _wrong("it ends before ? and #")
    encrypted = parts.scheme == "https"
    if not (encrypted or insecure or is_loopback(host)):
        raise _wrong(
            "over plain http everyone on the way can read the token and the pages; use https, or "
            "add --insecure if you trust the whole way"
        )
    shown = f"[{host}]" if ":" in host else host
    site = f"{parts.scheme}://{shown}" + (f":{port}" if port else "")
    return Address(site + parts.path.rstrip("/"), site, encrypted)


def is_loopback(host: str) -> bool:
    """Say whether an address is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _wrong(why: str) -> Invalid:
    return Invalid(f"The address of the server cannot be used: {why}.")
