"""The address of a server: its form, and whether a token may be sent to it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from looseleaf.errors import Invalid
from looseleaf.values import value

_SCHEMES = ("https", "http")


@value
class Address:
    """The address of a server: the start of its URLs, and whether the connection is encrypted."""

    base: str
    site: str  # scheme, host and port, for messages
    is_encrypted: bool


def parse_address(text: str, *, insecure: bool = False) -> Address:
    """Parse an address such as https://memory.example.com, or raise an error that says the fault.

    The error never repeats the address: someone may have put a password into it.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _build_error("it is not an address") from error
    if parts.scheme not in _SCHEMES or not host:
        raise _build_error(
            "it must begin with https:// (or http:// on this machine) and have a host"
        )
    if parts.username is not None or parts.password is not None:
        raise _build_error(
            "it names a user or a password; give a token instead, by LOOSELEAF_TOKEN"
        )
    if parts.query or parts.fragment:
        raise _build_error("it must not have ? or #")
    is_encrypted = parts.scheme == "https"
    if not (is_encrypted or insecure or is_loopback(host)):
        raise _build_error(
            "over plain http everyone on the network path can read the token and the pages; use "
            "https, or add --insecure if you trust the whole path"
        )
    host_text = f"[{host}]" if ":" in host else host
    site = f"{parts.scheme}://{host_text}" + (f":{port}" if port else "")
    return Address(site + parts.path.rstrip("/"), site, is_encrypted)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _build_error(fault: str) -> Invalid:
    return Invalid(f"The address of the server cannot be used: {fault}.")
