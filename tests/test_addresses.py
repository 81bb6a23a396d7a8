"""Addresses: which are public, in every way of writing them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors.features import RequestFailed
from looseleaf.http_client import explain_forbidden, resolve_within


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "::1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "fc00::1",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a00:1::",
        "2001:db8::1",
        "not an address",
        "",
    ],
)
def test_an_address_that_is_not_public_is_forbidden(address: str) -> None:
    """Loopback, private, link-local, shared, mapped and metadata addresses have a reason."""
    assert explain_forbidden(address)


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"],
)
def test_a_public_address_is_allowed(address: str) -> None:
    """Addresses of the Internet may be connected to."""
    assert explain_forbidden(address) == ""


@given(st.ip_addresses(v=4))
def test_a_mapped_address_is_judged_like_the_address_itself(address: object) -> None:
    """An IPv6 form never allows what the IPv4 form forbids."""
    plain = explain_forbidden(str(address))
    number = int(address)  # type: ignore[call-overload]
    for form in (
        f"::ffff:{address}",
        f"64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}",
        f"2002:{number >> 16:x}:{number & 0xFFFF:x}::",
    ):
        assert bool(explain_forbidden(form)) == bool(plain)


@given(st.text())
def test_no_text_breaks_the_judgment(text: str) -> None:
    """Whatever a resolver gives is judged, and nothing else is raised."""
    explain_forbidden(text)


def test_a_name_without_an_address_fails() -> None:
    """A resolver that knows nothing, or fails, is a failure that names the host."""

    def broken(_host: str, _port: int) -> tuple[str, ...]:
        raise OSError("no such name")

    for resolve in (broken, lambda _host, _port: ()):
        with pytest.raises(RequestFailed, match=r"news\.test"):
            resolve_within(resolve, "news.test", 80, seconds=5)
