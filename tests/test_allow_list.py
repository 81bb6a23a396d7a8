"""The allow-list: entries of the settings, and which servers they mean."""

from __future__ import annotations

import pytest

from looseleaf.allow_list import read_allow_list
from looseleaf.errors import InvalidSetting
from looseleaf.errors.features import RequestRefused
from looseleaf.settings import Settings


def settings(hosts: tuple[str, ...], private: tuple[str, ...] = ()) -> Settings:
    """Make settings with an allow-list."""
    return Settings(root="/x", outgoing_hosts=hosts, outgoing_private_hosts=private)


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("news.example.com", "news.example.com", 443),
        ("News.Example.com.", "news.example.com", 80),
        ("*.example.com", "news.example.com", 443),
        ("*.example.com", "a.b.example.com", 80),
        ("news.example.com:8443", "news.example.com", 8443),
        ("*", "anything.test", 443),
        ("[2606:4700::1]:8080", "2606:4700::1", 8080),
        ("2606:4700::1", "2606:4700::1", 443),
    ],
)
def test_an_entry_allows_the_servers_it_means(entry: str, host: str, port: int) -> None:
    """A host, the hosts below one, a host with a port, or every host."""
    read_allow_list(settings((entry,))).require(host, port)


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("example.com", "news.example.com", 443),
        ("*.example.com", "example.com", 443),
        ("*.example.com", "badexample.com", 443),
        ("example.com", "example.com.evil.test", 443),
        ("example.com", "example.com", 8443),
        ("example.com:8443", "example.com", 443),
        ("*", "anything.test", 22),
    ],
)
def test_an_entry_allows_no_other_server(entry: str, host: str, port: int) -> None:
    """Neither other hosts nor other ports; the error names the line to add."""
    with pytest.raises(RequestRefused, match="outgoing_hosts"):
        read_allow_list(settings((entry,))).require(host, port)


@pytest.mark.parametrize(
    "entry", ["", "*.", "http://example.com", "exa mple", ".com", "a:b", "host:99999", "*example"]
)
def test_an_entry_that_means_no_host_is_refused(entry: str) -> None:
    """A misspelled entry is an error, not a server nobody can reach."""
    with pytest.raises(InvalidSetting):
        read_allow_list(settings((entry,)))


@pytest.mark.parametrize("entry", ["*", "*.lan"])
def test_private_hosts_are_named_one_by_one(entry: str) -> None:
    """No pattern opens the private network."""
    with pytest.raises(InvalidSetting):
        read_allow_list(settings((), (entry,)))


def test_a_private_host_is_allowed_by_its_own_setting() -> None:
    """The allowance is for that host and port alone."""
    rules = read_allow_list(settings(("news.test",), ("printer.lan:631",)))
    rules.require("printer.lan", 631)
    assert rules.allows_private("printer.lan", 631)
    assert not rules.allows_private("news.test", 443)
    with pytest.raises(RequestRefused):
        rules.require("printer.lan", 443)
