"""The options of commands that examine the output of a hook for a coding agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from looseleaf.prompt import host_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., object]

host_option = click.option(
    "--host",
    type=click.Choice(host_limit.HOSTS),
    help="The program that reads the hook; each counts characters in its own way.",
)
max_characters_option = click.option(
    "--max-characters",
    type=int,
    default=0,
    metavar="N",
    help="The limit of the host; else hook_characters of the settings.",
)


def with_hook_options(function: Function) -> Function:
    """Add the options that select the output of a hook."""
    flag = click.option("--hook", is_flag=True, help="The output of a hook for a coding agent.")
    return flag(host_option(max_characters_option(function)))


def select_host(*, hook: bool, host: str | None) -> str:
    """Return the selected host; "" without a hook."""
    return host or ("any" if hook else "")
