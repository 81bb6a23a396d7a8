"""The allow-list of hosts: which servers may be asked, by the operator's settings alone."""

from __future__ import annotations

from looseleaf.errors import InvalidSetting
from looseleaf.errors.features import RequestRefused
from looseleaf.values import FrozenDict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from looseleaf.settings import Settings
    from looseleaf.values import Secret


USUAL_PORTS = (80, 443)
_ANY = "*"
HOST_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-_:")


@value
class HostRule:
    """One entry of an allow-list; without a port, it allows the usual ports."""

    host: str  # "*" for every host, ".example.com" for the hosts below example.com
    port: int = 0

    def matches(self, host: str, port: int) -> bool:
        """Return whether the entry allows a server."""
        if port != self.port and (self.port or port not in USUAL_PORTS):
            return False
        if self.host.startswith("."):
            return host.endswith(self.host)
        return self.host in (_ANY, host)


@value
class AllowList:
    """The hosts that may be asked, and those of them that may have a private address."""

    hosts: tuple[HostRule, ...] = ()
    private_hosts: tuple[HostRule, ...] = ()

    def require(self, host: str, port: int) -> None:
        """Raise `RequestRefused` unless the host is on the list."""
        if self.allows_private(host, port):
            return
        if not any(rule.matches(host, port) for rule in self.hosts):
            name = host if port in USUAL_PORTS else f"{host}:{port}"
            raise RequestRefused(
                host,
                f'it is not on the allow-list; the operator adds outgoing_hosts = ["{name}"] to '
                "looseleaf.toml",
            )

    def allows_private(self, host: str, port: int) -> bool:
        """Return whether the operator names this host for addresses that are not public."""
        return any(rule.matches(host, port) for rule in self.private_hosts)


def read_allow_list(settings: Settings) -> AllowList:
    """Read the allow-list of the settings, or raise `InvalidSetting`."""
    return AllowList(
        _read_rules("outgoing_hosts", settings.outgoing_hosts),
        _read_rules("outgoing_private_hosts", settings.outgoing_private_hosts, exact=True),
    )


def _read_rules(
    setting: str, entries: Iterable[str], *, exact: bool = False
) -> tuple[HostRule, ...]:
    rules = tuple(_read_rule(setting, entry) for entry in entries)
    if exact and any(rule.host == _ANY or rule.host.startswith(".") for rule in rules):
        raise InvalidSetting(setting, "each entry names one host, without *")
    return rules


def _read_rule(setting: str, entry: str) -> HostRule:
    text = entry.strip().lower()
    if text == _ANY:
        return HostRule(_ANY)
    text = text.rstrip(".")
    is_pattern = text.startswith("*.")
    host, port = _split_port(text[1:] if is_pattern else text)
    is_plain = bool(host.strip(".")) and set(host) <= HOST_CHARACTERS and 0 <= port <= 65_535
    if not is_plain or (not is_pattern and host.startswith(".")):
        raise InvalidSetting(
            setting, f"{entry!r} is no host; write news.example.com, *.example.com or a host:port"
        )
    return HostRule(host, port)


def _split_port(text: str) -> tuple[str, int]:
    """Split host:port, where an IPv6 address stands in brackets or has more than one colon."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") > 1:
        return text, 0
    else:
        host, _, port = text.partition(":")
    if not port:
        return host, 0
    return host, int(port) if port.isascii() and port.isdecimal() else -1


# A request to another server, and its answer, as values.


MOST_BYTES = 5_000_000


@value
class OutgoingRequest:
    """A request to a server; `authorization` goes to the origin of `url` alone."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = FrozenDict()
    body: bytes = b""
    authorization: Secret | None = None
    max_bytes: int = MOST_BYTES


@value
class IncomingResponse:
    """The whole answer of a server; `url` is that of the last redirect."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
