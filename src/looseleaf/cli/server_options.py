"""The connection to a server, from the options and variables for its address and token."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from looseleaf import settings
from looseleaf.cli.stdin import take_stdin
from looseleaf.errors import Invalid, InvalidSetting
from looseleaf.errors.access import Unauthenticated
from looseleaf.remote.address import parse_address
from looseleaf.remote.connection import SECONDS, ServerConnection
from looseleaf.remote.context import Remote
from looseleaf.times import DAY_SECONDS
from looseleaf.values import Secret

if TYPE_CHECKING:
    from looseleaf.catalog.context import Context

TOKEN, TIMEOUT = "LOOSELEAF_TOKEN", "LOOSELEAF_TIMEOUT"
_MOST_TOKEN = 10_000
_HINT = (
    "The server needs a token. Create one where the workspace is (looseleaf tokens create), and "
    "set LOOSELEAF_TOKEN to it, or give --token-file FILE"
)


class ServerOptions(NamedTuple):
    """The options of a command that name a server, its token and its time limit."""

    server: str
    token: str | None
    token_file: str | None
    insecure: bool
    patience: float | None


def open_remote(options: ServerOptions, *, reason: str, origin: str) -> Context:
    """Return the remote context with which operations run on a server."""
    address = parse_address(options.server, insecure=options.insecure)
    connection = ServerConnection(
        address, _read_token(options), seconds=options.patience or _read_timeout()
    )
    # Operations accept a Remote in place of a Context; it has no parts of a workspace.
    return cast("Context", Remote(connection, reason=reason, origin=origin))


def _read_token(options: ServerOptions) -> Secret:
    if options.token is not None and options.token_file is not None:
        raise click.UsageError("The token is given twice: by --token and by --token-file.")
    path = options.token_file
    if path is not None:
        token = _from_stdin() if path == "-" else _from_file(path)
    else:
        token = options.token if options.token is not None else settings.read_variable(TOKEN)
    token = token.strip()
    if not token:
        raise Unauthenticated(_HINT)
    return Secret(token)


def _from_stdin() -> str:
    take_stdin("token")
    if sys.stdin.isatty():
        token: str = click.prompt("Token", hide_input=True, err=True)
        return token
    return sys.stdin.readline(_MOST_TOKEN)


def _from_file(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(_MOST_TOKEN)
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise Invalid(f"There is no token in {path!r}: the file is not plain text.") from None


def _read_timeout() -> float:
    timeout = settings.read_variable(TIMEOUT)
    try:
        seconds = float(timeout or SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= DAY_SECONDS:
        raise InvalidSetting(TIMEOUT, "it must be a number of seconds")
    return seconds
