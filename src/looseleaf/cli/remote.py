"""The way to a server, from the options and variables that name it and its token."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

import click

from looseleaf import settings
from looseleaf.cli.arguments import take_stdin
from looseleaf.errors import Invalid, InvalidSetting, Unauthenticated
from looseleaf.remote.address import parsed
from looseleaf.remote.connection import SECONDS, Connection
from looseleaf.remote.context import Remote
from looseleaf.values import Secret

if TYPE_CHECKING:
    from looseleaf.cli.arguments import Asked
    from looseleaf.operations.context import Context

TOKEN, TIMEOUT = "LOOSELEAF_TOKEN", "LOOSELEAF_TIMEOUT"
_MOST_TOKEN = 10_000
_HINT = (
    "The server needs a token. Make one where the workspace lies (looseleaf tokens create), and "
    "set LOOSELEAF_TOKEN to it, or give --token-file FILE"
)


def open_remote(asked: Asked) -> Context:
    """Give what operations take to be run on a server."""
    if asked.actor is not None:
        raise click.UsageError("--actor cannot be chosen on a server: the token says who it is.")
    address = parsed(asked.server, insecure=asked.insecure)
    connection = Connection(address, _token(asked), seconds=asked.patience or _seconds())
    # Operations take it as they take a Context; who asks it for a room is told that it has none.
    return cast("Context", Remote(connection, reason=asked.reason or ""))


def _token(asked: Asked) -> Secret:
    if asked.token is not None and asked.token_file is not None:
        raise click.UsageError("The token is given twice: by --token and by --token-file.")
    path = asked.token_file
    if path is not None:
        found = _from_stdin() if path == "-" else _from_file(path)
    else:
        found = asked.token if asked.token is not None else settings.variable(TOKEN)
    found = found.strip()
    if not found:
        raise Unauthenticated(_HINT)
    return Secret(found)


def _from_stdin() -> str:
    take_stdin("token")
    if sys.stdin.isatty():
        typed: str = click.prompt("Token", hide_input=True, err=True)
        return typed
    return sys.stdin.readline(_MOST_TOKEN)


def _from_file(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(_MOST_TOKEN)
    except OSError as error:
        raise Invalid(f"{path!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise Invalid(f"There is no token in {path!r}: it is not plain text.") from None


def _seconds() -> float:
    told = settings.variable(TIMEOUT)
    try:
        seconds = float(told or SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise InvalidSetting(TIMEOUT, "it is a number of seconds")
    return seconds
