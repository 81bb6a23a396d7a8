"""The addresses of a host: resolved once, in limited time, and checked before a connection.

The owner of a name decides to which addresses it leads. So the rules check addresses, and the
connection goes to a checked address; the name is not resolved again.
"""

from __future__ import annotations

import ipaddress
import socket
import threading

from looseleaf.errors.workflows import RequestFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Resolver = Callable[[str, int], tuple[str, ...]]
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MOST_ADDRESSES = 8
# A cloud provider serves credentials of the machine here. Other providers use link-local addresses,
# which are refused anyway; this address looks public.
_METADATA = frozenset({"168.63.129.16"})
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")  # IPv4 in the last four bytes, by an old convention


def explain_forbidden(address: str) -> str:
    """Return why a connection to an address is forbidden, or "" if it is public."""
    try:
        ip_address: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "it is no address of the Internet"
    inner_address = _find_embedded_ipv4(ip_address)
    if inner_address is not None:
        return explain_forbidden(str(inner_address))
    if str(ip_address) in _METADATA:
        return "it is an address of a cloud's metadata"
    for kind, is_kind in (
        ("a loopback address", ip_address.is_loopback),
        ("a link-local address", ip_address.is_link_local),
        ("a private address", ip_address.is_private),
        ("a multicast address", ip_address.is_multicast),
        ("a reserved address", not ip_address.is_global),
    ):
        if is_kind:
            return f"it is {kind}"
    return ""


def _find_embedded_ipv4(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, in any of the known ways."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    ipv4_address = address.ipv4_mapped or address.sixtofour
    if ipv4_address is not None:
        return ipv4_address
    if address.teredo is not None:
        return address.teredo[1]
    is_compatible = address in _COMPATIBLE and int(address) > 0xFFFF
    if address in _NAT64 or is_compatible:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def resolve_host(host: str, port: int) -> tuple[str, ...]:
    """Resolve the addresses of a host, without duplicates."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


def resolve_within(resolve: Resolver, host: str, port: int, *, seconds: float) -> tuple[str, ...]:
    """Resolve a host, or raise `RequestFailed` if that fails or takes too long.

    The system's resolver cannot be interrupted, so it runs in a thread that may outlive the call.
    """
    addresses: list[str] = []
    failures: list[str] = []

    def ask() -> None:
        try:
            addresses.extend(resolve(host, port))
        except (OSError, UnicodeError) as error:
            failures.append(str(error))

    thread = threading.Thread(target=ask, name="looseleaf-resolve", daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if thread.is_alive():
        raise RequestFailed(host, "its name was not resolved in time")
    if failures or not addresses:
        raise RequestFailed(host, "its name has no address; check the spelling and the network")
    return tuple(addresses[:MOST_ADDRESSES])
